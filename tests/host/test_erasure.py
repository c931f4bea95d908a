"""A customer erased: no byte of theirs is left in the database's files, and every chain still verifies (spec H31)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from host import journal
from host.erasure import Customer, Erasure, NotErased, erase, find
from host.records import check_all, check_file, close_days, export
from host.store import journal as journal_rows
from host.store import outbox, questions, tickets
from host.store.codec import TICKET
from host.store.engine import Store
from host.store.erasure import clean_files
from host.types import (
    Actor,
    Answer,
    Approval,
    OutboxKind,
    Outcome,
    OutcomeKind,
    Question,
    QuestionKind,
    QuestionState,
    Run,
    RunState,
    StopReason,
    Ticket,
    TicketState,
)

pytestmark = pytest.mark.anyio

MAYA = Actor("staff-0007", "U_MAYA", "Maya Okafor", frozenset({"staff"}))
NAME, MAIL, ORDER = "Ines Moreau", "ines.moreau@example.com", "O-5501"
SENTENCE = "The kettle of order O-5501 leaks"
PERSONAL = (NAME, MAIL, MAIL.upper(), "Moreau", ORDER, SENTENCE, "kettle")
PAYLOADS: dict[QuestionKind, dict[str, Any]] = {
    QuestionKind.CONSENT: {
        "tool": "shop.issue_refund",
        "arguments": {"quote_id": "Q-5501aabbcc", "reason": "kettle leaks"},
        "provenance": {"quote_id": {"source": "c1", "record": {"order_id": ORDER}}},
        "rule": "rule 5",
        "headline": f"Refund 20.00 EUR on order {ORDER}",
        "may_edit": [],
    },
    QuestionKind.INPUT_REQUEST: {
        "tool": "shop.issue_refund",
        "arguments": {"quote_id": "Q-5501aabbcc"},
        "request_key": "k",
        "message": f"Release the refund of {NAME}?",
        "schema": {"type": "object", "properties": {"release": {"type": "boolean", "title": f"Pay {NAME}"}}},
        "round": 1,
        "record": {"quote_id": {"order_id": ORDER}},
        "approved_by": ["U_MAYA"],
    },
    QuestionKind.SIGN_OFF: {"text": f"Hello {NAME},\n\nyour kettle", "flags": [], "stop_reason": "answered", "words": ORDER},
    QuestionKind.MAY_HAVE_RUN: {"tool": "shop.issue_refund", "arguments": {"note": SENTENCE}, "why": ORDER, "headline": NAME},
}


async def a_life(store: Store, clock: Any, ticket: Ticket) -> None:
    """A ticket with a finished run, questions of each kind, a sent reply, and notices."""
    now = clock.now()
    run = Run(f"run-{ticket.id}", ticket.id, RunState.READY, MAYA, now, hint=f"{NAME} is a regular", resources=(f"x://{ORDER}",))
    call = {"call_id": f"{run.id}.c1", "tool": "shop.find_orders", "server": "shop"}
    async with store.write() as tx:
        await tickets.add_ticket(tx, ticket)
        await tickets.add_run(tx, run)
        taken = journal.Taken(ticket=TICKET.dump_python(ticket, mode="json"))
        written = journal.CallWritten(id=call["call_id"], name=call["tool"], arguments={"query": NAME})
        replied = journal.Replied(raw=SENTENCE, text=SENTENCE, calls=(written,))
        ended = journal.Ended(**call, arguments={"query": NAME}, outcome=Outcome(OutcomeKind.RESULT, text=SENTENCE * 200))
        drafted = journal.Drafted(text=f"Dear {NAME}", flags=(), final=True)
        stopped = journal.Stopped(reason=StopReason.ANSWERED, words="answered")
        await journal.append(tx, ticket.id, "", now, taken)
        await journal.append(tx, ticket.id, run.id, now, replied, ended, drafted, stopped)
        row = {"call_id": call["call_id"], "ticket_id": ticket.id, "run_id": run.id, "tool": call["tool"], "outcome": "result"}
        await journal_rows.log_call(tx, {**row, "ms": 5, "at": now.isoformat(), "amount": ""})
        for kind, payload in PAYLOADS.items():
            await questions.add(tx, _question(f"q-{ticket.id}-{kind.value}", kind, ticket.id, run.id, payload, now))
        sent = f"q-{ticket.id}-sign_off"
        edited = Answer("edit_and_send", reason=NAME, content={"note": ORDER}, text=f"Dear {NAME}, your kettle")
        await questions.close(tx, sent, QuestionState.ANSWERED, now, MAYA, edited, note=SENTENCE)
        mail = {"question_id": sent, "run_id": run.id, "to": MAIL, "subject": SENTENCE, "text": f"Dear {NAME}"}
        await outbox.put(tx, OutboxKind.MAIL, f"mail:{sent}", ticket.id, now, mail)
        await outbox.put(tx, OutboxKind.NOTICE, f"notice:{ticket.id}", ticket.id, now, {"text": f"{NAME} wrote"})
        for key in (f"ticket:{ticket.id}", f"question:{sent}"):
            await outbox.put(tx, OutboxKind.CARD, key, ticket.id, now)
        for item in await outbox.due(tx, now):
            if item.kind is not OutboxKind.NOTICE:
                await outbox.done(tx, item, {"receipt": "M-0011223344"})
        await tickets.finish(tx, run.id, StopReason.ANSWERED)


def _question(question_id: str, kind: QuestionKind, ticket_id: str, run_id: str, payload: Any, now: Any) -> Question:
    approval = Approval(MAYA, now, Answer("approve", reason=SENTENCE, content={"note": NAME}))
    rest = {"roles": ("staff",), "digest": "d", "definition": "def", "payload": payload, "asked_at": now, "deadline": now}
    return Question(
        question_id, kind, QuestionState.OPEN, ticket_id, run_id, "c1", "shop", **rest, note=SENTENCE, approvals=(approval,)
    )  # fmt: skip


@pytest.fixture
def other(ticket: Ticket) -> Ticket:
    own = {"sender_name": "Theo Lindqvist", "sender_mail": "theo.lindqvist@example.com", "customer_id": "C-0888"}
    return replace(ticket, id="T-9002", intake_key="file:T-9002", subject="Scales", body="My scales of O-7207 drift.", **own)


def _left(folder: Path, words: tuple[str, ...]) -> list[str]:
    data = b"".join(path.read_bytes() for path in sorted(folder.iterdir())).lower()
    return [word for word in words if word.lower().encode() in data]


async def left(folder: Path, *words: str) -> list[str]:
    """Which of the words stand in any of the database's files, in whatever case; its log and index are among them."""
    return await to_thread.run_sync(_left, folder, words)


async def two_lives(store: Store, clock: Any, ticket: Ticket, other: Ticket) -> None:
    await a_life(store, clock, ticket)
    async with store.write() as tx:
        await tickets.add_ticket(tx, other)
        await journal.append(tx, other.id, "", clock.now(), journal.Taken(ticket=TICKET.dump_python(other, mode="json")))


async def erased(store: Store, clock: Any, customer: str) -> Erasure:
    done = await erase(store, clock, customer, "ada")
    assert isinstance(done, Erasure), done
    return done


async def test_no_byte_of_an_erased_customer_is_left_in_the_databases_files(tmp_path: Path, clock, ticket, other) -> None:
    async with Store(f"sqlite:///{tmp_path}/desk.db") as store:
        async with store.write() as tx:  # as SQLite is built by most; some builds overwrite what they delete by themselves
            await tx.exec_driver_sql("PRAGMA secure_delete=OFF")
        await two_lives(store, clock, ticket, other)
        assert await left(tmp_path, *PERSONAL) == list(PERSONAL)
        await erased(store, clock, "C-0999")
        assert await clean_files(store) == ""
        assert await left(tmp_path, *PERSONAL) == [], "while the program runs"
        assert await left(tmp_path, "Theo Lindqvist", "O-7207") == ["Theo Lindqvist", "O-7207"]
    assert await left(tmp_path, *PERSONAL) == [], "and after its end"


async def test_the_chain_still_verifies_and_tells_of_the_erasure(store: Store, clock, ticket, other) -> None:
    await two_lives(store, clock, ticket, other)
    clock.move(days=1)
    await close_days(store, clock, UTC)
    done = await erased(store, clock, "C-0999")
    assert (done.customer.tickets, done.entries) == (("T-9001",), 5)
    checked = check_file(json.dumps(await export(store, "T-9001", clock.now())).encode())
    assert (checked.entries, checked.erased, checked.broken) == (9, 5, "")
    async with store.read() as tx:
        told = [noted.entry for noted in await journal.entries(tx, "T-9001")]
    assert [type(entry) for entry in told] == [journal.Closed] * 3 + [journal.Erased]
    assert told[-1] == journal.Erased(by="ada", entries=5)
    assert (await check_all(store)).sound, "the head of the day before comes out as well"


async def test_content_taken_out_besides_an_erasure_is_found(store: Store, clock, ticket, other) -> None:
    await two_lives(store, clock, ticket, other)
    await erased(store, clock, "C-0999")
    read = await export(store, "T-9001", clock.now())
    read["links"][-1].update(body=None, salt=None)
    assert "only it could say what was erased" in check_file(json.dumps(read).encode()).broken
    read = await export(store, "T-9001", clock.now())
    read["links"][-2].update(body=None, salt=None)
    assert "(erased) tells of 5 erased entries" not in check_file(json.dumps(read).encode()).broken
    assert "1 entries have no content" in check_file(json.dumps(read).encode()).broken


async def test_what_stays_is_a_stub_that_nobody_can_work(store: Store, clock, ticket, other) -> None:
    await two_lives(store, clock, ticket, other)
    await erased(store, clock, "C-0999")
    async with store.read() as tx:
        stub, state = await tickets.ticket(tx, "T-9001")
        asked = await questions.of_ticket(tx, "T-9001")
        mail = await outbox.by_key(tx, "mail:q-T-9001-sign_off")
        notice = await outbox.by_key(tx, "notice:T-9001")
        kept, _ = await tickets.ticket(tx, "T-9002")
        assert await tickets.waiting_tickets(tx) == ("T-9002",)
    assert (stub.id, stub.sender_name, stub.body, stub.customer_id, state) == ("T-9001", "erased", "", None, TicketState.DONE)
    assert kept == other
    states = {question.kind: question.state for question in asked}
    assert states.pop(QuestionKind.SIGN_OFF) is QuestionState.ANSWERED
    assert set(states.values()) == {QuestionState.CANCELLED}
    signed = next(question for question in asked if question.kind is QuestionKind.SIGN_OFF)
    assert (signed.answered_by, signed.answer) == (MAYA, Answer("edit_and_send"))
    assert signed.approvals[0].actor == MAYA
    assert mail is not None
    assert notice is not None
    assert (mail[0].receipt, mail[1]) == ({"receipt": "M-0011223344"}, "done")
    assert (notice[0].payload, notice[1]) == ({}, "failed")


async def test_cards_that_were_posted_are_drawn_anew(store: Store, clock, ticket, other) -> None:
    await two_lives(store, clock, ticket, other)
    await erased(store, clock, "C-0999")
    async with store.read() as tx:
        due = {item.key: item.receipt for item in await outbox.due(tx, clock.now())}
    assert due == {key: {"receipt": "M-0011223344"} for key in ("ticket:T-9001", "question:q-T-9001-sign_off")}


async def test_an_erased_ticket_does_not_come_in_again(store: Store, clock, ticket, other) -> None:
    await two_lives(store, clock, ticket, other)
    await erased(store, clock, "C-0999")
    async with store.write() as tx:
        assert not await tickets.add_ticket(tx, ticket)
        assert not await tickets.add_ticket(tx, replace(ticket, id="T-9777")), "the same mail under another number"
        assert await tickets.add_ticket(tx, replace(ticket, id="T-9778", intake_key="file:T-9778")), "but a new one is a new one"


# -- whose tickets ----------------------------------------------------------------------------------------------------------


async def several(store: Store, ticket: Ticket, *whose: tuple[str | None, str]) -> None:
    async with store.write() as tx:
        for number, (customer_id, mail) in enumerate(whose, start=1):
            name = f"T-910{number}"
            made = replace(ticket, id=name, intake_key=f"file:{name}", customer_id=customer_id, sender_mail=mail)
            await tickets.add_ticket(tx, made)


async def test_a_customer_is_found_by_id_or_address_with_what_nobody_else_wrote(store: Store, ticket) -> None:
    home, work, other = "ines@example.com", "Ines@Work.example.com", "theo@example.com"
    await several(store, ticket, ("C-0999", home), ("C-0999", work), (None, work.lower()), ("C-0888", other), (None, other))
    everything = Customer(("T-9101", "T-9102", "T-9103"), ("C-0999",), (home, work.lower()))
    assert await find(store, "C-0999") == everything
    assert await find(store, " INES@example.com ") == everything
    assert await find(store, work) == everything
    assert (await find(store, "C-09")).tickets == (), "a part of an id is nobody's"
    assert (await find(store, "c-0999")).tickets == ()
    assert (await find(store, "nobody@example.com")).tickets == ()
    assert await find(store, "  ") == Customer()


async def test_an_address_of_two_customers_erases_neither(store: Store, clock, ticket) -> None:
    await several(store, ticket, ("C-0999", "family@example.com"), ("C-0888", "family@example.com"))
    refused = await erase(store, clock, "family@example.com", "ada")
    assert refused == NotErased("this is the address of C-0888, C-0999: erase them one by one, by their ids")
    assert (await erased(store, clock, "C-0999")).customer.tickets == ("T-9101",)


async def test_a_ticket_without_an_address_is_not_everybodys(store: Store, clock, ticket) -> None:
    await several(store, ticket, (None, ""), ("C-0999", ""), (None, ""))
    assert (await find(store, "C-0999")).tickets == ("T-9102",)


async def test_words_of_others_that_name_them_are_told(store: Store, clock, ticket, other) -> None:
    await a_life(store, clock, ticket)
    async with store.write() as tx:
        await tickets.add_ticket(tx, replace(other, body=f"My neighbour {MAIL.title()} has the same kettle."))
    assert (await erased(store, clock, "C-0999")).elsewhere == ("T-9002",)


# -- refused ----------------------------------------------------------------------------------------------------------------


async def test_nothing_is_erased_while_a_run_is_under_way(store: Store, clock, ticket) -> None:
    await a_life(store, clock, ticket)
    async with store.write() as tx:
        await tickets.add_run(tx, Run("run-2", ticket.id, RunState.WAITING, MAYA, clock.now()))
    refused = await erase(store, clock, "C-0999", "ada")
    assert refused == NotErased("a run of T-9001 is under way: stop it first (/deskhand stop), then erase")
    async with store.read() as tx:
        assert (await tickets.ticket(tx, ticket.id))[0] == ticket
        assert len(await journal.entries(tx, ticket.id)) == 5


@pytest.mark.parametrize("begun", [False, True])
async def test_nothing_is_erased_while_a_reply_is_on_its_way(store: Store, clock, ticket, begun: bool) -> None:
    await a_life(store, clock, ticket)
    async with store.write() as tx:
        await outbox.put(tx, OutboxKind.MAIL, "mail:q-2", ticket.id, clock.now(), {"question_id": "q-2", "run_id": "r"})
        found = await outbox.by_key(tx, "mail:q-2")
        if begun and found is not None:
            await outbox.take(tx, found[0], clock.now())
    refused = await erase(store, clock, "C-0999", "ada")
    assert isinstance(refused, NotErased)
    assert "a reply to T-9001 is on its way" in refused.words


async def test_a_database_that_somebody_reads_is_not_called_clean(tmp_path: Path, clock, ticket, other) -> None:
    async with Store(f"sqlite:///{tmp_path}/desk.db") as store, Store(f"sqlite:///{tmp_path}/desk.db") as second:
        await two_lives(store, clock, ticket, other)
        async with second.read() as reading:
            await tickets.counts(reading)
            await erased(store, clock, "C-0999")
            assert await clean_files(store) != ""
        assert await clean_files(store) == ""
        assert await left(tmp_path, *PERSONAL) == []
