"""Waiting for people holds nothing: no task, coroutine, open call or descriptor of a run whose question is open (spec H15).

Everything runs as `deskhand up` runs it: workers, timer and outbox, each in its task. A server of the older protocol is the one
exception, and what it holds is counted too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import CoroutineType
from typing import Any

import anyio
import psutil
import pytest

from host.config import HostConfig, ServerConfig, ToolConfig
from host.open_calls import OpenCalls
from host.types import Answer, QuestionKind, StopReason, Taken, Ticket
from models.port import Reply, Request

pytestmark = pytest.mark.anyio

KILL = Path(__file__).parent / "kill"
#: Where a run's own coroutines come from; the queue's workers and timer stand in host/queue.py and are always there.
OF_A_RUN = ("host/loop.py", "host/dispatch.py", "host/consent.py", "host/checkpoint.py", "host/open_calls.py", "host/midcall.py")


@dataclass(frozen=True)
class Alive:
    """What this process holds, with the database's own files left out: its pool opens and closes them as it likes."""

    tasks: tuple[str, ...]
    open_calls: int
    coroutines: tuple[str, ...]
    descriptors: int
    children: int


def alive() -> Alive:
    gc.collect()
    things = gc.get_objects()
    coroutines = [thing for thing in things if isinstance(thing, CoroutineType) and thing.cr_frame is not None]
    ours = [one.__qualname__ for one in coroutines if one.cr_code.co_filename.endswith(OF_A_RUN)]
    files = [link for path in Path("/proc/self/fd").iterdir() if (link := _target(path)) and "deskhand.db" not in link]
    return Alive(
        tasks=tuple(sorted(str(getattr(task.get_coro(), "__qualname__", "?")) for task in asyncio.all_tasks())),
        open_calls=sum(len(thing) for thing in things if isinstance(thing, OpenCalls)),
        coroutines=tuple(sorted(ours)),
        descriptors=len(files),
        children=len(psutil.Process().children(recursive=True)),
    )


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:  # the one that listed them
        return ""


@asynccontextmanager
async def served(opening: Any) -> AsyncIterator[Any]:
    """An office whose queue and outbox are served in tasks of their own."""
    async with opening as office, anyio.create_task_group() as group:
        group.start_soon(office.running.queue.serve)
        group.start_soon(office.running.outbox.serve)
        yield office
        group.cancel_scope.cancel()


async def at_rest(office: Any) -> None:
    """Until no run is worked or ready, and nothing is due to go out."""

    async def nothing_moves() -> bool:
        return await anyio.to_thread.run_sync(_busy, office.state / "deskhand.db") == 0

    await office.until(nothing_moves)


def _busy(path: Path) -> int:
    with sqlite3.connect(path) as database:
        (runs,) = database.execute("select count(*) from runs where state in ('ready', 'working')").fetchone()
        (items,) = database.execute("select count(*) from outbox where state in ('due', 'trying')").fetchone()
    return int(runs + items)


async def steady(office: Any) -> Alive:
    """What is held once it stays the same: what ended a moment ago may take a few turns of the loop to be gone."""
    looks: list[Alive] = []

    async def same() -> bool:
        looks.append(alive())
        return len(looks) >= 4 and len(set(looks[-4:])) == 1

    await office.until(same)
    return looks[-1]


async def until_alive(office: Any, before: Alive) -> None:
    """What ended a moment ago may take a turn of the loop to be gone."""

    async def same() -> bool:
        return alive() == before

    try:
        await office.until(same)
    except TimeoutError:
        assert alive() == before  # for its words


async def answered(office: Any, ticket_id: str, kind: QuestionKind) -> None:
    question = await office.open(ticket_id, kind)
    match kind:
        case QuestionKind.CONSENT:
            result = await office.answer(question, office.staff, Answer("approve"))
        case QuestionKind.INPUT_REQUEST:
            (field,) = question.payload["schema"]["properties"]
            result = await office.answer(question, office.lead, Answer("accept", content={field: True}))
        case _:
            result = await office.answer(question, office.staff, Answer("send"))
    assert isinstance(result, Taken), result
    await at_rest(office)


async def started(office: Any, *tickets: Any) -> None:
    await office.take(*tickets)
    await at_rest(office)


UP_TO = {
    QuestionKind.CONSENT: (),
    QuestionKind.INPUT_REQUEST: (QuestionKind.CONSENT,),
    QuestionKind.SIGN_OFF: (QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST),
}


def thanks_or(script: Callable[[Request], Reply], thanks: Reply) -> Callable[[Request], Reply]:
    """A ticket that warms everything up is thanked; every other is worked by the script."""

    def model(request: Request) -> Reply:
        return thanks if any("Just saying thank you" in m.content for m in request.messages) else script(request)

    return model


@pytest.fixture
def chatter(script: Any) -> Any:
    """`chatter(office)`: one ticket from start to end, so that whatever is opened once is open."""

    async def worked(office: Any) -> Alive:
        office_ticket = replace(office.tickets()[9], id="T-9000", intake_key="T-9000", body="Just saying thank you!")
        await started(office, office_ticket)
        await answered(office, "T-9000", QuestionKind.SIGN_OFF)
        return await steady(office)

    return worked


@pytest.mark.parametrize("kind", list(UP_TO))
async def test_while_a_question_is_open_nothing_of_its_run_exists_and_another_host_goes_on(
    open_office: Any, script: Any, chatter: Any, kind: QuestionKind
) -> None:
    model = thanks_or(script.refund, script.reply("Thank you for your kind words."))
    async with served(open_office(model)) as office:
        before = await chatter(office)
        assert (before.open_calls, before.coroutines) == (0, ())
        await started(office, "T-0004")
        for earlier in UP_TO[kind]:
            await answered(office, "T-0004", earlier)
        await office.open("T-0004", kind)
        await until_alive(office, before)
    async with served(open_office(model)) as office:
        for waiting in list(UP_TO)[len(UP_TO[kind]) :]:
            await answered(office, "T-0004", waiting)
        assert [row["status"] for row in office.refunds()] == ["requested"]
        assert (await office.kinds("T-0004")).count("started") == 1
        assert (await office.kinds("T-0004"))[-1] == "delivered"


@pytest.mark.parametrize("kind", list(UP_TO))
async def test_while_a_question_is_open_its_process_may_go_and_another_process_goes_on(
    open_office: Any, script: Any, clock: Any, kind: QuestionKind
) -> None:
    async with served(open_office(script.refund)) as office:
        await started(office, "T-0004")
        for earlier in UP_TO[kind]:
            await answered(office, "T-0004", earlier)
        question, state = await office.open("T-0004", kind), office.state
    behind = (clock.now() - datetime.now(UTC)).total_seconds()
    await anyio.Path(state / "clock.txt").write_text(str(behind))
    order = json.dumps({"scene": "refund", "state": str(state), "answer": True}).encode()
    with anyio.fail_after(60):
        done = await anyio.run_process([sys.executable, str(KILL / "driver.py")], input=order)
    assert json.loads(done.stdout.splitlines()[-1]) == {"code": 0}, done.stderr.decode()
    async with open_office(script.refund) as office:
        assert [row["status"] for row in office.refunds()] == ["requested"]
        assert (await office.result("T-0004")).stop_reason is StopReason.ANSWERED
        assert [q.state.value for q in await office.questions("T-0004")] == ["answered"] * 3
        assert question.id in {q.id for q in await office.questions("T-0004")}
        assert await office.verified("T-0004") == ""


def parcels(office: Any, count: int) -> list[Ticket]:
    like = next(one for one in office.tickets() if one.id == "T-0010")
    numbers = [f"FX-{60318000 + n}" for n in range(count)]
    return [
        replace(like, id=f"T-7{n:03}", intake_key=f"T-7{n:03}", subject="My parcel", body=f"Where is {number}?")
        for n, number in enumerate(numbers)
    ]


async def test_thirty_tickets_that_wait_hold_no_more_than_none(open_office: Any, script: Any, chatter: Any) -> None:
    """Ten for consent, ten for a sign-off after it was declined, ten for one without a call."""

    def model(request: Request) -> Any:
        said = script.said(request)
        number = next((w.strip("?") for m in request.messages for w in m.content.split() if w.startswith("FX-60318")), "")
        if number and "track_parcel:" not in said and int(number[-3:]) < 20:
            return script.call("partner.track_parcel", tracking_number=number)
        return script.reply("A colleague will look into it.")

    thanked = thanks_or(model, script.reply("Thank you for your kind words."))
    async with served(open_office(thanked, variant="clean")) as office:
        before = await chatter(office)
        tickets = parcels(office, 30)
        await started(office, *tickets)
        for ticket in tickets[:10]:
            question = await office.open(ticket.id, QuestionKind.CONSENT)
            await office.answer(question, office.staff, office.declined("not now"))
        await at_rest(office)
        kinds = [(await office.open(ticket.id)).kind for ticket in tickets]
        assert (kinds.count(QuestionKind.CONSENT), kinds.count(QuestionKind.SIGN_OFF)) == (10, 20)
        await until_alive(office, before)


# --- servers of the older protocol: the one exception -------------------------------------------------------------------


def with_a_bank(state: Path) -> Callable[[HostConfig], HostConfig]:
    """One worker, and a server that asks during its call."""

    def change(config: HostConfig) -> HostConfig:
        server = ServerConfig(
            command=(sys.executable, str(KILL / "bank.py")),
            env={"BANK_WAY": "during", "BANK_BOOK": str(state / "book.txt")},
            trusted=True,
            tools={"pay": ToolConfig(effect="effect"), "payments": ToolConfig(effect="read")},
        )
        limits = config.limits.model_copy(update={"workers": 1})
        return config.model_copy(update={"servers": {**config.servers, "bank": server}, "limits": limits})

    return change


async def test_a_server_that_asks_during_its_call_holds_that_call_and_no_worker(
    open_office: Any, script: Any, chatter: Any, tmp_path: Path
) -> None:
    def model(request: Request) -> Reply:
        words = "\n".join(m.content for m in request.messages)
        if "the courier" in words and "bank.pay:" not in script.said(request):
            paid: Reply = script.call("bank.pay", note="the courier")
            return paid
        thanks: Reply = script.reply("Thank you.")
        return thanks

    thanked = thanks_or(model, script.reply("Thank you for your kind words."))
    async with served(open_office(thanked, change=with_a_bank(tmp_path / "state"))) as office:
        before = await chatter(office)
        like = parcels(office, 2)
        await started(office, replace(like[0], body="Please pay the courier."))
        await answered(office, "T-7000", QuestionKind.CONSENT)
        question = await office.open("T-7000", QuestionKind.INPUT_REQUEST)
        held = await steady(office)
        assert held.open_calls == 1
        assert not [name for name in held.coroutines if name.startswith("Loop.")], "the run itself is over until it is answered"
        assert (held.descriptors, held.children) == (before.descriptors, before.children)
        await started(office, replace(like[1], body="Just saying thank you!"))
        await answered(office, "T-7001", QuestionKind.SIGN_OFF)
        assert (await office.result("T-7001")).stop_reason is StopReason.ANSWERED
        await until_alive(office, held)
        assert (await office.open("T-7000", QuestionKind.INPUT_REQUEST)).id == question.id
        await answered(office, "T-7000", QuestionKind.INPUT_REQUEST)
        await until_alive(office, before)
        assert await office.outcomes("T-7000") == [("bank.pay", "result")]
