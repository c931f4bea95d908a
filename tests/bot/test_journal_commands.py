"""`deskhand export`, `verify`, `erase` and `policy` as a person meets them: what they say, and the exit codes."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot import wiring
from bot.__main__ import app
from bot.cards.draw import draw
from bot.cards.rendered import validate
from bot.clock import SystemClock
from bot.headless import HeadlessDesk, Rules
from bot.mailroom.erasing import Traces, erase_files
from bot.mailroom.files import FileOutgoing, parse_ticket
from bot.mailroom.port import Reply
from bot.settings import Settings, load
from host import journal
from host.erasure import erase
from host.records import close_days
from host.store import outbox, questions, tickets
from host.store.codec import TICKET
from host.store.engine import Store
from host.types import OutboxKind, Question, QuestionKind, QuestionState, Ticket
from models.scripted import ScriptedModel

ROOT = Path(__file__).parents[2]
NAME, MAIL = "Ines Moreau", "ines.moreau@example.com"
LINE = {
    "id": "T-9001",
    "customer_id": "C-0999",
    "from": {"name": NAME, "email": MAIL},
    "sender_verified": True,
    "subject": "A kettle that leaks",
    "body": "The kettle of order O-5501 leaks.",
    "received_at": "2026-06-02T08:00:00Z",
}
OTHER = {
    **LINE,
    "id": "T-9002",
    "customer_id": "C-0888",
    "from": {"name": "Theo", "email": "theo@example.com"},
    "subject": "Scales",
    "body": "They drift",
}


NOW = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)


class Day:
    """Implements `host.port.Clock`."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    """A command sets how loud libraries are; the next test is another process's."""
    levels = {name: logging.getLogger(name).level for name in list(logging.root.manager.loggerDict)}
    yield
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))


def deskhand(*arguments: str) -> Result:
    """The command, in this process: its exit code and what it says."""
    done = CliRunner().invoke(app, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done


def refused(done: Result, code: int = 1) -> str:
    """The one line that says why."""
    assert done.exit_code == code, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("deskhand:")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder as the bot leaves it: two tickets, a closed day, an inbox and a sent reply."""
    anyio.run(_live, tmp_path)
    (tmp_path / "inbox.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (LINE, OTHER)), "utf-8")
    return tmp_path


async def _live(folder: Path) -> None:
    clock = Day()
    async with Store(f"sqlite:///{folder}/deskhand.db") as store:
        async with store.write() as tx:
            for line in (LINE, OTHER):
                await _take(tx, parse_ticket(json.dumps(line)), clock.now())
        clock.moment += timedelta(days=1)
        await close_days(store, clock, UTC)
    outgoing = FileOutgoing(folder / "sent")
    await outgoing.send(Reply("T-9001", "q1", MAIL, "us@example.com", "Re: A kettle", f"Dear {NAME}"))


async def _take(tx: Any, ticket: Ticket, now: datetime) -> None:
    await tickets.add_ticket(tx, ticket)
    await journal.append(tx, ticket.id, "", now, journal.Taken(ticket=TICKET.dump_python(ticket, mode="json")))


# -- export and verify ------------------------------------------------------------------------------------------------------


def test_a_file_verifies_where_there_is_nothing_else(state: Path) -> None:
    """No deskhand.toml, no database, no model."""
    deskhand("export", "T-9001", "--out", str(state / "T-9001.json"), "--state", str(state))
    (state / "elsewhere").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bot", "verify", "../T-9001.json"],
        cwd=state / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stdout.split(". ")[0]) == (0, "T-9001: 1 entry holds"), done.stderr


def test_a_ticket_is_exported_and_its_file_verifies_without_a_database(state: Path) -> None:
    file = state / "T-9001.json"
    assert f"1 entry in {file}" in deskhand("export", "T-9001", "--out", str(file), "--state", str(state)).stdout
    assert file.stat().st_mode & 0o077 == 0, "it holds what a customer wrote"
    held = deskhand("verify", str(file))
    assert (held.exit_code, held.stdout.split(". ")[0]) == (0, "T-9001: 1 entry holds")
    text = file.read_text("utf-8")
    file.write_text(text.replace("leaks", "is fine"), "utf-8")
    assert "entry 1 (taken) was changed" in refused(deskhand("verify", str(file)))
    file.write_text(text[: len(text) // 2], "utf-8")
    assert "no JSON, or cut off" in refused(deskhand("verify", str(file)))


def test_the_houses_own_chain_is_exported_to_the_terminal(state: Path) -> None:
    read = json.loads(deskhand("export", "desk", "--state", str(state)).stdout)
    assert [link["kind"] for link in read["links"]] == ["day_closed"]


def test_the_whole_database_verifies_and_what_was_done_to_it_is_told(state: Path) -> None:
    done = deskhand("verify", "--all", "--state", str(state))
    assert (done.exit_code, done.stdout.strip()) == (
        0,
        "All hold: 3 chains with 3 entries, 0 of them erased; 1 head of a day.",
    )
    anyio.run(_tamper, state)
    done = deskhand("verify", "--all", "--state", str(state))
    assert "does not hold: 1 fault, told above" in refused(done)
    assert "the head of 2026-06-02 does not come out any more" in done.stdout
    assert "It was over 2 chains, and 1 are left." in done.stdout


async def _tamper(folder: Path) -> None:
    async with Store(f"sqlite:///{folder}/deskhand.db") as store, store.write() as tx:
        await tx.exec_driver_sql("delete from journal where ticket_id = 'T-9002'")
        await tx.exec_driver_sql("delete from payloads where ticket_id = 'T-9002'")


BAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "an unknown ticket": (("export", "T-9999", "--state", "{state}"), 2, "no journal of T-9999"),
    "no database": (("export", "T-9001", "--state", "{state}/nowhere"), 2, "there is no database at"),
    "a folder that is not there": (
        ("export", "T-9001", "--state", "{state}", "--out", "{state}/no/x.json"),
        2,
        "can't be written",
    ),
    "nothing to verify": (("verify",), 2, "what is to be verified?"),
    "a file that is not there": (("verify", "{state}/no.json"), 1, "is no file"),
    "a folder": (("verify", "{state}"), 1, "is no file"),
    "nobody to erase": (("erase", "--state", "{state}", "--yes"), 2, "who is to be erased?"),
    "an empty name to erase": (("erase", " ", "--state", "{state}", "--yes"), 2, "who is to be erased?"),
    "an unknown customer": (("erase", "C-0000", "--state", "{state}", "--yes"), 1, "nobody is known as C-0000"),
    "nobody to ask": (("erase", "C-0999", "--state", "{state}"), 2, "give --yes"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_can_not_be_done_is_one_line_that_says_what_to_do(state: Path, what: str) -> None:
    arguments, code, words = BAD[what]
    assert words in refused(deskhand(*(one.format(state=state) for one in arguments)), code)
    assert NAME.encode() in (state / "deskhand.db").read_bytes() + (state / "inbox.jsonl").read_bytes()


# -- erase ------------------------------------------------------------------------------------------------------------------


def test_an_erased_customer_is_in_no_file_of_the_state_folder(state: Path) -> None:
    done = deskhand("erase", MAIL, "--yes", "--state", str(state))
    assert done.exit_code == 0, done.stderr
    assert "C-0999, ines.moreau@example.com: 1 ticket (T-9001), 1 line of the inbox, 1 sent reply" in done.stdout
    assert "Erased: 1 journal entry of 1 ticket, 1 line of the inbox, 1 sent reply." in done.stdout
    assert "out of reach: what the customer received" in done.stdout
    data = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    for word in (NAME, MAIL, "kettle", "O-5501"):
        assert word.encode() not in data, word
    assert b"theo@example.com" in data
    assert deskhand("verify", "--all", "--state", str(state)).exit_code == 0
    assert "nobody is known" in refused(deskhand("erase", "C-0999", "--yes", "--state", str(state)))


def test_a_customer_with_a_reply_on_its_way_is_not_erased(state: Path) -> None:
    anyio.run(_mail, state)
    assert "a reply to T-9001 is on its way" in refused(deskhand("erase", "C-0999", "--yes", "--state", str(state)))
    assert json.loads((state / "inbox.jsonl").read_text("utf-8").splitlines()[0]) == LINE


async def _mail(folder: Path) -> None:
    async with Store(f"sqlite:///{folder}/deskhand.db") as store, store.write() as tx:
        await outbox.put(tx, OutboxKind.MAIL, "mail:q2", "T-9001", datetime.now(UTC), {"question_id": "q2", "run_id": "r"})


CALLED = {"tool": "shop.issue_refund", "arguments": {"note": NAME}}
PAYLOADS: dict[QuestionKind, dict[str, Any]] = {
    QuestionKind.CONSENT: {
        **CALLED,
        "provenance": {"note": {"source": "c1", "record": {"who": NAME}}},
        "rule": NAME,
        "headline": NAME,
    },
    QuestionKind.INPUT_REQUEST: {
        **CALLED,
        "message": NAME,
        "schema": {"properties": {"x": {"title": NAME}}},
        "round": 1,
        "record": {},
    },
    QuestionKind.SIGN_OFF: {
        "text": f"Dear {NAME}",
        "flags": [{"sentence": NAME, "why": NAME, "tag": "action"}],
        "stop_reason": "answered",
    },
    QuestionKind.MAY_HAVE_RUN: {**CALLED, "why": NAME, "headline": NAME},
}


@pytest.fixture
def bare(tmp_path: Path) -> Settings:
    """A desk without servers."""
    (tmp_path / "deskhand.toml").write_text("servers = {}\n", "utf-8")
    return load(tmp_path / "deskhand.toml", tmp_path)


@pytest.mark.anyio
async def test_every_card_of_an_erased_ticket_can_still_be_drawn_and_names_nobody(bare: Settings) -> None:
    async with wiring.running(bare, ScriptedModel([]), lambda host: HeadlessDesk(host, Rules())) as running:
        async with running.store.write() as tx:
            await _take(tx, parse_ticket(json.dumps(LINE)), NOW)
            for kind, payload in PAYLOADS.items():
                await questions.add(tx, _question(kind, payload))
        cards = ("ticket:T-9001", *(f"question:q-{kind.value}" for kind in PAYLOADS))
        before = [str(draw(await running.host.card(key), {})) for key in cards]
        await erase(running.store, SystemClock(), "C-0999", "ada")
        after = [draw(await running.host.card(key), {}) for key in cards]
    assert all(NAME in text for text in before)
    assert [validate(card) for card in after] == [[]] * len(cards)
    assert not [card for card in after if NAME in str(card) or MAIL in str(card)]


def _question(kind: QuestionKind, payload: dict[str, Any]) -> Question:
    rest = {"roles": ("staff",), "digest": "d", "definition": "", "payload": payload, "asked_at": NOW, "deadline": NOW}
    return Question(f"q-{kind.value}", kind, QuestionState.OPEN, "T-9001", "", "c1", "shop", **rest)


# -- the mailroom's files ---------------------------------------------------------------------------------------------------


def owns(ticket_id: str, customer_id: str | None, mail: str) -> bool:
    return ticket_id == "T-9001" or customer_id == "C-0999" or mail.casefold() == MAIL


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Traces]:
    """Erases in an inbox of these lines."""
    inbox, sent = tmp_path / "inbox.jsonl", tmp_path / "sent"

    def run(*lines: bytes, only_look: bool = False) -> Traces:
        if lines:
            inbox.write_bytes(b"\n".join(lines))
        return erase_files(inbox, sent, owns, ("C-0999", MAIL), only_look=only_look)

    return run


def test_lines_are_blanked_where_they_stand(files: Callable[..., Traces], tmp_path: Path) -> None:
    """A reader goes on from its offset and a writer appends: nothing may move."""
    mine, other = json.dumps(LINE).encode(), json.dumps(OTHER).encode()
    later = json.dumps({**LINE, "id": "T-9555"}).encode()
    broken = b'{"id": 5, "from": "' + MAIL.upper().encode() + b'"'
    lines = (b"\xef\xbb\xbf" + mine, b"", other + b"\r", broken, b"\xff\xfe", b"[" * 50_000, later)
    found = files(*lines, only_look=True)
    assert (tmp_path / "inbox.jsonl").read_bytes() == b"\n".join(lines), "looking changes nothing"
    assert files() == found == Traces(2, 0, (f"{tmp_path}/inbox.jsonl, line 4",))
    left = (tmp_path / "inbox.jsonl").read_bytes().split(b"\n")
    assert [len(line) for line in left] == [len(line) for line in lines]
    assert [line.strip() for line in left] == [b"", b"", other, broken, b"\xff\xfe", b"[" * 50_000, b""]
    assert files() == Traces(0, 0, found.unclear)


def test_a_sent_reply_keeps_its_receipt_and_is_never_sent_again(files: Callable[..., Traces], tmp_path: Path) -> None:
    reply = Reply("T-9001", "q1", MAIL, "us@example.com", "Re: A kettle", f"Dear {NAME}")
    other = Reply("T-9002", "q2", "theo@example.com", "us@example.com", "Re: Scales", "Dear Theo")
    outgoing = FileOutgoing(tmp_path / "sent")
    receipts = [anyio.run(outgoing.send, one) for one in (reply, other)]
    half = tmp_path / "sent" / ".0011223344556677.part"
    half.write_text(json.dumps({"ticket_id": "T-9001", "to": MAIL, "body": NAME}), "utf-8")
    assert files() == Traces(0, 2)
    assert [anyio.run(outgoing.send, one) for one in (reply, other)] == receipts
    text = "".join(path.read_text("utf-8") for path in (tmp_path / "sent").iterdir())
    assert (MAIL in text, NAME in text, "Dear Theo" in text, half.exists()) == (False, False, True, False)
    assert files() == Traces()


def test_without_files_there_is_nothing_to_erase(files: Callable[..., Traces]) -> None:
    assert files() == Traces()


# -- policy -----------------------------------------------------------------------------------------------------------------

RULES = """
[[policy]]
tool = "shop.issue_refund"
decision = "deny"
when = { "ticket.shop.issue_refund" = ">= 1" }
why = "one refund a ticket"

[[policy]]
tool = "shop.issue_refund"
decision = "deny"
when = { "quote_id.amount" = "> 150" }

[[policy]]
tool = "shop.*"
decision = "deny"
when = { "today.amount" = "> 1000" }
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The shipped file, with three more rules before its own."""
    text = (ROOT / "deskhand.toml").read_text("utf-8").replace("{here}", str(ROOT))
    path = tmp_path / "deskhand.toml"
    path.write_text(text.replace("\n[[policy]]", f"{RULES}\n[[policy]]", 1), "utf-8")
    return path


def judged(config: Path, *arguments: str, offline: bool = True) -> Result:
    more = ("--offline",) if offline else ()
    return deskhand("policy", "check", *arguments, *more, "--config", str(config))


CALL = ("shop.issue_refund", '{"quote_id": "q 3f9a0b1c2d"}')
JUDGED: dict[str, tuple[tuple[str, ...], str, int]] = {
    "nothing is known of the quote": (CALL, "deny", 2),
    "a small quote": ((*CALL, "--record", 'quote_id={"amount": 20}'), "ask", 8),
    "a large quote": ((*CALL, "--record", 'quote_id={"amount": "150.01"}'), "deny", 2),
    "an ambiguous amount": ((*CALL, "--record", 'quote_id={"amount": "1.200"}'), "deny", 2),
    "a second refund": ((*CALL, "--record", 'quote_id={"amount": 20}', "--ran", "shop.issue_refund=1"), "deny", 1),
    "a day's total": ((*CALL, "--record", 'quote_id={"amount": 20}', "--today", "shop.issue_refund=3,amount=1000.01"), "deny", 3),
    "just under it": ((*CALL, "--record", 'quote_id={"amount": 20}', "--today", "amount=1000"), "ask", 8),
    "a look-up": (("shop.get_order_status", '{"order_id": "1145"}'), "allow", 5),
    "what no rule speaks of": (("partner.track_parcel", '{"tracking_number": "FX-60318842"}'), "ask", 0),
}  # fmt: skip


@pytest.mark.parametrize("what", JUDGED)
def test_a_given_call_is_decided_by_the_real_policy_with_rule_and_line(config: Path, what: str) -> None:
    arguments, decision, number = JUDGED[what]
    done = judged(config, *arguments)
    assert done.exit_code == 0, done.stderr
    first, because, decided, *_ = done.stdout.splitlines()
    assert first.startswith(f"{decision}: {arguments[0]} ")
    if not number:
        assert because.startswith("because no rule of the policy speaks of")
        return
    starts = [i for i, line in enumerate(config.read_text("utf-8").splitlines(), 1) if line == "[[policy]]"]
    assert because.startswith(f"because rule {number} (")
    assert decided == f"decided by rule {number}, {config}, line {starts[number - 1]}"
    assert [line.split(",")[0] for line in done.stdout.splitlines() if line.startswith("rule ")] == [
        f"rule {n}" for n in range(1, 9)
    ]


def test_the_servers_are_asked_what_they_offer(config: Path) -> None:
    done = judged(config, "shop.check_stock", '{"query": "kettle", "colour": "red"}', offline=False)
    assert "the arguments of shop.check_stock are not valid" in refused(done, 2)


def test_a_server_that_is_down_is_judged_as_configured(config: Path) -> None:
    text = config.read_text("utf-8")
    config.write_text(text.replace('command = ["{python}", "-m", "servers.shop"', 'command = ["no-such-program"', 1), "utf-8")
    done = judged(config, *CALL, offline=False)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith('deny: shop.issue_refund {"quote_id": "Q-3f9a0b1c2d"}')
    assert "shop can't be asked what it offers" in done.stderr


def test_all_rules_are_shown_with_their_lines(config: Path) -> None:
    done = deskhand("policy", "--config", str(config))
    starts = [i for i, line in enumerate(config.read_text("utf-8").splitlines(), 1) if line == "[[policy]]"]
    rows = [found.groups() for line in done.stdout.splitlines() if (found := re.match(r" (\d+) +(\d+) +([a-z]+)", line))]
    assert rows == [(str(n), str(starts[n - 1]), ("deny", "allow", "ask")[(n > 3) + (n > 7)]) for n in range(1, 9)]
    assert "…" not in done.stdout, "nothing is cut off"


UNREAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no JSON": (("shop.issue_refund", "{quote_id: 5}"), 2, "no JSON"),
    "a list": (("shop.issue_refund", "[]"), 2, "no JSON object"),
    "NaN": (("shop.issue_refund", '{"quote_id": NaN}'), 2, "NaN is no JSON value"),
    "an unknown tool": (("shop.refund", "{}"), 2, "there is no tool shop.refund; there are partner.track_parcel"),
    "the reply": (("desk.reply", '{"text": "x"}'), 2, "is a draft that people sign off"),
    "no identifier": (("shop.issue_refund", '{"quote_id": "soon"}'), 1, '"soon" is no quote_id'),
    "a record of nothing": ((*CALL, "--record", 'reason={"a": 1}'), 2, "write NAME=JSON"),
    "a record of what is not given": ((*CALL, "--record", 'order_id={"a": 1}'), 2, "the call has no argument order_id"),
    "a record that is no object": ((*CALL, "--record", "quote_id=5"), 2, "no JSON object"),
    "an unknown count": ((*CALL, "--ran", "shop.pay=1"), 2, "shop.pay is nothing that is counted"),
    "half a call": ((*CALL, "--ran", "shop.issue_refund=1.5"), 2, "whole number"),
    "less than none": ((*CALL, "--today", "amount=-5"), 2, "not below zero"),
    "no number": ((*CALL, "--today", "amount=NaN"), 2, "write a number"),
    "an unknown ticket": ((*CALL, "--ticket", "T-9999"), 2, "there is no database at"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNREAD)
def test_what_can_not_be_judged_is_told_in_one_line(config: Path, what: str) -> None:
    arguments, code, words = UNREAD[what]
    assert words in refused(judged(config, *arguments), code)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"quote_id.amount" = "> 150"', '"quote_id.amount" = "> 1.500"', "can't be read"),
        ('"quote_id.amount" = "> 150"', '"quote.amount" = "> 150"', "no tool that this rule matches"),
        ('tool = "shop.*"', 'tool = "shp.*"', "no tool matches"),
        ('"today.amount" = "> 1000"', '"today.total" = "> 1000"', "names nothing"),
    ],
)
def test_a_rule_that_could_not_do_what_it_says_is_named_with_its_line(config: Path, old: str, new: str, words: str) -> None:
    text = config.read_text("utf-8")
    assert old in text
    config.write_text(text.replace(old, new, 1), "utf-8")
    said = refused(judged(config, *CALL, offline=words != "no tool that this rule matches"), 2)
    assert words in said
    assert f"{config}, line " in said
