"""The demo's scenes: made by the real host from recorded replies, each waiting for the right person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bot import settings as settings_file
from bot import wiring
from bot.demo.scenes import read_scenes, seed
from bot.headless import STAFF, HeadlessDesk, Rules
from bot.settings import Settings
from host.types import Answer, NotTaken, QuestionKind
from models.scripted import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
SCENES = read_scenes()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_file.load(ROOT / "deskhand.toml", tmp_path)


async def test_the_scenes_wait_for_staff_a_lead_and_a_sign_off_that_is_refused(settings: Settings, tmp_path: Path) -> None:
    scenes = SCENES
    await seed(settings, scenes)
    model = ScriptedModel([])
    async with wiring.running(settings, model, lambda host: HeadlessDesk(host, Rules())) as running:
        status = await running.host.status()
        waiting = {question.ticket_id: question for question in status.open_questions}
        assert waiting[scenes.consent].kind is QuestionKind.CONSENT
        assert waiting[scenes.obeying].kind is QuestionKind.CONSENT
        assert waiting[scenes.held].kind is QuestionKind.INPUT_REQUEST
        lying = waiting[scenes.lying]
        assert lying.kind is QuestionKind.SIGN_OFF
        assert lying.payload["flags"]
        refused = await running.host.answer(lying.id, STAFF, Answer("send"))
        assert isinstance(refused, NotTaken)
        assert "refund of 25.00 EUR" in refused.words
        assert status.tickets["new"] == len(scenes.waiting)
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        assert shop.execute("select count(*) from refunds where status = 'held'").fetchone() == (1,)
