"""Money, over real stdio: a quote is used once, a key gives the first refund, a held refund outlives its process."""

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import ElicitResult, InputRequiredResult

pytestmark = pytest.mark.anyio

YES = ElicitResult(action="accept", content={"release": True})
NO = ElicitResult(action="accept", content={"release": False})


async def quoted(call, order: str, ticket: str, **more: str) -> dict[str, str]:
    quote = await call("quote_refund", {"order_id": order, **more}, ticket)
    return {"quote_id": quote.structured_content["quote_id"], "idempotency_key": f"run-{order}"}


def answers(question: InputRequiredResult, answer: ElicitResult) -> dict[str, object]:
    assert question.input_requests is not None
    return {
        "input_responses": dict.fromkeys(question.input_requests, answer),
        "request_state": question.request_state,
    }


async def refunds_of(call, order: str, ticket: str) -> list[tuple[str, float, str]]:
    status = (await call("get_order_status", {"order_id": order}, ticket)).structured_content
    return [(row["refund_id"], row["amount"], row["status"]) for row in status["refunds"]]


async def test_a_small_refund_is_requested_once_however_often_the_call_is_sent(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2034", "T-0012")
        first = await call("issue_refund", wanted, "T-0012")
        again = await call("issue_refund", wanted, "T-0012")
        other_key = await call("issue_refund", wanted | {"idempotency_key": "another"}, "T-0012")
        no_key = await call("issue_refund", {"quote_id": wanted["quote_id"]}, "T-0012")
        rows = await refunds_of(call, "O-2034", "T-0012")
    assert first.structured_content == again.structured_content
    assert first.structured_content | {"quote_id": ""} == {
        "refund_id": "R-0111",
        "order_id": "O-2034",
        "quote_id": "",
        "amount": 24.95,
        "currency": "EUR",
        "status": "requested",
    }
    assert other_key.is_error
    assert "was used for refund R-0111" in other_key.content[0].text
    assert no_key.is_error
    assert rows == [("R-0111", 24.95, "requested")]


async def test_an_order_shows_each_refund_s_idempotency_key(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2034", "T-0012")
        await call("issue_refund", wanted, "T-0012")
        status = (await call("get_order_status", {"order_id": "O-2034"}, "T-0012")).structured_content
    assert [row["idempotency_key"] for row in status["refunds"]] == [wanted["idempotency_key"]]


async def test_two_quotes_of_one_order_do_not_refund_it_twice(connected, shop) -> None:
    async with connected(shop()) as call:
        first = await quoted(call, "O-2077", "T-0047")
        second = await quoted(call, "O-2077", "T-0047", sku="KG-1040")
        await call("issue_refund", first, "T-0047")
        late = await call("issue_refund", second | {"idempotency_key": "late"}, "T-0047")
        anew = await call("quote_refund", {"order_id": "O-2077"}, "T-0047")
    assert late.is_error
    assert "get_order_status" in late.content[0].text
    assert "nothing left to refund" in anew.content[0].text


async def test_a_line_refunded_first_is_deducted_from_the_whole_order_afterwards(connected, shop) -> None:
    async with connected(shop()) as call:
        await call("issue_refund", await quoted(call, "O-2077", "T-0047", sku="KG-1040"), "T-0047")
        rest = (await call("quote_refund", {"order_id": "O-2077"}, "T-0047")).structured_content
    assert rest["amount"] == 51.5
    assert "46.00 EUR already refunded" in rest["explanation"]


async def test_another_customer_s_quote_does_not_exist_here(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2034", "T-0012")
        strangers = await call("issue_refund", wanted, "T-0004")
        invented = await call("issue_refund", {"quote_id": "Q-0000000000"}, "T-0004")
    assert strangers.content[0].text.replace(wanted["quote_id"], "Q-0000000000") == invented.content[0].text
    assert "use quote_refund" in invented.content[0].text


async def test_a_large_refund_is_held_and_the_question_names_it(connected, shop) -> None:
    async with connected(shop()) as call:
        question = await call("issue_refund", await quoted(call, "O-1145", "T-0004"), "T-0004")
        rows = await refunds_of(call, "O-1145", "T-0004")
    assert isinstance(question, InputRequiredResult)
    (request,) = question.input_requests.values()
    assert all(part in request.params.message for part in ("R-0111", "O-1145", "343.49 EUR"))
    assert list(request.params.requested_schema["properties"]) == ["release"]
    assert request.params.requested_schema["properties"]["release"]["type"] == "boolean"
    assert rows == [("R-0111", 343.49, "held")]


@pytest.mark.parametrize("answer", [ElicitResult(action="decline"), ElicitResult(action="cancel"), NO])
async def test_without_a_release_the_api_still_holds_the_refund(connected, shop, answer: ElicitResult) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-1864", "T-0048")
        question = await call("issue_refund", wanted, "T-0048")
        refused = await call("issue_refund", wanted, "T-0048", **answers(question, answer))
        anew = await call("issue_refund", wanted, "T-0048")
        rows = await refunds_of(call, "O-1864", "T-0048")
    assert refused.is_error
    assert "the API still holds R-0111" in refused.content[0].text
    assert isinstance(anew, InputRequiredResult)
    assert rows == [("R-0111", 161.96, "held")]


async def test_a_question_survives_the_death_of_the_process_that_asked(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2289", "T-0025")
        question = await call("issue_refund", wanted, "T-0025", acting="staff-0007")
    kept = question.model_dump_json(by_alias=True, exclude_none=True)
    async with connected(shop()) as call:
        pending = InputRequiredResult.model_validate_json(kept)
        released = await call("issue_refund", wanted, "T-0025", acting="lead-0002", **answers(pending, YES))
        repeated = await call("issue_refund", wanted, "T-0025", **answers(pending, YES))
        rows = await refunds_of(call, "O-2289", "T-0025")
    assert released.structured_content["status"] == "requested"
    assert repeated.structured_content == released.structured_content
    assert rows == [("R-0111", 180.0, "requested")]


async def test_without_a_key_the_call_finds_its_held_refund_again(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2289", "T-0025")
        del wanted["idempotency_key"]
        question = await call("issue_refund", wanted, "T-0025")
        released = await call("issue_refund", wanted, "T-0025", **answers(question, YES))
        rows = await refunds_of(call, "O-2289", "T-0025")
    assert released.structured_content["status"] == "requested"
    assert len(rows) == 1


async def test_an_answer_to_other_arguments_or_a_forged_state_is_refused(connected, shop) -> None:
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-2289", "T-0025")
        question = await call("issue_refund", wanted, "T-0025")
        other = wanted | {"idempotency_key": "another"}
        with pytest.raises(MCPError):
            await call("issue_refund", other, "T-0025", **answers(question, YES))
        with pytest.raises(MCPError):
            await call("issue_refund", wanted, "T-0025", **answers(question, YES) | {"request_state": "v1.AAAA"})
        rows = await refunds_of(call, "O-2289", "T-0025")
    assert rows == [("R-0111", 180.0, "held")]


async def test_a_2025_client_is_asked_during_the_call(shop) -> None:
    seen: list[str] = []

    async def lead(_ctx, params) -> ElicitResult:
        seen.append(params.message)
        return YES

    meta = {"shop.example/ticket_id": "T-0025"}
    with anyio.fail_after(60):
        async with Client(shop(), mode="legacy", elicitation_callback=lead, read_timeout_seconds=20) as client:
            quote = await client.call_tool("quote_refund", {"order_id": "O-2289"}, meta=meta)
            wanted = {"quote_id": quote.structured_content["quote_id"]}
            result = await client.call_tool("issue_refund", wanted, meta=meta)
    assert result.structured_content["status"] == "requested"
    assert len(seen) == 1


async def test_two_processes_on_one_database_start_together_and_refund_once(connected, shop, over_stdio, database) -> None:
    results: list[object] = []
    async with connected(shop()) as call:
        wanted = await quoted(call, "O-1416", "T-0020")

        async def send(call) -> None:
            reply = await call("issue_refund", wanted, "T-0020")
            results.append(reply.structured_content)

        async with connected(shop()) as other, anyio.create_task_group() as group:
            for target in (call, other) * 3:
                group.start_soon(send, target)
        rows = await refunds_of(call, "O-1416", "T-0020")
    assert len(results) == 6
    assert all(result == results[0] for result in results)
    assert rows == [("R-0111", 65.0, "requested")]


async def test_several_processes_seed_an_empty_database_exactly_once(connected, shop) -> None:
    counts: list[int] = []

    async def look() -> None:
        async with connected(shop()) as call:
            found = await call("find_orders", {}, "T-0009")
            counts.append(len(found.structured_content["orders"]))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(look)
    assert len(set(counts)) == 1


async def test_over_http_too_the_next_process_takes_the_answer(connected, over_http, database) -> None:
    arguments = ("servers.shop", "mcp", "--http", "--database", str(database))
    async with over_http(*arguments) as url, connected(f"{url}/mcp") as call:
        wanted = await quoted(call, "O-1864", "T-0048")
        question = await call("issue_refund", wanted, "T-0048")
    async with over_http(*arguments) as url, connected(f"{url}/mcp") as call:
        released = await call("issue_refund", wanted, "T-0048", **answers(question, YES))
        rows = await refunds_of(call, "O-1864", "T-0048")
    assert released.structured_content["status"] == "requested"
    assert rows == [("R-0111", 161.96, "requested")]
