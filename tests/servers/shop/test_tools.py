"""The five tools over real stdio: what they answer, and for whom."""

import pytest
from mcp import Client

from servers.shop.server import HOUR_MS

pytestmark = pytest.mark.anyio


async def test_the_catalogue_has_five_tools_with_output_schemas_and_no_example_that_could_be_an_id(shop) -> None:
    async with Client(shop(), read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        tools = {tool.name: tool for tool in listed.tools}
        resources = await client.list_resources()
        policy = await client.read_resource("shop://policies/refund")
    assert set(tools) == {"find_orders", "get_order_status", "check_stock", "quote_refund", "issue_refund"}
    assert all(tool.output_schema for tool in tools.values())
    assert tools["issue_refund"].input_schema["required"] == ["quote_id"]
    assert set(tools["issue_refund"].input_schema["properties"]) == {"quote_id", "idempotency_key"}
    assert set(tools["quote_refund"].input_schema["properties"]) == {"order_id", "sku", "reason"}
    text = "".join(tool.model_dump_json() for tool in tools.values())
    assert not any(shape in text for shape in ("O-1", "KG-1", "FX-", "Q-0", "R-0"))
    assert listed.ttl_ms == resources.ttl_ms == policy.ttl_ms == HOUR_MS
    marks = {str(row.uri).rsplit("/", 1)[1]: row.annotations for row in resources.resources}
    assert {name: mark.priority for name, mark in marks.items()} == {
        "refund": 1.0,
        "returns": 0.5,
        "shipping": 0.5,
        "stock": 0.5,
        "escalation": 0.5,
        "data-handling": 0.5,
    }
    assert all(mark.audience == ["assistant"] for mark in marks.values())


async def test_a_customer_s_orders_are_found_by_typos_words_and_not_at_all(connected, shop) -> None:
    async with connected(shop()) as call:
        typo = await call("find_orders", {"query": "o7144"}, "T-0009")
        words = await call("find_orders", {"query": "raised bed"}, "T-0003")
        nothing = await call("find_orders", {"query": "zeppelin"}, "T-0003")
        everything = await call("find_orders", {}, "T-0009")
    assert [row["order_id"] for row in typo.structured_content["orders"]] == ["O-1744"]
    assert [row["order_id"] for row in words.structured_content["orders"]] == ["O-1977"]
    assert "No order fits 'zeppelin'" in nothing.structured_content["note"]
    assert len(nothing.structured_content["orders"]) >= 1
    assert len(everything.structured_content["orders"]) > 1


async def test_an_order_s_status_has_lines_dates_tracking_and_refunds(connected, shop) -> None:
    async with connected(shop()) as call:
        result = (await call("get_order_status", {"order_id": "1233"}, "T-0015")).structured_content
    assert (result["order_id"], result["status"], result["delivered_on"]) == ("O-1233", "delivered", "2026-04-27")
    assert [line["sku"] for line in result["lines"]] == ["KG-1052", "KG-1043"]
    assert result["tracking_number"].startswith("FX-")
    assert [(row["amount"], row["currency"], row["status"]) for row in result["refunds"]] == [(28.0, "EUR", "paid")]


async def test_a_stranger_s_order_and_one_that_does_not_exist_read_the_same(connected, shop) -> None:
    async with connected(shop()) as call:
        for tool in ("get_order_status", "quote_refund"):
            strangers = await call(tool, {"order_id": "O-1531"}, "T-0023")
            missing = await call(tool, {"order_id": "O-7144"}, "T-0023")
            assert strangers.is_error
            assert missing.is_error
            assert strangers.content[0].text.replace("O-1531", "O-7144") == missing.content[0].text
            assert "use find_orders" in missing.content[0].text


async def test_a_call_without_a_known_ticket_is_refused_except_for_stock(connected, shop) -> None:
    async with connected(shop()) as call:
        none = await call("find_orders", {}, None)
        unknown = await call("find_orders", {}, "T-9999")
        odd = await call("find_orders", {}, "../customers")
        stock = await call("check_stock", {"sku": "kg1034"}, None)
    assert "names no ticket" in none.content[0].text
    assert "no ticket 'T-9999'" in unknown.content[0].text
    assert odd.is_error
    assert stock.structured_content["products"][0]["sku"] == "KG-1034"


async def test_stock_is_found_by_words_and_says_so_when_nothing_fits(connected, shop) -> None:
    async with connected(shop()) as call:
        kettle = await call("check_stock", {"query": "stovetop kettles"}, "T-0002")
        nothing = await call("check_stock", {"query": "zeppelin"}, "T-0002")
        neither = await call("check_stock", {}, "T-0002")
    entry = kettle.structured_content["products"][0]
    assert (entry["sku"], entry["stock"], entry["restock_on"]) == ("KG-1001", 0, "2026-06-15")
    assert "use other English words" in nothing.content[0].text
    assert "give a sku, or product words" in neither.content[0].text


async def test_quotes_come_to_the_amounts_the_records_say(connected, shop) -> None:
    asked = [("T-0004", "O-1145", 343.49), ("T-0025", "O-2289", 180.0), ("T-0048", "O-1864", 161.96), ("T-0009", "O-1744", 83.95)]
    async with connected(shop()) as call:
        for ticket, order, amount in asked:
            quote = (await call("quote_refund", {"order_id": order}, ticket)).structured_content
            assert (quote["amount"], quote["currency"], quote["needs_release"]) == (amount, "EUR", amount > 150)
            assert quote["quote_id"][:2] == "Q-"
            assert int(quote["quote_id"][2:], 16) >= 0
            assert len(quote["quote_id"]) == 12
        late = (await call("quote_refund", {"order_id": "O-2203"}, "T-0016")).structured_content
        part = (await call("quote_refund", {"order_id": "O-1688", "sku": "KG-1003"}, "T-0007")).structured_content
        wrong = await call("quote_refund", {"order_id": "O-1688", "sku": "KG-1008"}, "T-0007")
    assert (late["amount"], "50 percent" in late["explanation"]) == (47.45, True)
    assert (part["amount"], len(part["lines"])) == (49.9, 1)
    assert "has no line KG-1008" in wrong.content[0].text


async def test_quote_ids_repeat_with_a_seed_and_not_without(connected, shop, database) -> None:
    async def two(**env: str) -> list[str]:
        database.unlink(missing_ok=True)
        async with connected(shop(**env)) as call:
            replies = [await call("quote_refund", {"order_id": "O-1744"}, "T-0009") for _ in range(2)]
        return [reply.structured_content["quote_id"] for reply in replies]

    seeded = await two(SHOP_QUOTE_SEED="7")
    assert seeded[0] != seeded[1]
    assert await two(SHOP_QUOTE_SEED="7") == seeded
    assert await two(SHOP_QUOTE_SEED="8") != seeded
    assert await two() != await two()


async def test_the_shop_s_day_is_a_setting(connected, shop) -> None:
    async with connected(shop(SHOP_TODAY="2026-06-20")) as call:
        later = (await call("quote_refund", {"order_id": "O-1864"}, "T-0048")).structured_content
    assert later["amount"] == 80.98
