"""What people can do in a client and what they cannot, response URLs, and the payloads the app gets."""

import anyio
import pytest

pytestmark = pytest.mark.anyio

CONFIRM = {
    "title": {"type": "plain_text", "text": "Sure?"},
    "text": {"type": "plain_text", "text": "Money leaves."},
    "confirm": {"type": "plain_text", "text": "Yes"},
    "deny": {"type": "plain_text", "text": "No"},
}


def _button(action_id, **more):
    return {"type": "button", "action_id": action_id, "text": {"type": "plain_text", "text": "Go"}, **more}


async def _card(desk, *elements, **more):
    blocks = [{"type": "actions", "block_id": "row", "elements": list(elements)}]
    return (await desk.client().chat_postMessage(channel="C_SUPPORT", text="card", blocks=blocks, **more))["ts"]


def _listening(desk, action_id="go"):
    app = desk.app()
    app.bodies = []

    @app.action(action_id)
    async def listen(ack, body):
        await ack()
        app.bodies.append(body)

    return app


async def test_the_payload_of_a_click_names_person_team_message_and_thread(desk):
    app = _listening(desk)
    async with desk.running(app):
        root = await _card(desk, _button("other"))
        ts = await _card(desk, _button("go", value="q-1", style="danger"), thread_ts=root)
        await desk.do("click", user="U_SOL", ts=ts, action_id="go", value="q-1")
    body = app.bodies[0]
    assert (body["user"]["id"], body["user"]["team_id"], body["team"]["id"]) == ("U_SOL", "T2", "T2")
    assert body["container"] == {
        "type": "message", "message_ts": ts, "channel_id": "C_SUPPORT", "is_ephemeral": False, "thread_ts": root,
    }  # fmt: skip
    assert body["message"]["blocks"][0]["elements"][0]["value"] == "q-1"
    action = body["actions"][0]
    assert (action["block_id"], action["value"], action["style"]) == ("row", "q-1", "danger")


async def test_a_button_that_is_gone_hidden_or_asks_first_cannot_be_pressed(desk):
    ts = await _card(desk, _button("pay", confirm=CONFIRM), _button("own", visible_to_user_ids=["U_LEA"]))
    missing = await desk.do("click", user="U_LEA", ts=ts, action_id="gone")
    assert (missing["error"], "'pay', 'own'" in missing["detail"]) == ("button_not_found", True)
    asks = await desk.do("click", user="U_LEA", ts=ts, action_id="pay")
    assert (asks["error"], asks["confirm"]) == ("needs_confirm", CONFIRM)
    assert (await desk.do("click", user="U_TOM", ts=ts, action_id="own"))["error"] == "not_visible"
    assert (await desk.do("click", user="U_LEA", ts="1.000001", action_id="pay"))["error"] == "message_not_found"
    assert (await desk.do("click", user="U_EVE", ts=ts, action_id="pay"))["error"] == "user_not_found"
    assert (await desk.state())["envelopes"] == []


async def test_an_ephemeral_is_seen_and_pressed_by_its_person_alone(desk):
    blocks = [{"type": "actions", "elements": [_button("go")]}]
    whispered = await desk.client().chat_postEphemeral(channel="C_SUPPORT", user="U_LEA", text="psst", blocks=blocks)
    app = _listening(desk)
    async with desk.running(app):
        ts = whispered["message_ts"]
        assert (await desk.do("click", user="U_TOM", ts=ts, action_id="go"))["error"] == "not_visible"
        assert (await desk.do("click", user="U_LEA", ts=ts, action_id="go"))["ok"]
    assert app.bodies[0]["container"]["is_ephemeral"] is True
    assert "message" not in app.bodies[0]


async def test_two_clicks_at_once_both_arrive(desk):
    app = _listening(desk)
    async with desk.running(app):
        ts = await _card(desk, _button("go"))
        async with anyio.create_task_group() as group:
            for user in ("U_LEA", "U_IVO"):
                group.start_soon(lambda user=user: desk.do("click", user=user, ts=ts, action_id="go"))
    assert sorted(body["user"]["id"] for body in app.bodies) == ["U_IVO", "U_LEA"]


async def test_choices_in_a_message_come_with_their_state(desk):
    options = [{"text": {"type": "plain_text", "text": word}, "value": word} for word in ("red", "blue")]
    select = {"type": "static_select", "action_id": "go", "options": options, "placeholder": {"type": "plain_text", "text": "?"}}
    overflow = {"type": "overflow", "action_id": "more", "options": options}
    app = _listening(desk)
    async with desk.running(app):
        ts = await _card(desk, select, overflow)
        await desk.do("click", user="U_LEA", ts=ts, action_id="go", value="blue")
    body = app.bodies[0]
    assert body["actions"][0]["selected_option"] == options[1]
    assert body["state"]["values"]["row"]["go"]["selected_option"] == options[1]


async def test_an_option_that_is_not_offered_is_refused_with_what_is(desk):
    options = [{"text": {"type": "plain_text", "text": "Red"}, "value": "red"}]
    ts = await _card(desk, {"type": "static_select", "action_id": "go", "options": options})
    for order in ({"value": "blue"}, {"value": "red", "values": {"row": {"go": "blue"}}}):
        refused = await desk.do("click", user="U_LEA", ts=ts, action_id="go", **order)
        assert refused["error"] == "bad_value"
        assert "it offers 'red'" in refused["detail"]


async def test_a_response_url_is_good_for_five_uses(desk):
    app = _listening(desk)
    async with desk.running(app):
        ts = await _card(desk, _button("go"))
        await desk.do("click", user="U_LEA", ts=ts, action_id="go")
    url = app.bodies[0]["response_url"]

    async def post(**body):
        async with desk.http.post(url, json=body) as response:
            return response.status, (await response.json()).get("error")

    assert await post(text="to you alone", thread_ts=ts) == (200, None)
    assert (await desk.wait(what="ephemeral", user="U_LEA"))["message"]["thread_ts"] == ts
    assert await post(text="to all", response_type="in_channel") == (200, None)
    await desk.wait(text="to all")
    assert await post(text="decided", replace_original=True) == (200, None)
    replaced = (await desk.wait(ts=ts))["message"]
    assert (replaced["text"], "blocks" in replaced) == ("decided", False)
    assert await post() == (400, "no_text")
    assert await post(delete_original=True) == (200, None)
    assert (await desk.wait(ts=ts, gone=True))["gone"]
    assert await post(text="once more") == (404, "used_url")


async def test_a_message_shortcut_carries_its_message(desk):
    app = desk.app()
    got = []

    @app.shortcut("make_ticket")
    async def make(ack, body):
        await ack()
        got.append(body)

    async with desk.running(app):
        ts = (await desk.do("message", user="U_GUS", text="please help"))["ts"]
        assert (await desk.do("shortcut", user="U_MAYA", ts=ts, callback_id="make_ticket"))["ok"]
    assert (got[0]["type"], got[0]["message"]["text"]) == ("message_action", "please help")


async def test_waiting_is_bounded_and_says_what_did_not_come(desk):
    answer = await desk.do("wait", text="never", timeout=0.05)
    assert answer["error"] == "timeout"
    assert "never" in answer["detail"]


async def test_waiting_finds_by_metadata(desk):
    metadata = {"event_type": "card", "event_payload": {"key": "k-1", "n": 2}}
    await desk.client().chat_postMessage(channel="C_SUPPORT", text="x", metadata=metadata)
    found = await desk.wait(metadata={"event_payload": {"key": "k-1"}})
    assert found["message"]["metadata"] == metadata


async def test_reset_leaves_only_the_seed(desk):
    await _card(desk, _button("go"))
    await desk.client().chat_postEphemeral(channel="C_SUPPORT", user="U_LEA", text="psst")
    await desk.do("fault", kind="http_500", times=9)
    await desk.do("reset")
    state = await desk.state()
    assert (state["channels"]["C_SUPPORT"]["messages"], state["ephemerals"], state["faults"]) == ([], [], [])
    await desk.client().auth_test()
