"""`deskhand up` that can't start says why in one line and ends with another code than 0; a bad ticket line costs only itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from anyio import run_process

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[3]
GOOD = {"SLACK_BOT_TOKEN": "xoxb-local", "SLACK_APP_TOKEN": "xapp-local"}


async def _up(floor, *more: str, **tokens: str) -> str:
    """What a start with these tokens says, which must be one line and an error."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "DESKHAND_"))}
    env |= {"DESKHAND_SLACK_URL": f"{floor.url}/api/", "COLUMNS": "300", **tokens}
    command = [sys.executable, "-m", "bot", "up", "--state", str(floor.state), *more]
    done = await run_process(command, env=env, cwd=ROOT, check=False, stdin=subprocess.DEVNULL)
    said = done.stderr.decode()
    assert done.returncode not in (0, -9), said
    lines = said.strip().splitlines()
    assert len(lines) == 1, said
    return lines[0]


@pytest.mark.parametrize("missing", list(GOOD))
async def test_without_a_token_it_says_which_one_to_set(floor, missing):
    said = await _up(floor, **{name: token for name, token in GOOD.items() if name != missing})
    assert said.startswith(f"deskhand: no {missing}: set it")


@pytest.mark.parametrize(("name", "words"), [("SLACK_BOT_TOKEN", "the bot token"), ("SLACK_APP_TOKEN", "the app token")])
async def test_a_wrong_token_is_told_before_the_model_is_loaded(floor, name, words):
    said = await _up(floor, **{**GOOD, name: "xoxb-of-somebody-else"})
    assert f"Slack does not accept {words} (invalid_auth)" in said
    assert name in said


async def test_without_a_channel_it_says_where_to_set_one(floor, tmp_path):
    text = (ROOT / "deskhand.toml").read_text("utf-8").replace('channel = "C_SUPPORT"', 'channel = ""')
    config = tmp_path / "deskhand.toml"
    config.write_text(text, "utf-8")
    assert "set [slack] channel in deskhand.toml" in await _up(floor, "--config", str(config), **GOOD)


async def test_a_slack_that_does_not_answer_is_told(floor):
    said = await _up(floor, **{**GOOD, "DESKHAND_SLACK_URL": "http://127.0.0.1:9/api/"})
    assert "Slack can't be reached" in said


async def test_a_workspace_on_a_taken_port_says_so(floor):
    port = floor.url.rsplit(":", 1)[1]
    done = await run_process([sys.executable, "-m", "servers.workspace", "--port", port], check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.decode().strip().startswith(f"workspace: port {port} is taken")


async def test_a_broken_line_is_named_by_number_and_a_ticket_that_comes_twice_has_one_card(floor, start_bot, lines, caplog):
    async with start_bot():
        await floor.write_tickets(lines("T-0001"), '{"id": "T-0002", "from"', lines("T-0001"), lines("T-0004"))
        await floor.card("T-0004 · ", action_id="ticket.work")
        await floor.write_tickets(lines("T-0001"), lines("T-0005"))
        await floor.card("T-0005 · ", action_id="ticket.work")
        cards = [m["text"].partition(" ")[0] for m in await floor.messages() if m.get("thread_ts", m["ts"]) == m["ts"]]
        assert sorted(cards) == ["T-0001", "T-0004", "T-0005"]
    assert "inbox.jsonl, line 2: not JSON" in caplog.text
    assert "T-0002" not in caplog.text
