"""Socket Mode: one-use tickets, one connection per envelope, acknowledgements, retries, reconnects."""

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def _open(desk) -> str:
    return (await desk.client("xapp-local").apps_connections_open(app_token="xapp-local"))["url"]


async def test_a_socket_ticket_is_good_for_one_connection(desk):
    url = await _open(desk)
    async with desk.http.ws_connect(url) as socket:
        hello = await socket.receive_json(timeout=5)
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        async with desk.http.get(url.replace("ws", "http", 1)) as again:
            assert again.status == 403


async def test_each_payload_goes_to_one_connection_and_the_next_to_another(desk):
    async with desk.http.ws_connect(await _open(desk)) as one, desk.http.ws_connect(await _open(desk)) as two:
        await one.receive_json(timeout=5)
        assert (await two.receive_json(timeout=5))["num_connections"] == 2
        got = {}

        async def serve(name, socket):
            frame = await socket.receive_json(timeout=5)
            got[name] = frame["payload"]["text"]
            await socket.send_json({"envelope_id": frame["envelope_id"]})

        async with anyio.create_task_group() as group:
            group.start_soon(serve, "one", one)
            group.start_soon(serve, "two", two)
            assert (await desk.do("slash", user="U_ADA", command="/deskhand", text="a"))["acked"]
            assert (await desk.do("slash", user="U_ADA", command="/deskhand", text="b"))["acked"]
        assert sorted(got.values()) == ["a", "b"]


async def test_an_eleventh_connection_is_sent_away(desk):
    sockets = [await desk.http.ws_connect(await _open(desk)) for _ in range(11)]
    try:
        assert (await sockets[-1].receive_json(timeout=5))["reason"] == "too_many_websockets"
    finally:
        for socket in sockets:
            await socket.close()


async def test_a_slash_command_that_nobody_answers_fails_with_the_platforms_words(desk):
    async with desk.running(desk.app()):
        failed = await desk.do("slash", user="U_ADA", command="/deskhand", text="run")
    assert failed["error"] == "timeout"
    words = (await desk.wait(what="ephemeral", user="U_ADA"))["message"]["text"]
    assert words == '/deskhand failed with the error "operation_timeout"'


async def test_an_event_is_retried_until_it_is_acknowledged(desk):
    await desk.do("settings", retry_delays=[0, 0, 0], bot_events=["message.groups"], ack_seconds=0.2)
    async with desk.http.ws_connect(await _open(desk)) as socket:
        await socket.receive_json(timeout=5)
        await desk.do("message", user="U_LEA", text="hi <!channel>")
        first = await socket.receive_json(timeout=5)
        second = await socket.receive_json(timeout=5)
        await socket.send_json({"envelope_id": second["envelope_id"]})
        await desk.wait(what="envelope", state="acked")
    assert (first["retry_attempt"], second["retry_attempt"], second["retry_reason"]) == (0, 1, "timeout")
    assert first["payload"]["event_id"] == second["payload"]["event_id"]
    event = first["payload"]["event"]
    assert (event["channel_type"], event["text"]) == ("group", "hi &lt;!channel&gt;")


async def test_events_nobody_subscribed_to_are_not_sent(desk):
    async with desk.running(desk.app()):
        await desk.do("message", user="U_LEA", text="hi")
        assert (await desk.state())["envelopes"] == []


@pytest.mark.parametrize("reason", ["refresh_requested", "abrupt"])
async def test_the_app_comes_back_after_a_disconnect(desk, foreign, reason):
    app = foreign(desk)
    async with desk.running(app):
        before = len([c for c in (await desk.state())["calls"] if c["method"] == "apps.connections.open"])
        assert (await desk.do("disconnect", reason=reason))["connections"] == 1
        with anyio.fail_after(40):
            while True:
                await desk.wait(what="connected", timeout=30)
                calls = [c for c in (await desk.state())["calls"] if c["method"] == "apps.connections.open"]
                if len(calls) > before and (await desk.do("slash", user="U_ADA", command="/deskhand", text="x"))["ok"]:
                    break


async def test_a_late_acknowledgement_is_marked_late(desk):
    await desk.do("settings", ack_seconds=0.1)
    async with desk.http.ws_connect(await _open(desk)) as socket:
        await socket.receive_json(timeout=5)
        failed = await desk.do("slash", user="U_ADA", command="/deskhand", text="x")
        assert failed["error"] == "timeout"
        frame = await socket.receive_json(timeout=5)
        await socket.send_json({"envelope_id": frame["envelope_id"]})
        await desk.wait(what="envelope", state="late")
