"""SIGKILL at any moment, then a second process: nothing is lost, nothing happens twice (spec H13, H15).

`DESKHAND_KILL=all` tries every moment between two writes; without it, a spread of them.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host import journal
from host.store import journal as journal_rows
from host.store import questions as question_rows
from host.store.engine import Store
from host.types import QuestionState

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[3]
TICKET = "T-0004"
#: How often the time is asked in a whole run; `test_the_moments_are_as_many_as_is_said` keeps it true.
MOMENTS = 70
#: Places that hurt: a read or an effect at the shop that the journal does not know yet, an answer given and not sent, a release
#: sent and not known, a draft, a mail.
SPREAD = (14, 26, 30, 33, 40, 43, 53, 64)
TRIED = range(1, MOMENTS + 1) if os.environ.get("DESKHAND_KILL") == "all" else SPREAD


class Driver:
    """The process that forks the ones that die."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def work(self, state: Path, die_at: int | None = None, die_asked: str = "") -> tuple[int, int]:
        """(exit code, -9 when killed; how often the time was asked, 0 when it was killed)."""
        state.mkdir(exist_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{state} {die_at or '-'} {die_asked or '-'}\n")
        self._process.stdin.flush()
        asked = 0
        while line := self._process.stdout.readline():
            word, _, number = line.partition(" ")
            if word == "ended":
                return int(number), asked
            asked = int(number)
        raise AssertionError("the driver ended: run tests/scenarios/kill/driver.py by hand to see why")


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    command = [sys.executable, str(Path(__file__).with_name("driver.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Driver(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)


async def _state_of_things(state: Path) -> dict[str, Any]:
    """What is left when nothing moves any more."""
    async with Store(f"sqlite:///{state}/deskhand.db") as store, store.read() as tx:
        entries = [noted.entry for noted in await journal.entries(tx, TICKET)]
        questions = await question_rows.of_ticket(tx, TICKET)
        broken = journal.verify(await journal_rows.chain(tx, TICKET))
    with sqlite3.connect(state / "shop.db") as shop:
        refunds = shop.execute("select status from refunds where quote_id is not null").fetchall()
    with sqlite3.connect(state / "deskhand.db") as desk:
        mails = desk.execute("select state, attempts from outbox where kind = 'mail'").fetchall()
    return {"entries": entries, "questions": questions, "broken": broken, "refunds": refunds, "mails": mails}


async def _nothing_lost_or_doubled(state: Path) -> None:
    left = await _state_of_things(state)
    kinds = Counter(entry.kind for entry in left["entries"])
    assert left["broken"] == ""
    assert (kinds["taken"], kinds["started"], kinds["stopped"]) == (1, 1, 1)
    assert left["refunds"] == [("requested",)]
    ended = [(e.tool, e.outcome.kind.value) for e in left["entries"] if e.kind == "ended"]
    assert ended == [("shop.quote_refund", "result"), ("shop.issue_refund", "result"), ("desk.reply", "result")]
    assert all(question.state is not QuestionState.OPEN for question in left["questions"])
    asked = Counter(question.kind.value for question in left["questions"])
    assert (asked["consent"], asked["sign_off"]) == (1, 1)
    rounds = [e.round for e in left["entries"] if e.kind == "input_needed"]
    assert rounds == list(range(1, asked["input_request"] + 1)), "each round of the server is asked once"
    assert asked["input_request"] <= 2, "asked anew once at most: when the answer may or may not have been sent"
    assert len(left["mails"]) == 1
    assert left["mails"][0][1] <= 1, "a mail is tried once"


@pytest.mark.parametrize("kind", ["consent", "input_request", "sign_off"])
async def test_killed_while_a_question_is_open_the_next_process_goes_on(driver: Driver, tmp_path: Path, kind: str) -> None:
    state = tmp_path / "state"
    assert driver.work(state, die_asked=kind)[0] == -9
    assert driver.work(state)[0] == 0
    await _nothing_lost_or_doubled(state)
    questions = (await _state_of_things(state))["questions"]
    assert len(questions) == 3, "nothing is asked twice"


@pytest.mark.parametrize("moment", TRIED)
async def test_killed_between_two_writes_nothing_is_lost_or_doubled(driver: Driver, tmp_path: Path, moment: int) -> None:
    state = tmp_path / "state"
    killed, _ = driver.work(state, die_at=moment)
    assert killed == -9, "the run asked the time less often: lower MOMENTS"
    assert driver.work(state)[0] == 0
    await _nothing_lost_or_doubled(state)


async def test_the_moments_are_as_many_as_is_said(driver: Driver, tmp_path: Path) -> None:
    code, asked = driver.work(tmp_path / "state")
    assert code == 0
    assert MOMENTS <= asked <= MOMENTS + 5, f"the time was asked {asked} times: set MOMENTS"
    await _nothing_lost_or_doubled(tmp_path / "state")
