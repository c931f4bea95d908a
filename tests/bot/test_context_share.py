"""What the tools take of the model's context is looked at when connecting (spec H24)."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import anyio
import pytest

from bot import settings as settings_file
from bot import wiring
from bot.headless import HeadlessDesk, Rules
from bot.settings import Settings
from host.errors import ConfigError
from models.scripted import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_file.load(ROOT / "deskhand.toml", tmp_path)


def with_share(settings: Settings, share: float, over: Literal["refuse", "say"]) -> Settings:
    prompt = settings.host.prompt.model_copy(update={"tools_share": share, "over_share": over})
    return replace(settings, host=settings.host.model_copy(update={"prompt": prompt}))


async def report_of(settings: Settings) -> tuple[str, ...]:
    with anyio.fail_after(60):
        async with wiring.running(settings, ScriptedModel([]), lambda host: HeadlessDesk(host, Rules())) as running:
            return running.report


async def test_tools_within_their_share_are_not_spoken_of(settings: Settings) -> None:
    assert not [line for line in await report_of(settings) if "context" in line]


async def test_tools_over_their_share_refuse_the_start_server_by_server_and_say_what_to_do(settings: Settings) -> None:
    with pytest.raises((ConfigError, ExceptionGroup)) as caught:
        await report_of(with_share(settings, 0.05, "refuse"))
    error: BaseException = caught.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ConfigError)
    assert all(word in str(error) for word in ("shop about", "partner about", "tools_share", 'over_share = "say"'))


async def test_where_configured_it_is_only_said(settings: Settings) -> None:
    (line,) = [line for line in await report_of(with_share(settings, 0.05, "say")) if "context" in line]
    assert "shop about" in line
    assert "8192 tokens" in line
