"""Processes that die on demand, what they leave behind, and the figures of `make kill`."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from pydantic import TypeAdapter

from host import journal
from host.store.journal import Link

ROOT = Path(__file__).resolve().parents[3]
#: Every write of every scene takes both of a small machine's processors.
AT_ONCE = 2 if os.environ.get("DESKHAND_KILL") == "all" else 1
FIGURES: list[str] = []

Kill = Mapping[str, Any]
"""{"when": "before" | "after", "word", "number"}: at the n-th write of that word; or {"asked": kind of question}."""


class Driver:
    """The process that forks the ones that die."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def work(self, scene: str, state: Path, kill: Kill | None = None) -> tuple[int, list[list[str]]]:
        """(exit code, -9 when killed; every write in words, none when it was killed)."""
        state.mkdir(exist_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"scene": scene, "state": str(state), **(kill or {})}) + "\n")
        self._process.stdin.flush()
        writes: list[list[str]] = []
        while line := self._process.stdout.readline():
            told = json.loads(line)
            if "code" in told:
                return told["code"], writes
            writes = told["writes"]
        raise AssertionError("the driver ended: run tests/scenarios/kill/driver.py by hand to see why")


@dataclass
class Left:
    """What is there when nothing moves any more. `kinds` are the chain's, also of what was erased since."""

    kinds: list[str]
    entries: list[Any]
    questions: list[dict[str, Any]]
    broken: str
    outbox: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    pins: list[dict[str, Any]]
    refunds: list[str]
    sent: list[str]
    book: list[list[str]]

    def of(self, kind: str) -> list[Any]:
        return [entry for entry in self.entries if entry.kind == kind]

    def outcomes(self) -> list[tuple[str, str]]:
        return [(entry.tool, entry.outcome.kind.value) for entry in self.of("ended")]

    def asked(self, kind: str) -> list[dict[str, Any]]:
        return [question for question in self.questions if question["kind"] == kind]

    @property
    def paid(self) -> int:
        return sum(line[0] == "paid" for line in self.book)


def _rows(path: Path, query: str) -> list[dict[str, Any]]:
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(query)]


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


REFUNDS = "select status from refunds where quote_id is not null"
CHAIN = (
    "select j.*, p.salt, p.body from journal j left join payloads p on p.ticket_id = j.ticket_id and p.seq = j.seq order by j.seq"
)


def what_is_left(state: Path) -> Left:
    desk, shop = state / "deskhand.db", state / "shop.db"
    links = [Link(**row) for row in _rows(desk, CHAIN)]
    chains = [[link for link in links if link.ticket_id == name] for name in {link.ticket_id for link in links}]
    book = [line.split() for line in _lines(state / "book.txt")]
    read = TypeAdapter(journal.AnyEntry)
    return Left(
        kinds=[link.kind for link in links],
        entries=[read.validate_json(link.body) for link in links if link.body is not None],
        questions=_rows(desk, "select * from questions order by asked_at, id"),
        broken="; ".join(filter(None, (journal.verify(chain) for chain in chains))),
        outbox=_rows(desk, "select * from outbox order by id"),
        runs=_rows(desk, "select * from runs"),
        pins=_rows(desk, "select * from pins"),
        refunds=[row["status"] for row in _rows(shop, REFUNDS)] if shop.exists() else [],
        sent=_lines(state / "sent.txt"),
        book=book,
    )


# --- what must be true, whatever happened -----------------------------------------------------------------------------


def nothing_lost_or_doubled(left: Left) -> None:
    """True of every scene: the run came to its end, once; nothing waits, nothing was said twice, the journal verifies."""
    assert left.broken == ""
    once = Counter(left.kinds)
    assert (once["taken"], once["started"], once["stopped"]) == (1, 1, 1)
    assert [run["state"] for run in left.runs] == ["done"]
    assert len(left.outcomes()) == len({entry.call_id for entry in left.of("ended")}), "a call ends once"
    assert len(left.of("intended")) == len({entry.call_id for entry in left.of("intended")}), "a call is begun once"
    _asked_once_or_visibly_superseded(left)
    _sent_at_most_once(left)


def _asked_once_or_visibly_superseded(left: Left) -> None:
    assert [question["kind"] for question in left.questions if question["state"] == "open"] == []
    assert once_each(left.questions), "a question was asked twice, and neither says that it does not count"
    for question in left.questions:
        if question["state"] == "superseded":
            assert question["note"], "it does not say why it does not count"
    behind = [row["key"] for row in left.outbox if row["state"] in ("due", "trying") or row["delivered"] < row["version"]]
    mails = {row["key"] for row in left.outbox if row["kind"] == "mail"}
    assert [key for key in behind if key not in mails] == [], "people see something older than what is true"


def once_each(questions: Sequence[Mapping[str, Any]]) -> bool:
    """A changed tool belongs to no call: it may be asked about once more, when it was accepted and the pin was not written."""
    about_calls = [q for q in questions if q["state"] != "superseded" and q["kind"] != "changed_tool"]
    stand = Counter((q["kind"], q["call_id"]) for q in about_calls)
    return all(count == 1 for count in stand.values())


def _sent_at_most_once(left: Left) -> None:
    """One mail, tried once; what the journal says of it is true."""
    (mail,) = [row for row in left.outbox if row["kind"] == "mail"]
    assert mail["attempts"] <= 1
    assert mail["state"] in ("done", "unknown")
    assert len(left.sent) <= 1, "the customer got it twice"
    assert left.kinds.count("delivered") == 1
    if mail["state"] == "done":
        assert len(left.sent) == 1, "nobody got what is said to be sent"


THE_REFUND = [("shop.quote_refund", "result"), ("shop.issue_refund", "result"), ("desk.reply", "result")]


def one_refund(left: Left) -> None:
    assert left.refunds == ["requested"]
    assert left.outcomes() == THE_REFUND
    assert len(left.asked("consent")) == len(left.asked("sign_off")) == 1
    assert len(left.asked("input_request")) <= 2, "asked anew once at most: when the answer may or may not have been sent"
    rounds = [entry.round for entry in left.of("input_needed")]
    assert rounds == list(range(1, len(left.asked("input_request")) + 1)), "each round of the server is asked once"


def one_refund_then_erased(left: Left) -> None:
    assert left.refunds == ["requested"]
    assert left.kinds.count("approved") == left.kinds.count("day_closed") == left.kinds.count("erased") == 1
    assert left.outcomes() == [], "it was erased"
    reminders = [row["key"] for row in left.outbox if row["key"].startswith("reminder:")]
    assert len(reminders) == len(set(reminders)) == left.kinds.count("reminded")


def paid_in_rounds(left: Left) -> None:
    """The server wants its state back twice, each time once; its book is read back when nobody knows."""
    states = [line[2:] for line in left.book if line[0] == "asked" and len(line) > 2]
    assert len(states) == len({tuple(state) for state in states}), "a state was sent twice"
    assert left.paid == 1
    assert left.outcomes() == [("bank.pay", "result"), ("desk.reply", "result")]


def never_sent_again(left: Left) -> None:
    """A server that forgets: what became of the call is for a person to say, who looks at the book."""
    assert sum(line[0] == "asked" for line in left.book) <= 1, "it was sent again"
    ended = "result" if left.paid else "failed"
    assert left.outcomes() == [("bank.pay", ended), ("desk.reply", "result")]


def asked_again_where_it_did_not_run(left: Left) -> None:
    """An older server that died with its question, and whose book can be read: it is asked for once more, and people too."""
    assert left.paid == 1
    assert left.outcomes() == [("bank.pay", "result"), ("desk.reply", "result")]
    assert left.asked("may_have_run") == []


def changed_and_accepted(left: Left) -> None:
    """What an admin accepted is pinned; asked about once more at most."""
    asked = left.asked("changed_tool")
    assert 1 <= len(asked) <= 2
    assert asked[-1]["state"] == "answered"
    (pay,) = [pin for pin in left.pins if pin["tool"] == "pay"]
    assert pay["accepted"]
    assert "new terms" in pay["definition"]
    assert left.outcomes() == [("bank.news", "result"), ("desk.reply", "result")]


SCENES: Mapping[str, Callable[[Left], None]] = {
    "refund": one_refund,
    "new key": one_refund,
    "patient": one_refund_then_erased,
    "rounds": paid_in_rounds,
    "forgetful": never_sent_again,
    "changed": changed_and_accepted,
    "during": never_sent_again,
    "during, read back": asked_again_where_it_did_not_run,
}


@dataclass
class Killing:
    """`killed(scene, kill, …)`: one process after the other dies at its moment, one more goes on to the end; what is left is
    checked and returned."""

    folder: Path
    drivers: SimpleQueue[Driver] = field(default_factory=SimpleQueue)

    def killed(self, scene: str, *kills: Kill) -> Left:
        state = Path(tempfile.mkdtemp(dir=self.folder))
        driver = self.drivers.get()
        try:
            for kill in kills:
                code, _ = driver.work(scene, state, kill)
                assert code == -9, f"it was to die at {dict(kill)}, and ended with {code}"
            code, _ = driver.work(scene, state)
        finally:
            self.drivers.put(driver)
        assert code == 0, f"who went on ended with {code}"
        left = what_is_left(state)
        nothing_lost_or_doubled(left)
        SCENES[scene](left)
        return left

    def dying_again_and_again(self, scene: str, every: int, most: int = 200) -> int:
        """Each process dies after so many writes of its own, until one comes to the end; returns how many died."""
        state = Path(tempfile.mkdtemp(dir=self.folder))
        driver = self.drivers.get()
        try:
            for died in range(most):
                code, _ = driver.work(scene, state, {"when": "after", "word": "", "number": every})
                if code == 0:
                    left = what_is_left(state)
                    assert left.broken == ""
                    SCENES[scene](left)
                    return died
        finally:
            self.drivers.put(driver)
        raise AssertionError(f"{most} processes, and none came to the end")

    def writes(self, scene: str) -> list[list[str]]:
        """Every write of a whole run that nobody kills."""
        driver = self.drivers.get()
        try:
            code, writes = driver.work(scene, Path(tempfile.mkdtemp(dir=self.folder)))
        finally:
            self.drivers.put(driver)
        assert code == 0
        return writes

    def every(self, scene: str, kills: Sequence[Kill]) -> list[str]:
        """All of them, several at once; in words, those that failed."""

        def one(kill: Kill) -> str:
            try:
                self.killed(scene, kill)
            except AssertionError as error:
                return f"{scene}: {kill['when']} write {kill['number']}: {str(error).splitlines()[0]}"
            return ""

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return [words for words in pool.map(one, kills) if words]


@pytest.fixture(scope="session")
def killing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killing]:
    found = Killing(tmp_path_factory.mktemp("killing"))
    command = [sys.executable, str(Path(__file__).with_name("driver.py"))]
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            stack.enter_context(process)
            stack.callback(process.stdin.close)  # type: ignore[union-attr]
            found.drivers.put(Driver(process))
        yield found


@pytest.fixture
def figures() -> list[str]:
    """Lines that are printed below the tests."""
    return FIGURES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES:
        terminalreporter.write_line(line)
