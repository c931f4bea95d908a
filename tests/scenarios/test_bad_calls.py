"""What a model may write, and what the checkpoint says to it (spec H6, H8, H9, H11, H14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from host.types import StopReason
from models.errors import ModelError
from models.port import Call, Reply, Request

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]

DEEP: Any = "x"
for _ in range(5000):
    DEEP = [DEEP]

LOOK_UP = "shop.get_order_status"


def _bad(name: str, arguments: Any) -> Reply:
    return Reply(raw=f"<{name}>", calls=(Call(name, arguments),))


CASES: tuple[tuple[str, Any, str, str], ...] = (
    ("shop.refund_everything", {}, "unknown_tool", "The tools are: shop.find_orders"),
    ("get_order_status", {"order_id": "O-1145"}, "unknown_tool", "shop.get_order_status"),
    (LOOK_UP, {"order_id": "O-9999"}, "refused", "O-9999"),
    (LOOK_UP, {"order_id": "O-2289"}, "refused", "O-2289"),
    (LOOK_UP, {}, "refused", "order_id is missing"),
    (LOOK_UP, {"order_id": "O-1145", "customer_id": "C-0125"}, "refused", "customer_id"),
    (LOOK_UP, {"order_id": ["O-1145"]}, "refused", "not"),
    (LOOK_UP, None, "unreadable", "not a JSON object"),
    (LOOK_UP, ["O-1145"], "unreadable", "not a JSON object"),
    (LOOK_UP, "O-1145", "unreadable", "not a JSON object"),
    (LOOK_UP, {"order_id": "O" * 1_000_000}, "unreadable", "too long"),
    (LOOK_UP, {"order_id": float("nan")}, "unreadable", "no JSON value"),
    (LOOK_UP, {"order_id": "\ud800"}, "unreadable", "no JSON value"),
    (LOOK_UP, {"order_id": DEEP}, "unreadable", "nested"),
    ("shop.\ud800", {}, "unknown_tool", "there is no tool"),
    ("shop.issue_refund", {"quote_id": "Q-0123456789"}, "refused", "no quote_id is known in this ticket"),
)


async def test_a_call_that_cannot_be_made_goes_back_in_words_and_nothing_reaches_the_shop(
    open_office: Opening, script: Any
) -> None:
    turns = [turn for name, arguments, _, _ in CASES for turn in (_bad(name, arguments), script.reply("Thank you."))]
    async with open_office(script.turns(*turns)) as office:
        for number, (name, _, outcome, words) in enumerate(CASES, 1):
            case = f"case {number}, {name!r}"
            await office.work("T-0004")
            calls = (await office.result("T-0004")).calls
            assert len(calls) == number, case
            assert calls[-1].outcome.value == outcome, case
            assert words in calls[-1].note, case
            assert words in office.told(), case
            assert len(office.model.requests) == 2 * number, case
        assert office.refunds() == []
        assert "intended" not in await office.kinds("T-0004")
        assert await office.verified("T-0004") == ""


async def test_a_strangers_order_that_the_ticket_itself_names_is_refused_by_the_shop_and_never_quoted(
    open_office: Opening, script: Any
) -> None:
    """T-0023 asks for a neighbour's order: the number is grounded, and the shop answers only for the ticket's customer."""
    turns = script.turns(script.call(LOOK_UP, order_id="O-1531"), script.reply("I can't give information on that order."))
    async with open_office(turns) as office:
        await office.work("T-0023")
        (call,) = (await office.result("T-0023")).calls
        assert call.outcome.value == "tool_error"
        assert "Mottram" not in office.told()


async def test_a_bare_number_reads_as_the_order_it_means(open_office: Opening, script: Any) -> None:
    turns = script.turns(script.call(LOOK_UP, order_id="1145"), script.reply("Your order was delivered."))
    async with open_office(turns) as office:
        await office.work("T-0004")
        (call,) = (await office.result("T-0004")).calls
        assert (call.ok, call.arguments) == (True, {"order_id": "O-1145"})


async def test_calls_of_one_reply_run_in_order_and_a_sibling_never_runs_again_after_a_pause(
    open_office: Opening, script: Any
) -> None:
    def second(request: Request) -> Reply:
        issue = script.refund(request)
        both: Reply = script.batch(script.call(LOOK_UP, order_id="O-1145"), issue, script.call("shop.find_orders"))
        return both

    async with open_office(script.turns(script.refund, second, script.refund)) as office:
        await office.work("T-0004")
        assert await office.outcomes("T-0004") == [("shop.quote_refund", "result"), (LOOK_UP, "result")]
        await office.approve("T-0004")
        await office.release("T-0004")
        names = [name for name, _ in await office.outcomes("T-0004")]
        assert names == ["shop.quote_refund", LOOK_UP, "shop.issue_refund", "shop.find_orders"]
        kinds = [n.entry.tool for n in await office.entries("T-0004") if n.entry.kind == "intended"]
        assert kinds == names, "each was sent once"
        assert len(office.model.requests) == 3, "the model is asked again only when every call has its outcome"
        assert office.told().count(": result [c") == 4


async def test_the_same_call_a_third_time_is_refused_however_it_is_spelt(open_office: Opening, script: Any) -> None:
    turns = script.turns(
        script.call(LOOK_UP, order_id="O-1302"),
        script.call(LOOK_UP, order_id="o1302"),
        script.call(LOOK_UP, order_id="o-1302"),
        script.reply("Your order is on its way."),
    )
    async with open_office(turns) as office:
        await office.work("T-0001")
        assert [outcome for _, outcome in await office.outcomes("T-0001")] == ["result", "result", "refused"]
        assert [offer.name for offer in office.model.requests[3].offers] == ["desk.reply"]
        assert (await office.result("T-0001")).stop_reason is StopReason.REPEATED_CALL


async def test_a_declined_call_asked_again_is_not_put_to_people_again(open_office: Opening, script: Any) -> None:
    def again(request: Request) -> Reply:
        quote = script.said(request).split('"quote_id":"')[1][:12]
        once_more: Reply = script.call("shop.issue_refund", quote_id=quote.lower())
        return once_more

    async with open_office(script.turns(script.refund, script.refund, again, script.reply("Not done."))) as office:
        from_staff = office.staff
        await office.work("T-0004")
        question = await office.open("T-0004")
        await office.answer(question, from_staff, office.declined("no"))
        await office.settle()
        assert [o for _, o in await office.outcomes("T-0004")] == ["result", "declined", "refused"]
        assert [q.kind.value for q in await office.questions("T-0004")].count("consent") == 1


async def test_of_a_batch_that_passes_the_limit_nothing_runs(open_rounds: Opening, script: Any) -> None:
    nine = script.batch(*[script.call("rounds.plain", amount=n) for n in range(9)])
    async with open_rounds(script=script.turns(nine, script.reply("I could not find it."))) as office:
        await office.work("T-0004")
        assert [outcome for _, outcome in await office.outcomes("T-0004")] == ["refused"] * 9
        assert "intended" not in await office.kinds("T-0004")
        assert office.wire() == []


async def test_after_four_model_calls_a_run_ends_and_the_last_one_may_only_reply(open_rounds: Opening, script: Any) -> None:
    looks = [script.call("rounds.plain", amount=number) for number in range(5)]
    async with open_rounds(script=script.turns(*looks)) as office:
        await office.work("T-0001")
        assert len(office.model.requests) == 4
        assert [offer.name for offer in office.model.requests[3].offers] == ["desk.reply"]
        assert [outcome for _, outcome in await office.outcomes("T-0001")] == ["result", "result", "result", "refused"]
        assert (await office.result("T-0001")).stop_reason is StopReason.MAX_ITERATIONS


async def test_a_reply_or_arguments_that_cannot_be_read_twice_go_to_a_person(open_rounds: Opening, script: Any) -> None:
    bad = Reply(raw='{"name": "x"', unreadable="the call is not closed")
    for number, reply in enumerate((bad, _bad("rounds.plain", None)), 1):
        async with open_rounds(script=script.turns(reply)) as office:
            ticket = await office.tries(9000 + number, "plain")
            assert len(office.model.requests) == 2
            assert "could not be read" in office.told()
            assert (await office.result(ticket)).stop_reason is StopReason.NEEDS_PERSON


async def test_words_without_a_call_are_a_draft(open_rounds: Opening, script: Any) -> None:
    words = Reply(raw="Thank you for your kind words.", text="Thank you for your kind words.")
    async with open_rounds(script=script.turns(words)) as office:
        await office.work("T-0005")
        assert (await office.result("T-0005")).draft == "Thank you for your kind words."


@pytest.mark.parametrize("error", [ModelError("the engine could not be started"), RuntimeError("a fault of ours")])
async def test_a_model_that_fails_ends_its_ticket_in_words_and_the_queue_goes_on(
    open_rounds: Opening, script: Any, error: Exception
) -> None:
    def fails(request: Request) -> Reply:
        if "Mixer dead" in str(request.messages):
            raise error
        thanks: Reply = script.reply("Thank you for your kind words.")
        return thanks

    async with open_rounds(script=fails) as office:
        await office.work("T-0004", "T-0005")
        assert (await office.result("T-0004")).stop_reason is StopReason.FAILED
        assert (await office.result("T-0005")).stop_reason is StopReason.ANSWERED
        line = (await office.host.card("ticket:T-0004")).line
        assert line.startswith("Needs a person: ")
        assert await office.verified("T-0004") == ""


async def test_the_log_has_one_line_a_call_and_nothing_that_anybody_wrote(
    open_office: Opening, script: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Keys, never values; a name or key of the model's own making is its text (spec H16)."""
    caplog.set_level("DEBUG")
    turns = script.turns(
        _bad("shop.SECRETNAME", {"SECRETKEY": "SECRETVALUE"}),
        _bad(LOOK_UP, {"order_id": "O-1145", "SECRETKEY": "SECRETVALUE"}),
        script.refund,
        script.reply("SECRETREPLY, thank you."),
    )
    async with open_office(turns) as office:
        await office.work("T-0004")
        lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("tool_call ")]
    assert len(lines) == 4
    assert "name=shop.quote_refund arg_keys=[order_id] ok=True" in lines[2]
    for hidden in ("SECRET", "O-1145", "hot dust", "Tom Ashworth", "343.49", "Q-"):
        assert hidden not in caplog.text, hidden
