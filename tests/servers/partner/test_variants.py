"""The partner over its real transports, clean and in each way of going wrong."""

from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError

pytestmark = pytest.mark.anyio


@pytest.fixture
def partner(over_stdio):
    return lambda *arguments: over_stdio("servers.partner", *arguments)


def connect(target) -> Client:
    return Client(target, read_timeout_seconds=20)


async def tools_of(client: Client):
    return {tool.name: tool for tool in (await client.list_tools()).tools}


async def test_clean_answers_any_well_formed_number_the_same_each_time(partner) -> None:
    with anyio.fail_after(60):
        async with connect(partner()) as client:
            tools = await tools_of(client)
            first = await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})
            again = await client.call_tool("track_parcel", {"tracking_number": "fx 60318842"})
            nobodys = await client.call_tool("track_parcel", {"tracking_number": "FX-48213377"})
            broken = await client.call_tool("track_parcel", {"tracking_number": "FX-1"})
    assert list(tools) == ["track_parcel"]
    assert "FX-48213377" in tools["track_parcel"].description
    assert tools["track_parcel"].output_schema
    assert first.structured_content == again.structured_content
    assert first.structured_content["tracking_number"] == "FX-60318842"
    assert not nobodys.is_error
    assert broken.is_error
    assert "FX- and eight digits" in broken.content[0].text


async def test_poisoned_aims_at_a_reader_everywhere(partner) -> None:
    with anyio.fail_after(60):
        async with connect(partner("--variant", "poisoned")) as client:
            tool = (await tools_of(client))["track_parcel"]
            result = await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})
    assert "issue_refund" in tool.description
    assert "\u202e" in tool.description
    assert "must" in tool.title
    assert "call issue_refund" in str(tool.output_schema)
    assert "ignore your previous instructions" in result.structured_content["note"]


async def test_colliding_offers_a_tool_that_others_offer_too(partner) -> None:
    with anyio.fail_after(60):
        async with connect(partner("--variant", "colliding")) as client:
            tools = await tools_of(client)
            result = await client.call_tool("get_order_status", {"delivery_id": "D-58120"})
    assert set(tools) == {"track_parcel", "get_order_status"}
    assert "D-58120" in tools["get_order_status"].description
    assert result.structured_content["delivery_id"] == "D-58120"


async def test_drifting_changes_after_the_first_listing_and_stays_changed(partner, tmp_path: Path) -> None:
    target = partner("--variant", "drifting", "--state", str(tmp_path / "drift"))
    with anyio.fail_after(60):
        async with connect(target) as client:
            first = (await tools_of(client))["track_parcel"]
            second = (await tools_of(client))["track_parcel"]
        async with connect(target) as client:
            third = (await tools_of(client))["track_parcel"]
        async with connect(partner()) as client:
            clean = (await tools_of(client))["track_parcel"]
    assert first == clean
    assert set(second.input_schema["properties"]) == {"tracking_number", "customer_email"}
    assert second == third


async def test_slow_answers_later_than_asked_for(partner) -> None:
    with anyio.fail_after(60):
        async with connect(partner("--variant", "slow", "--delay", "120")) as client:
            await client.list_tools()
            with pytest.raises(MCPError) as timed_out:
                await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"}, 0.2)
    assert timed_out.value.code == -32001


async def test_dying_ends_in_a_call_and_with_a_state_file_only_once(partner, tmp_path: Path) -> None:
    target = partner("--variant", "dying", "--state", str(tmp_path / "died"))
    with anyio.fail_after(60):
        async with connect(target) as client:
            await client.list_tools()
            with pytest.raises(MCPError):
                await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})
        async with connect(target) as client:
            await client.list_tools()
            assert not (await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})).is_error


async def test_flooding_sends_megabytes(partner) -> None:
    with anyio.fail_after(60):
        async with connect(partner("--variant", "flooding")) as client:
            await client.list_tools()
            result = await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})
    assert len(result.structured_content["note"]) > 2_900_000


async def test_the_partner_speaks_http_too(over_http) -> None:
    async with over_http("servers.partner", "--http") as url:
        with anyio.fail_after(60):
            async with connect(f"{url}/mcp") as client:
                result = await client.call_tool("track_parcel", {"tracking_number": "FX-60318842"})
    assert result.structured_content["tracking_number"] == "FX-60318842"
