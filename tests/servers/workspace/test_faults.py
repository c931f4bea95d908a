"""Faults on order: what the platform does on a bad day, exactly as often as ordered."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

pytestmark = pytest.mark.anyio


async def _texts(desk):
    return [m["text"] for m in (await desk.state())["channels"]["C_SUPPORT"]["messages"]]


async def test_429_comes_as_often_as_ordered_with_its_retry_after(desk):
    client = desk.client()
    await desk.do("fault", kind="ratelimited", method="chat.postMessage", times=2, seconds=3)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            await client.chat_postMessage(channel="C_SUPPORT", text="x")
        assert caught.value.response.status_code == 429
        assert caught.value.response.headers["Retry-After"] == "3"
    await client.auth_test()
    await client.chat_postMessage(channel="C_SUPPORT", text="at last")
    assert await _texts(desk) == ["at last"]


@pytest.mark.parametrize(("kind", "kept"), [("drop_before", []), ("drop_after", ["x"])])
async def test_a_dropped_connection_leaves_the_message_there_or_not(desk, kind, kept):
    await desk.do("fault", kind=kind, method="chat.postMessage")
    with pytest.raises(aiohttp.ClientError):
        await desk.client().chat_postMessage(channel="C_SUPPORT", text="x")
    assert await _texts(desk) == kept
    assert (await desk.state())["faults"] == []


async def test_an_error_code_and_a_500_can_be_ordered(desk):
    await desk.do("fault", kind="error", method="*", error="fatal_error")
    with pytest.raises(SlackApiError) as caught:
        await desk.client().auth_test()
    assert caught.value.response["error"] == "fatal_error"
    await desk.do("fault", kind="http_500")
    with pytest.raises(SlackApiError) as caught:
        await desk.client().auth_test()
    assert caught.value.response.status_code == 500


async def test_an_unknown_fault_is_refused_with_what_there_is(desk):
    refused = await desk.do("fault", kind="earthquake")
    assert refused["error"] == "bad_fault"
    assert "drop_after" in refused["detail"]


async def test_an_expired_trigger_on_order_refuses_the_modal(desk):
    app = desk.app()
    errors = []

    @app.action("open")
    async def opener(ack, client, body):
        await ack()
        try:
            await client.views_open(trigger_id=body["trigger_id"], view=_view())
        except SlackApiError as error:
            errors.append(error.response["error"])
        await client.chat_postMessage(channel="C_SUPPORT", text="tried")

    async with desk.running(app):
        ts = await _card(desk)
        await desk.do("fault", kind="expired_trigger")
        await desk.do("click", user="U_LEA", ts=ts, action_id="open")
        await desk.wait(text="tried")
    assert errors == ["expired_trigger_id"]


async def test_an_envelope_can_come_twice_or_never(desk):
    app = desk.app()
    seen = []

    @app.action("open")
    async def count(ack, body):
        await ack()
        seen.append(body["trigger_id"])

    async with desk.running(app):
        ts = await _card(desk)
        await desk.do("fault", kind="duplicate_envelope")
        await desk.do("click", user="U_LEA", ts=ts, action_id="open")
        await desk.wait(what="envelope", text="duplicate", state="acked")
        assert len(seen) == 2
        assert seen[0] == seen[1]
        await desk.do("fault", kind="never_deliver")
        lost = await desk.do("click", user="U_LEA", ts=ts, action_id="open")
        assert lost["error"] == "timeout"
        assert len(seen) == 2


async def _card(desk):
    button = {"type": "button", "action_id": "open", "text": {"type": "plain_text", "text": "Open"}}
    blocks = [{"type": "actions", "elements": [button]}]
    return (await desk.client().chat_postMessage(channel="C_SUPPORT", text="card", blocks=blocks))["ts"]


def _view():
    section = {"type": "section", "text": {"type": "plain_text", "text": "x"}}
    return {"type": "modal", "title": {"type": "plain_text", "text": "T"}, "blocks": [section]}
