"""Triggers, the stack of modals, what was typed, and the answers to a submission."""

import pytest
from slack_sdk.errors import SlackApiError

pytestmark = pytest.mark.anyio


def _text(words):
    return {"type": "plain_text", "text": words}


def _view(title="One", *, blocks=None, **more):
    section = {"type": "section", "text": _text("x")}
    return {"type": "modal", "callback_id": title, "title": _text(title), "blocks": blocks or [section], **more}


def _input(block_id, element, **more):
    return {
        "type": "input",
        "block_id": block_id,
        "label": _text(block_id),
        "element": {"action_id": block_id, **element},
        **more,
    }


async def _card(desk):
    button = {"type": "button", "action_id": "open", "text": _text("Open")}
    blocks = [{"type": "actions", "elements": [button]}]
    return (await desk.client().chat_postMessage(channel="C_SUPPORT", text="card", blocks=blocks))["ts"]


def _opener(desk, view):
    app = desk.app()
    app.triggers, app.closed = [], []

    @app.action("open")
    async def opener(ack, client, body):
        await ack()
        app.triggers.append(body["trigger_id"])
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    return app


async def _opened(desk, view):
    ts = await _card(desk)
    await desk.do("click", user="U_LEA", ts=ts, action_id="open")
    return (await desk.wait(what="modal", user="U_LEA", callback_id=view["callback_id"]))["view"]


async def _code(call):
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


async def test_a_trigger_is_used_once_and_an_invented_one_never(desk):
    view = _view()
    app = _opener(desk, view)
    async with desk.running(app):
        await _opened(desk, view)
    client = desk.client()
    assert await _code(client.views_open(trigger_id=app.triggers[0], view=view)) == "exchanged_trigger_id"
    assert await _code(client.views_open(trigger_id="1.2.x", view=view)) == "invalid_trigger_id"


async def test_a_trigger_lives_as_long_as_the_setting_says(desk):
    await desk.do("settings", trigger_seconds=0)
    async with desk.http.ws_connect(await _socket(desk)) as socket:
        await socket.receive_json(timeout=5)
        ts = await _card(desk)
        await desk.do("click", user="U_LEA", ts=ts, action_id="open")
        payload = (await socket.receive_json(timeout=5))["payload"]
    assert await _code(desk.client().views_open(trigger_id=payload["trigger_id"], view=_view())) == "expired_trigger_id"


async def test_the_stack_holds_three_and_an_old_hash_is_refused(desk):
    view = _view(blocks=[{"type": "actions", "elements": [{"type": "button", "action_id": "more", "text": _text("More")}]}])
    app = _opener(desk, view)
    codes = []

    @app.action("more")
    async def more(ack, client, body):
        await ack()
        try:
            await client.views_push(trigger_id=body["trigger_id"], view=view)
        except SlackApiError as error:
            codes.append(error.response["error"])
            await client.chat_postMessage(channel="C_SUPPORT", text="full")

    async with desk.running(app):
        first = await _opened(desk, view)
        for n in (2, 3):
            top = (await desk.wait(what="modal", user="U_LEA"))["view"]
            await desk.do("click", user="U_LEA", view_id=top["id"], action_id="more")
            while len((await desk.state())["modals"]["U_LEA"]) < n:
                await desk.wait(what="modal", user="U_LEA", timeout=1)
        top = (await desk.state())["modals"]["U_LEA"][-1]
        assert top["root_view_id"] == first["id"]
        await desk.do("click", user="U_LEA", view_id=top["id"], action_id="more")
        await desk.wait(text="full")
    assert codes == ["push_limit_reached"]
    client = desk.client()
    updated = await client.views_update(view_id=top["id"], hash=top["hash"], view=_view("Two"))
    assert updated["view"]["title"]["text"] == "Two"
    assert await _code(client.views_update(view_id=top["id"], hash=top["hash"], view=_view("Three"))) == "hash_conflict"


async def test_typed_values_stay_over_an_update_with_the_same_ids(desk):
    view = _view(blocks=[_input("why", {"type": "plain_text_input"})], submit=_text("Send"))
    async with desk.running(_opener(desk, view)):
        opened = await _opened(desk, view)
        await desk.do("submit", user="U_LEA", values={"why": "late parcel"})
    renamed = [_input("other", {"type": "plain_text_input", "initial_value": "new"})]
    updated = await desk.client().views_update(view_id=opened["id"], view={**view, "blocks": [*view["blocks"], *renamed]})
    values = updated["view"]["state"]["values"]
    assert values["why"]["why"]["value"] == "late parcel"
    assert values["other"]["other"]["value"] == "new"


async def test_the_client_checks_a_form_before_it_lets_it_go(desk):
    options = [{"text": _text("A"), "value": "a"}, {"text": _text("B"), "value": "b"}]
    fields = [
        _input("text", {"type": "plain_text_input", "min_length": 2, "max_length": 4}),
        _input("count", {"type": "number_input", "is_decimal_allowed": False, "min_value": "1", "max_value": "9"}),
        _input("mail", {"type": "email_text_input"}),
        _input("link", {"type": "url_text_input"}),
        _input("day", {"type": "datepicker"}),
        _input("pick", {"type": "static_select", "options": options}),
        _input("tick", {"type": "checkboxes", "options": options}, optional=True),
    ]
    view = _view(blocks=fields, submit=_text("Send"))
    app = _opener(desk, view)
    got = []

    @app.view("One")
    async def take(ack, body):
        got.append(body["view"]["state"]["values"])
        await ack()

    async with desk.running(app):
        await _opened(desk, view)
        wrong = {"text": "x", "count": "1.5", "mail": "nobody", "link": "example", "day": "soon"}
        refused = await desk.do("submit", user="U_LEA", values=wrong)
        assert sorted(refused["errors"]) == ["count", "day", "link", "mail", "pick", "text"]
        unknown = await desk.do("submit", user="U_LEA", values={"pick": "c"})
        assert unknown["error"] == "bad_value"
        right = {"text": "abc", "count": "5", "mail": "a@example.com", "link": "https://example.com", "day": "2026-12-01"}
        taken = await desk.do("submit", user="U_LEA", values={**right, "pick": "b", "tick": ["a", "b"]})
        assert taken["ok"]
    state = got[0]
    assert state["pick"]["pick"]["selected_option"] == options[1]
    assert state["tick"]["tick"]["selected_options"] == options
    assert state["day"]["day"]["selected_date"] == "2026-12-01"


@pytest.mark.parametrize(("action", "left"), [("update", ["Next"]), ("push", ["One", "Next"]), ("clear", []), (None, [])])
async def test_a_submission_can_be_answered_with_update_push_clear_or_nothing(desk, action, left):
    view = _view(submit=_text("Send"))
    app = _opener(desk, view)

    @app.view("One")
    async def answer(ack):
        more = {"view": _view("Next")} if action in ("update", "push") else {}
        await (ack(response_action=action, **more) if action else ack())

    async with desk.running(app):
        await _opened(desk, view)
        assert (await desk.do("submit", user="U_LEA"))["ok"]
        stack = (await desk.state())["modals"]["U_LEA"]
        assert [view["callback_id"] for view in stack] == left


async def test_closing_is_told_when_asked_for_and_a_closed_modal_can_only_be_submitted_late(desk):
    view = _view(submit=_text("Send"), notify_on_close=True)
    app = _opener(desk, view)
    heard = []

    @app.view_closed("One")
    async def closed(ack, body):
        await ack()
        heard.append(body["is_cleared"])

    @app.view("One")
    async def late(ack):
        await ack(response_action="update", view=_view("Too late"))

    async with desk.running(app):
        opened = await _opened(desk, view)
        await desk.do("close", user="U_LEA")
        assert heard == [False]
        assert await _code(desk.client().views_update(view_id=opened["id"], view=view)) == "not_found"
        assert (await desk.do("submit", user="U_LEA", view_id=opened["id"]))["error"] == "view_closed"
        assert (await desk.do("submit", user="U_LEA", view_id=opened["id"], late=True))["ok"]


async def test_a_bad_view_is_refused_with_a_pointer(desk):
    client = desk.client()
    bad = [
        _view("x" * 25),
        _view(blocks=[_input("a", {"type": "plain_text_input"})]),
        _view(private_metadata="x" * 3001),
        _view(submit=_text("x" * 25)),
        _view(blocks=[{"type": "divider"}] * 101),
        {**_view(), "type": "home"},
    ]
    for view in bad:
        assert await _code(client.views_open(trigger_id="any", view=view)) == "invalid_arguments"


async def test_a_home_tab_is_published_per_person_and_its_buttons_work(desk):
    app = desk.app()
    pressed = []

    @app.action("go")
    async def go(ack, body):
        await ack()
        pressed.append((body["user"]["id"], body["view"]["type"]))

    button = {"type": "button", "action_id": "go", "text": _text("Go")}
    async with desk.running(app):
        await desk.client().views_publish(
            user_id="U_TOM", view={"type": "home", "blocks": [{"type": "actions", "elements": [button]}]}
        )
        assert (await desk.do("click", user="U_TOM", home=True, action_id="go"))["ok"]
        assert (await desk.do("click", user="U_LEA", home=True, action_id="go"))["error"] == "view_not_found"
    assert pressed == [("U_TOM", "home")]


async def _socket(desk):
    return (await desk.client("xapp-local").apps_connections_open(app_token="xapp-local"))["url"]
