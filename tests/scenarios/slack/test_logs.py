"""Nothing that anybody wrote, no result and no token reaches the log, with every library at DEBUG (spec H16)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.anyio

LIBRARIES = ("slack_sdk", "slack_bolt", "deskhand.slack", "aiohttp", "sqlalchemy", "sqlalchemy.engine", "alembic", "aiosqlite")
#: The workspace is served in this process too; what it logs isn't the bot's.
WORKSPACE = ("servers", "uvicorn", "starlette", "aiohttp.access", "aiohttp.server")


class Heard(logging.Handler):
    """What a handler on the root gets."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[tuple[str, str]] = []
        self.levels: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.name, self.format(record)))

    def listen(self) -> None:
        """Every logger that there is now at DEBUG, as somebody might set it who looks for a fault."""
        for name in ("", *LIBRARIES, *logging.root.manager.loggerDict):
            logger = logging.getLogger(name or None)
            self.levels.setdefault(name, logger.level)
            logger.setLevel(logging.DEBUG)


@pytest.fixture
def heard() -> Iterator[Heard]:
    listener = Heard()
    listener.listen()
    logging.root.addHandler(listener)
    yield listener
    logging.root.removeHandler(listener)
    for name, level in listener.levels.items():
        logging.getLogger(name or None).setLevel(level)


async def test_a_ticket_from_the_file_to_the_sent_reply_leaves_none_of_its_words_in_the_log(floor, start_bot, lines, heard):
    async with start_bot():
        heard.listen()
        ticket, consent = await floor.asked("T-0004")
        await floor.open_form("U_MAYA", consent, "consent.decline", "form.consent.decline")
        await floor.submit("U_MAYA", field="because of WORDS-4711")
        draft = await floor.card("", action_id="draft.send", thread_ts=ticket)
        await floor.press("U_TOM", draft, "draft.send")
        await floor.shows(draft, "delivery: sent")
        await floor.slash("U_MAYA", "nonsense WORDS-4711")
        await floor.whispered("U_MAYA", "is not a command")
    said = "\n".join(line for name, line in heard.lines if not name.startswith(WORKSPACE))
    assert "ticket_intake" in said
    assert "tool_call name=shop.quote_refund" in said
    first = lines("T-0004")
    hidden = ["WORDS-4711", "xoxb-local", "xapp-local", "O-1145", "343.49", "Q-", first["subject"]]
    hidden += [words for words in first["body"].splitlines() if len(words) > 10]
    for words in hidden:
        assert words not in said, [line[:300] for _, line in heard.lines if words in line][:3]
