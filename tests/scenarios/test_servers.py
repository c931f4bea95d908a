"""Servers that lie, collide, change or die, and many people at once (spec H4, H6, H7, H13, H18, H28)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.types import Action, Actor, Answer, NotTaken, QuestionKind, StopReason, Taken
from models.port import Reply, Request
from models.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

TRACK = "partner.track_parcel"


async def test_a_poisoned_servers_tools_are_off_and_a_call_to_one_is_refused(open_office: Opening, script: Any) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("A colleague will look."))
    async with open_office(turns, variant="poisoned") as office:
        await office.work("T-0010")
        (call,) = (await office.result("T-0010")).calls
        assert (call.outcome.value, "off" in call.note) == ("refused", True)
        offered = [tool.name for request in office.model.requests for tool in request.tools]
        assert TRACK not in offered
        assert "lint" in next(tool.off for tool in await office.host.tools() if tool.name == TRACK)


async def test_two_servers_with_a_tool_of_one_name_are_kept_apart_by_their_prefix(open_office: Opening, script: Any) -> None:
    turns = script.turns(script.call("shop.get_order_status", order_id="O-1302"), script.reply("It is on its way."))
    async with open_office(turns, variant="colliding") as office:
        names = [tool.name for tool in await office.host.tools()]
        assert {"shop.get_order_status", "partner.get_order_status"} <= set(names)
        await office.work("T-0001")
        (call,) = (await office.result("T-0001")).calls
        assert (call.ok, call.server, "order_id" in call.data) == (True, "shop", True)


async def test_a_tool_that_no_rule_names_is_asked_for(open_office: Opening, script: Any) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="fx 60318842"), script.reply("The partner knows it."))
    async with open_office(turns, variant="clean") as office:
        await office.work("T-0010")
        consent = await office.open("T-0010", QuestionKind.CONSENT)
        assert consent.server == "partner"
        assert consent.payload["arguments"] == {"tracking_number": "FX-60318842"}
        await office.approve("T-0010")
        assert await office.outcomes("T-0010") == [(TRACK, "result")]


async def test_a_tool_that_changes_while_its_question_is_open_is_not_called(
    open_office: Opening, script: Any, tmp_path: Path
) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("A colleague will look."))
    async with open_office(turns, variant="clean") as office:
        await office.work("T-0010")
        question = await office.open("T-0010")
    (tmp_path / "state" / "drifted.txt").write_text("it listed its first definition once\n")
    turns = script.turns(script.reply("A colleague will look."))
    async with open_office(turns, variant="drifting", remember="drifted.txt") as office:
        refused = await office.answer(question, office.staff, Answer("approve"))
        assert isinstance(refused, NotTaken)
        assert "definition changed" in refused.words
        await office.settle()
        (call,) = (await office.result("T-0010")).calls
        assert call.outcome.value == "refused"
        assert "pin_mismatch" in call.note
        assert [q.state.value for q in await office.questions("T-0010") if q.id == question.id] == ["superseded"]


async def test_a_read_of_a_server_that_dies_is_tried_once_more_on_its_successor(open_office: Opening, script: Any) -> None:
    turns = script.turns(script.call(TRACK, tracking_number="FX-60318842"), script.reply("Thank you."))
    async with open_office(turns, variant="dying", remember="died.txt") as office:
        await office.work("T-0010")
        await office.approve("T-0010")
        assert await office.outcomes("T-0010") == [(TRACK, "result")]
        health = {one.prefix: one for one in (await office.host.status()).servers}
        assert health["partner"].restarts == 1
        assert health["shop"].restarts == 0


async def test_a_server_killed_while_a_person_thinks_is_back_when_the_answer_comes(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        await office.restart_server("servers.shop")
        await office.approve("T-0004")
        await office.restart_server("servers.shop")
        await office.release("T-0004")
        assert [row["status"] for row in office.refunds()] == ["requested"]


async def test_of_a_hundred_answers_at_once_one_counts(open_office: Opening) -> None:
    async with open_office() as office:
        await office.work("T-0004")
        question = await office.open("T-0004")
        results: list[Any] = []

        async def click(number: int) -> None:
            actor = Actor(f"staff-{number:04}", f"U{number:04}", f"Person {number}", frozenset({"staff"}))
            action: Action = "approve" if number % 2 else "decline"
            results.append(await office.answer(question, actor, Answer(action)))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(100):
                    group.start_soon(click, number)
        assert Counter(type(result) for result in results) == {Taken: 1, NotTaken: 99}
        winner = next(str(r.question.answered_by and r.question.answered_by.name) for r in results if isinstance(r, Taken))
        assert all(winner in r.words for r in results if isinstance(r, NotTaken))
        closed = [n.entry for n in await office.entries("T-0004") if n.entry.kind == "closed"]
        assert len(closed) == 1
        assert await office.verified("T-0004") == ""


async def test_while_a_question_is_open_no_task_of_its_run_exists_and_another_process_goes_on(open_office: Opening) -> None:
    """Two hosts on one state folder, one after the other: nothing of a run is in memory (spec H15)."""
    async with open_office() as office:
        before = _tasks()
        await office.work("T-0004")
        assert _tasks() == before
        question = await office.open("T-0004")
    async with open_office() as office:
        await office.running.queue.recover()
        assert isinstance(await office.answer(question, office.staff, Answer("approve")), Taken)
        before = _tasks()
        await office.settle()
        assert _tasks() == before
        released = await office.open("T-0004", QuestionKind.INPUT_REQUEST)
    async with open_office() as office:
        assert await office.open("T-0004") == released
        await office.release("T-0004")
        assert [row["status"] for row in office.refunds()] == ["requested"]
        assert await office.verified("T-0004") == ""


def _tasks() -> Counter[str]:
    return Counter(task.name or "" for task in anyio.get_running_tasks())


async def test_a_run_is_served_by_its_workers_while_others_wait(open_office: Opening) -> None:
    """The queue and the outbox as the bot runs them: one ticket waits for a person, the other is worked meanwhile."""
    async with open_office() as office, anyio.create_task_group() as group:
        group.start_soon(office.running.queue.serve)
        group.start_soon(office.running.outbox.serve)
        await office.take("T-0004", "T-0025")
        with anyio.fail_after(30):
            await office.until(lambda: _both_asked(office))
        assert (await office.host.stop(office.admin)).words == "Stopped 2 run(s)."
        with anyio.fail_after(30):
            await office.until(lambda: _both_stopped(office))
        group.cancel_scope.cancel()


async def _both_asked(office: Any) -> bool:
    status = await office.host.status()
    return len(status.open_questions) == 2


async def _both_stopped(office: Any) -> bool:
    return all([(await office.result(one)).stop_reason is StopReason.CANCELLED for one in ("T-0004", "T-0025")])


async def test_stopping_while_the_model_thinks_ends_the_run_at_once(open_office: Opening, script: Any) -> None:
    begun = anyio.Event()

    class Thinking(ScriptedModel):
        async def reply(self, request: Request) -> Reply:
            begun.set()
            await anyio.sleep_forever()
            raise AssertionError("cancelled before")

    async with open_office(make_model=Thinking) as office:
        await office.take("T-0004")
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            with anyio.fail_after(30):
                await begun.wait()
                await office.host.stop(office.admin)
        assert (await office.result("T-0004")).stop_reason is StopReason.CANCELLED


async def test_a_stop_while_an_effect_is_under_way_finds_out_what_became_of_it(open_office: Opening, script: Any) -> None:
    """The shop's process is held while the refund is made, the run is stopped, the shop goes on."""
    async with open_office() as office:
        await office.work("T-0004")
        shop = office.server_process("servers.shop")
        shop.suspend()
        await office.answer(await office.open("T-0004"), office.staff, Answer("approve"))
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            with anyio.fail_after(30):
                await office.until(lambda: _intended(office))
                await office.host.stop(office.admin)
                shop.resume()
        (call,) = [c for c in (await office.result("T-0004")).calls if c.name == "shop.issue_refund"]
        assert call.outcome.value in ("cancelled", "may_have_run")
        assert [row["status"] for row in office.refunds()] in ([], ["held"])
        assert not [q for q in await office.questions("T-0004") if q.kind is QuestionKind.INPUT_REQUEST]
        assert (await office.result("T-0004")).stop_reason in (StopReason.CANCELLED, StopReason.NEEDS_PERSON)


@pytest.mark.parametrize("ended", ["killed while it works", "killed and started again"])
async def test_a_server_that_dies_in_the_middle_of_an_effect_is_asked_what_became_of_it(open_office: Opening, ended: str) -> None:
    """Found by reading back, or sent again under the same key: one refund, and the model is told what is true."""
    async with open_office() as office:
        await office.work("T-0004")
        shop = office.server_process("servers.shop")
        shop.suspend()
        await office.answer(await office.open("T-0004"), office.staff, Answer("approve"))
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            await office.until(lambda: _intended(office))
            if ended == "killed while it works":
                shop.resume()
            shop.kill()
        await office.release("T-0004")
        assert [row["status"] for row in office.refunds()] == ["requested"]
        assert [o for name, o in await office.outcomes("T-0004") if name == "shop.issue_refund"] == ["result"]
        assert await office.verified("T-0004") == ""


async def _intended(office: Any) -> bool:
    kinds: list[str] = await office.kinds("T-0004")
    return kinds.count("intended") == 2


async def test_a_run_stopped_at_any_moment_ends_in_order_and_leaves_a_chain_that_holds(open_office: Opening, script: Any) -> None:
    """The moments are turns of the event loop: before the first step, in the middle of a statement, during a call."""

    def look_twice(request: Request) -> Reply:
        looks = script.said(request).count("shop.find_orders:")
        again: Reply = script.call("shop.find_orders", query=f"word {looks}")
        thanks: Reply = script.reply("Thank you for writing.")
        return again if looks < 2 else thanks

    async with open_office(look_twice) as office:
        for turns in range(0, 400, 20):
            await office.take("T-0005")
            async with anyio.create_task_group() as group:
                group.start_soon(office.settle)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                stopped = await office.host.stop(office.admin)
            reason = (await office.result("T-0005")).stop_reason
            assert reason is (StopReason.CANCELLED if stopped.ok else StopReason.ANSWERED), turns
            assert (await office.host.card("ticket:T-0005")).run.state.value == "done", turns
        assert await office.verified("T-0005") == ""
        intended = [n.entry.call_id for n in await office.entries("T-0005") if n.entry.kind == "intended"]
        ended = [n.entry.call_id for n in await office.entries("T-0005") if n.entry.kind == "ended"]
        assert set(intended) <= set(ended)
        assert len(ended) == len(set(ended)), "a call has one outcome"


@pytest.mark.parametrize(("since", "outcome"), [("stopped", "cancelled"), ("frozen", "refused")])
async def test_a_read_under_way_is_not_sent_again_once_it_is_stopped_or_its_server_frozen(
    open_office: Opening, script: Any, since: str, outcome: str
) -> None:
    """The worker is lost while the shop is held, as in a crash; what was decided before the next one goes on counts (spec H8)."""
    turns = script.turns(script.call("shop.find_orders"), script.reply("A colleague will look."))
    async with open_office(turns) as office:
        shop = office.server_process("servers.shop")
        shop.suspend()
        await office.take("T-0004")
        async with anyio.create_task_group() as group:
            group.start_soon(office.settle)
            await office.until(lambda: _begun(office))
            group.cancel_scope.cancel()
        shop.resume()
        said = await (office.host.stop(office.admin) if since == "stopped" else office.host.freeze("shop", office.admin))
        assert said.ok
        await office.running.queue.recover()
        await office.settle()
        assert await office.outcomes("T-0004") == [("shop.find_orders", outcome)]


async def _begun(office: Any) -> bool:
    kinds: list[str] = await office.kinds("T-0004")
    return "intended" in kinds
