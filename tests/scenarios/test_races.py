"""Two things at once: each race ends in one of the ways that are allowed, as journal and the server's own book tell it.

Real hosts on one real database file, tickets that wait for a yes to a payment, and a bank whose book says what was paid. Each is
run twenty times: twice in a fixed order, so that both ends are seen, then with everybody starting a random while later.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from bot.headless import ADMIN
from host.config import HostConfig, PolicyRule, ServerConfig, ToolConfig
from host.errors import StaleLease
from host.lease import writing
from host.store import tickets as rows
from host.store.engine import Store
from host.types import Actor, Answer, NotTaken, OutboxKind, QuestionKind, QuestionState, RunState, StopReason, Taken, Ticket
from models.port import Reply, Request
from models.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

BANK = Path(__file__).parent / "kill" / "bank.py"
ROUNDS = 20
Contender = Callable[[], Awaitable[Any]]


def person(number: int) -> Actor:
    return Actor(f"staff-1{number:03}", f"U-staff-{number}", f"Person {number}", frozenset({"staff"}))


async def race(number: int, *contenders: Contender) -> list[Any]:
    """What each came to, in their order. Round 0 runs them one after the other, round 1 in reverse."""
    came: list[Any] = [None] * len(contenders)
    if number < 2:
        for index in (range(len(contenders)), reversed(range(len(contenders))))[number]:
            came[index] = await contenders[index]()
        return came
    draw = random.Random(number)
    waits = [draw.choice((0, 3, 30, 300, 1500)) for _ in contenders]

    async def run(index: int) -> None:
        for _ in range(waits[index]):
            await anyio.lowlevel.checkpoint()
        came[index] = await contenders[index]()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for index in draw.sample(range(len(contenders)), len(contenders)):
                group.start_soon(run, index)
    return came


# --- a bank, and tickets that want a payment ---------------------------------------------------------------------------


def pays(script: Any) -> Callable[[Request], Any]:
    """Pays with the ticket's own id as the note, then thanks. A ticket that asks for news gets them."""

    def model(request: Request) -> Any:
        own = request.messages[max(i for i, m in enumerate(request.messages) if m.content.startswith("Ticket:")) :]
        note = next((word for word in own[0].content.split() if word.startswith("pay-")), "")
        if "news" in own[0].content and "bank.news:" not in script.said(request):
            return script.call("bank.news")
        if note and "bank.pay:" not in script.said(request):
            return script.call("bank.pay", note=note)
        return script.reply("Thank you.")

    return model


@dataclass
class Town:
    """One or two hosts over one database, and the bank's book."""

    offices: Sequence[Any]
    folder: Path
    like: Ticket

    @property
    def office(self) -> Any:
        return self.offices[0]

    def ticket(self, number: int, *, verified: bool = True, body: str = "") -> Ticket:
        name = f"T-8{number:03}"
        words = body or f"Please settle pay-{number:03} for me."
        return replace(self.like, id=name, intake_key=name, subject="A bill", body=words, sender_verified=verified)

    async def asked(self, count: int = ROUNDS, *, verified: bool = True) -> list[Any]:
        """So many tickets, each with an open question for consent."""
        tickets = [self.ticket(number, verified=verified) for number in range(count)]
        await self.office.work(*tickets)
        return [await self.office.open(ticket.id, QuestionKind.CONSENT) for ticket in tickets]

    async def settle(self) -> None:
        for office in self.offices:
            await office.settle()

    def note(self, question: Any) -> str:
        return str(question.payload["arguments"]["note"])

    async def paid(self, note: str) -> int:
        return (await self._book()).count(f"paid {note}")

    async def sent(self, note: str) -> int:
        return (await self._book()).count(f"asked {note}")

    async def _book(self) -> list[str]:
        path = anyio.Path(self.folder / "state" / "book.txt")
        return (await path.read_text()).splitlines() if await path.exists() else []

    async def closed(self, ticket_id: str, question_id: str) -> list[Any]:
        entries = [noted.entry for noted in await self.office.entries(ticket_id)]
        return [entry for entry in entries if entry.kind == "closed" and entry.question_id == question_id]

    async def outcome(self, ticket_id: str) -> str:
        """Of the payment; its call ended exactly once."""
        ((_tool, outcome),) = [pair for pair in await self.office.outcomes(ticket_id) if pair[0] == "bank.pay"]
        return str(outcome)

    async def true(self, ticket_id: str, note: str, *, may: Sequence[str] = ()) -> tuple[str, int]:
        """(outcome, payments) after a race: what the journal says is what the book says; `may`: outcomes that leave it open."""
        outcome, paid = await self.outcome(ticket_id), await self.paid(note)
        assert await self.sent(note) <= 1, "it was sent twice"
        assert paid == (outcome == "result") or outcome in may, f"the journal says {outcome}, the book {paid}"
        assert await self.office.verified(ticket_id) == ""
        kinds = Counter(await self.office.kinds(ticket_id))
        assert kinds["started"] == kinds["stopped"]
        return outcome, paid


@pytest.fixture
def town(open_office: Any, script: Any, tmp_path: Path) -> Any:
    """`town(hosts=2, way="forgetful")`: the hosts share state folder, database and clock; each has a bank's process."""

    def changed(config: HostConfig, way: str, limits: dict[str, Any], pay: dict[str, Any], allowed: Sequence[str]) -> HostConfig:
        state = tmp_path / "state"
        server = ServerConfig(
            command=(sys.executable, str(BANK)),
            env={
                "BANK_WAY": way,
                "BANK_BOOK": str(state / "book.txt"),
                "BANK_GATE": str(tmp_path / "gate"),
                "BANK_TERMS": str(tmp_path / "terms.txt"),
            },
            trusted=True,
            tools={"pay": ToolConfig(effect="effect", **pay), "news": ToolConfig(effect="read")},
        )
        rules = tuple(PolicyRule(tool=f"bank.{tool}", decision="allow") for tool in allowed)
        update = {"servers": {"bank": server}, "policy": rules}
        return config.model_copy(update={**update, "limits": config.limits.model_copy(update=limits)})

    @asynccontextmanager
    async def opened(
        hosts: int = 1,
        way: str = "forgetful",
        model: Any = None,
        make_model: Any = ScriptedModel,
        pay: Any = None,
        allowed: Sequence[str] = ("news",),
        **limits: Any,
    ) -> AsyncIterator[Town]:
        change = partial(changed, way=way, limits=limits, pay=pay or {}, allowed=allowed)
        opening = partial(open_office, model or pays(script), change=change, make_model=make_model)
        async with opening() as first:
            like = next(one for one in first.tickets() if one.id == "T-0010")
            if hosts == 1:
                yield Town([first], tmp_path, like)
                return
            async with opening() as second:
                yield Town([first, second], tmp_path, like)

    return opened


# --- many answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 3, 4])
async def test_of_a_hundred_answers_one_counts_and_everybody_else_is_told_whose(town: Any, number: int) -> None:
    async with town(hosts=2) as town:
        (question,) = await town.asked(1)
        people = [person(n) for n in range(100)]

        def answering(index: int) -> Contender:
            answer = Answer("approve") if index % 3 else Answer("decline", reason=f"no, says {index}")
            return partial(town.offices[index % 2].answer, question, people[index], answer)

        came = await race(number, *(answering(index) for index in range(100)))
        (winner,) = [index for index, result in enumerate(came) if isinstance(result, Taken)]
        losers = [result for result in came if isinstance(result, NotTaken)]
        assert len(losers) == 99
        assert {f"Already decided by {people[winner].name} at" in loser.words for loser in losers} == {True}
        await town.settle()
        (closed,) = await town.closed(question.ticket_id, question.id)
        assert (closed.by, closed.users) == (people[winner].subject, (people[winner].user,))
        outcome, paid = await town.true(question.ticket_id, town.note(question))
        assert (outcome, paid) == (("result", 1) if winner % 3 else ("declined", 0))


async def test_where_two_are_needed_two_different_people_count_however_often_each_presses(town: Any) -> None:
    async with town(hosts=2) as town:
        for number, question in enumerate(await town.asked(verified=False)):
            assert question.needed == 2
            people = [person(n) for n in (0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 1, 1)]
            pressing = [partial(town.offices[n % 2].answer, question, who, Answer("approve")) for n, who in enumerate(people)]
            came = await race(number, *pressing)
            counted = [who for who, result in zip(people, came, strict=True) if isinstance(result, Taken)]
            while len(counted) < 2:  # told to press again, since two pressed at one moment
                who = next(one for one in people if one not in counted)
                if isinstance(await town.office.answer(question, who, Answer("approve")), Taken):
                    counted.append(who)
            assert len(counted) == len({who.user for who in counted}) == 2
            await town.settle()
            (closed,) = await town.closed(question.ticket_id, question.id)
            assert sorted(closed.users) == sorted(who.user for who in counted)
            approved = [n.entry for n in await town.office.entries(question.ticket_id) if n.entry.kind == "approved"]
            assert len(approved) == 1
            assert await town.true(question.ticket_id, town.note(question)) == ("result", 1)


async def test_an_answer_with_edits_and_one_without_are_not_both_taken(town: Any) -> None:
    seen: Counter[str] = Counter()
    async with town(hosts=2, pay={"may_edit": ("note",)}) as town:
        for number, question in enumerate(await town.asked()):
            own, other = town.note(question), f"other-{number:03}"
            came = await race(
                number,
                partial(town.offices[0].answer, question, person(1), Answer("approve")),
                partial(town.offices[1].answer, question, person(2), Answer("approve", content={"note": other})),
            )
            assert [type(result) for result in came].count(Taken) == 1
            (loser,) = [result for result in came if isinstance(result, NotTaken)]
            assert "Already decided by Person" in loser.words
            await town.settle()
            edited = isinstance(came[1], Taken)
            seen["edited" if edited else "plain"] += 1
            assert (await town.paid(other), await town.paid(own)) == ((1, 0) if edited else (0, 1))
            (closed,) = await town.closed(question.ticket_id, question.id)
            assert closed.content == ({"note": other} if edited else {})
    assert seen["edited"] >= 1
    assert seen["plain"] >= 1


async def test_a_reply_is_sent_or_worked_again_or_rejected_and_only_one_of_these(town: Any) -> None:
    async with town(hosts=2) as town:
        tickets = [town.ticket(number, body="Just to say thanks.") for number in range(ROUNDS)]
        await town.office.work(*tickets)
        for number, ticket in enumerate(tickets):
            question = await town.office.open(ticket.id, QuestionKind.SIGN_OFF)
            answers = [Answer("send"), Answer("work_again", reason="be kinder"), Answer("reject", reason="no"), Answer("send")]
            pressing = [partial(town.offices[n % 2].answer, question, person(n), one) for n, one in enumerate(answers)]
            came = await race(number, *pressing)
            (winner,) = [n for n, result in enumerate(came) if isinstance(result, Taken)]
            await town.settle()
            mails = [item for office in town.offices for item in office.desk.items if item.kind is OutboxKind.MAIL]
            assert sum(item.ticket_id == ticket.id for item in mails) == (answers[winner].action == "send")
            runs = (await town.office.kinds(ticket.id)).count("started")
            assert runs == (2 if answers[winner].action == "work_again" else 1)


# --- an answer against what ends its question, or its run ---------------------------------------------------------------


async def test_an_answer_against_its_expiry_counts_or_has_expired(town: Any, clock: Any) -> None:
    seen: Counter[str] = Counter()
    async with town(hosts=2) as town:
        for number in range(ROUNDS):
            ticket = town.ticket(number)
            await town.office.work(ticket)
            question = await town.office.open(ticket.id, QuestionKind.CONSENT)

            async def expire(deadline: Any = question.deadline) -> int:
                clock.moment = deadline
                return int(await town.offices[1].host_expires())

            answering = partial(town.office.answer, question, person(1), Answer("approve"))
            result, _ = await race(number, answering, expire)
            await town.settle()
            (closed,) = await town.closed(ticket.id, question.id)
            if isinstance(result, Taken):
                assert closed.state is QuestionState.ANSWERED
                assert await town.true(ticket.id, town.note(question)) == ("result", 1)
            else:
                assert "expired" in result.words
                assert closed.state is QuestionState.EXPIRED
                assert await town.true(ticket.id, town.note(question)) == ("expired", 0)
            seen[closed.state.value] += 1
    assert set(seen) == {"answered", "expired"}


async def test_an_answer_against_a_stop_is_paid_or_not_and_the_run_is_over(town: Any) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    async with town(hosts=2) as town:
        for number, question in enumerate(await town.asked()):
            name = question.ticket_id
            result, stopped, _ = await race(
                number,
                partial(town.offices[0].answer, question, person(1), Answer("approve")),
                partial(town.offices[1].host.stop, ADMIN, name),
                town.offices[0].running.queue.work_one,
            )
            await town.settle()
            outcome, _ = await town.true(name, town.note(question), may=["may_have_run"])
            assert stopped.ok
            assert (await town.office.result(name)).stop_reason is StopReason.CANCELLED
            assert [q for q in await town.office.questions(name) if q.state is QuestionState.OPEN] == []
            if isinstance(result, NotTaken):
                assert "cancelled" in result.words
                assert outcome == "cancelled"
            seen[(type(result).__name__, outcome)] += 1
    assert seen["NotTaken", "cancelled"] >= 1
    assert seen["Taken", "cancelled"] >= 1


async def test_an_answer_against_a_freeze_is_paid_before_it_or_refused_after_it(town: Any) -> None:
    seen: Counter[str] = Counter()
    async with town(hosts=2) as town:
        for number, question in enumerate(await town.asked()):
            result, _, _ = await race(
                number,
                partial(town.offices[0].answer, question, person(1), Answer("approve")),
                town.offices[0].running.queue.work_one,
                partial(town.offices[1].host.freeze, "bank", ADMIN),
            )
            await town.settle()
            assert isinstance(result, Taken), "a freeze does not make an answer void"
            outcome, _ = await town.true(question.ticket_id, town.note(question))
            if outcome != "result":
                assert outcome == "refused"
                (call,) = (await town.office.result(question.ticket_id)).calls
                assert "frozen by Deskhand" in call.note
            seen[outcome] += 1
            await town.office.host.unfreeze("bank", ADMIN)
    assert set(seen) == {"result", "refused"}


async def test_an_answer_against_a_changed_definition_is_paid_only_as_it_was_shown(town: Any, tmp_path: Path) -> None:
    """The server says that its tools changed during another ticket's call; between tickets that is taken over."""
    seen: Counter[tuple[str, str]] = Counter()
    terms = anyio.Path(tmp_path / "terms.txt")
    async with town(way="old") as town:
        for number in range(ROUNDS):
            ticket, news = town.ticket(number), town.ticket(500 + number, body="Any news?")
            if number % 2 == 0:  # worked before the payment, also where that was allowed first
                news = replace(news, id=f"T-7{number:03}", intake_key=f"T-7{number:03}")
            await town.office.work(ticket)
            question = await town.office.open(ticket.id, QuestionKind.CONSENT)
            await terms.write_text(f"Pays, by its terms of day {number}.")
            await town.office.take(news)
            result, _ = await race(
                number,
                partial(town.office.answer, question, person(1), Answer("approve")),
                town.office.settle,
            )
            await town.settle()
            (closed,) = await town.closed(ticket.id, question.id)
            outcome, _ = await town.true(ticket.id, town.note(question))
            if isinstance(result, NotTaken):
                assert "definition changed" in result.words
                assert closed.state is QuestionState.SUPERSEDED
            if outcome != "result":
                assert outcome == "refused"
            seen[(type(result).__name__, outcome)] += 1
            for change in await town.office.host.changed_tools():
                assert (await town.office.host.accept_tool(change, ADMIN)).ok
    assert seen["NotTaken", "refused"] >= 1
    assert seen["Taken", "refused"] >= 1, "changed between the answer and the sending"


async def test_a_changed_definition_that_was_accepted_meanwhile_is_asked_about_once_more(town: Any, tmp_path: Path) -> None:
    async with town(way="old") as town:
        office, ticket = town.office, town.ticket(1)
        await office.work(ticket)
        question = await office.open(ticket.id, QuestionKind.CONSENT)
        await anyio.Path(tmp_path / "terms.txt").write_text("Pays, and keeps a tenth of it.")
        await office.work(town.ticket(501, body="Any news?"))
        (change,) = await office.host.changed_tools()
        assert (await office.host.accept_tool(change, ADMIN)).ok
        refused = await office.answer(question, person(1), Answer("approve"))
        assert isinstance(refused, NotTaken)
        assert "definition changed" in refused.words
        await office.settle()
        again = await office.open(ticket.id, QuestionKind.CONSENT)
        assert again.definition == change.digest != question.definition
        late = await office.answer(question, person(2), Answer("approve"))
        assert isinstance(late, NotTaken)
        assert "newer card" in late.words
        assert isinstance(await office.answer(again, person(1), Answer("approve")), Taken)
        await office.settle()
        assert await town.true(ticket.id, "pay-001") == ("result", 1)


async def test_a_definition_that_changes_between_two_calls_of_one_reply_stops_the_second(
    town: Any, script: Any, tmp_path: Path
) -> None:
    """Between tickets its tools are as they were pinned; the last look before the call sees that they are not."""

    def model(request: Request) -> Any:
        if "bank.news:" in script.said(request):
            return script.reply("Thank you.")
        return script.batch(script.call("bank.news"), script.call("bank.pay", note="pay-001"))

    async with town(way="old", model=model, allowed=("news", "pay")) as town:
        await town.office.work(town.ticket(1))
        assert await town.paid("pay-001") == 1, "unchanged, it is paid"
        await anyio.Path(tmp_path / "terms.txt").write_text("Pays twice.")
        await town.office.work(town.ticket(2))
        assert await town.outcome(town.ticket(2).id) == "refused"
        assert await town.sent("pay-001") == 1


# --- workers -----------------------------------------------------------------------------------------------------------


async def test_two_workers_never_work_one_run_and_both_find_something_else(town: Any) -> None:
    async with town(hosts=2) as town:
        await town.office.take(*(town.ticket(number) for number in range(ROUNDS)))
        for number in range(ROUNDS):
            await race(number, *(office.running.queue.work_one for office in town.offices))
        for number in range(ROUNDS):
            kinds = Counter(await town.office.kinds(town.ticket(number).id))
            assert (kinds["started"], kinds["replied"], kinds["asked"]) == (1, 1, 1)
        asked = [len(office.model.requests) for office in town.offices]
        assert sum(asked) == ROUNDS
        assert min(asked) > 0, "both worked"


class GatedModel(ScriptedModel):
    """Thinks until it is let go on."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self.thinking, self.gate = anyio.Event(), anyio.Event()

    async def reply(self, request: Request) -> Reply:
        self.thinking.set()
        await self.gate.wait()
        return await super().reply(request)


async def test_a_worker_whose_run_was_taken_over_writes_nothing_more(town: Any, clock: Any, tmp_path: Path) -> None:
    async with town(make_model=GatedModel) as town, Store(f"sqlite:///{tmp_path}/state/deskhand.db") as other:
        ticket, office = town.ticket(1), town.office
        await office.take(ticket)
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(office.running.queue.work_one)
                await office.model.thinking.wait()
                clock.move(seconds=121)
                async with other.write() as tx:
                    taken = await rows.lease(tx, "other", clock.now(), 120, alone=False)
                assert taken is not None, "it is free to take"
                assert (taken.ticket_id, taken.fence, taken.state) == (ticket.id, 2, RunState.WORKING)
                mine = replace(taken, fence=1)
                office.model.gate.set()
        assert (await office.kinds(ticket.id))[-1] == "started", "its reply came too late"
        with pytest.raises(StaleLease):
            async with writing(other, mine, clock):
                raise AssertionError("nobody writes with an old fence")
        await office.running.queue.recover()
        await office.settle()
        kinds = Counter(await office.kinds(ticket.id))
        assert (kinds["started"], kinds["replied"], kinds["asked"]) == (1, 1, 1)


# --- a stop while a call is under way ----------------------------------------------------------------------------------


async def test_a_stop_while_a_slow_server_works_never_says_that_nothing_ran(town: Any, tmp_path: Path) -> None:
    """The server pays once the gate opens: before the stop, after it, or at the same moment."""
    os.mkfifo(tmp_path / "gate")
    seen: Counter[tuple[str, int]] = Counter()

    async def open_gate() -> None:
        await anyio.to_thread.run_sync((tmp_path / "gate").write_text, "go")

    async with town(way="gated", workers=1) as town:
        for number, question in enumerate(await town.asked(12)):
            name, note = question.ticket_id, town.note(question)
            await town.office.answer(question, person(1), Answer("approve"))

            async def under_way(note: str = note) -> bool:
                return bool(await town.sent(note) == 1)

            async def work_out() -> None:
                while await town.office.running.queue.work_one():
                    pass

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(work_out)
                    await town.office.until(under_way)
                    await race(number, partial(town.office.host.stop, ADMIN, name), open_gate)

            async def book_is_written(note: str = note) -> bool:
                return bool(await town.paid(note) == 1)

            await town.office.until(book_is_written)
            await town.settle()
            outcome, paid = await town.true(name, note, may=["may_have_run"])
            assert outcome in ("result", "may_have_run")
            seen[(outcome, paid)] += 1
            questions = [q for q in await town.office.questions(name) if q.state is QuestionState.OPEN]
            if (await town.office.result(name)).stop_reason is StopReason.CANCELLED:
                assert questions == []
    assert seen["may_have_run", 1] >= 1


async def test_a_stop_while_an_older_servers_question_is_open_ends_question_call_and_run(town: Any) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    async with town(way="during") as town:
        office = town.office
        for number in range(ROUNDS):
            ticket = town.ticket(number)
            await office.work(ticket)
            await office.approve(ticket.id, person(1))
            question = await office.open(ticket.id, QuestionKind.INPUT_REQUEST)
            assert not question.resumable
            result, stopped = await race(
                number,
                partial(office.answer, question, office.lead, Answer("accept", content={"sure": True})),
                partial(office.host.stop, ADMIN, ticket.id),
            )
            assert stopped.ok

            async def over(name: str = ticket.id) -> bool:
                await office.settle()
                return "stopped" in await office.kinds(name)

            await office.until(over)
            outcome, _ = await town.true(ticket.id, f"pay-{number:03}", may=["may_have_run"])
            assert outcome in (("result", "cancelled", "may_have_run") if isinstance(result, Taken) else ("cancelled",))
            assert isinstance(result, Taken) or "cancelled" in result.words
            assert (await office.result(ticket.id)).stop_reason is StopReason.CANCELLED
            assert [q for q in await office.questions(ticket.id) if q.state is QuestionState.OPEN] == []
            seen[(type(result).__name__, outcome)] += 1
    assert seen["NotTaken", "cancelled"] >= 1
    assert sum(count for (kind, _), count in seen.items() if kind == "Taken") >= 1


# --- in and out --------------------------------------------------------------------------------------------------------


async def test_a_ticket_that_comes_in_fifty_times_at_once_is_taken_once(town: Any) -> None:
    async with town(hosts=2) as town:
        for number in range(2, 6):
            ticket = town.ticket(number)
            came = await race(number, *(partial(town.offices[n % 2].host.intake, ticket) for n in range(50)))
            assert came.count(True) == 1
            assert came.count(False) == 49
            assert await town.office.kinds(ticket.id) == ["taken"]


async def test_two_outboxes_bring_each_mail_out_once_and_no_card_twice_in_one_version(town: Any) -> None:
    async with town(hosts=2) as town:
        tickets = [town.ticket(number, body="Just to say thanks.") for number in range(ROUNDS)]
        await town.office.work(*tickets)
        for office in town.offices:
            office.desk.items.clear()
        for number, ticket in enumerate(tickets):
            question = await town.office.open(ticket.id, QuestionKind.SIGN_OFF)
            assert isinstance(await town.office.answer(question, person(1), Answer("send")), Taken)
            await race(number, *(office.running.outbox.deliver_due for office in town.offices))
            await town.settle()
        items = [item for office in town.offices for item in office.desk.items]
        mails = Counter(item.ticket_id for item in items if item.kind is OutboxKind.MAIL)
        assert mails == Counter({ticket.id: 1 for ticket in tickets})
        twice = [key for key, count in Counter((item.key, item.version) for item in items).items() if count > 1]
        assert twice == []
        for ticket in tickets:
            assert (await town.office.kinds(ticket.id)).count("delivered") == 1
