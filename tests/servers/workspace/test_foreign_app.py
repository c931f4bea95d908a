"""An app that knows nothing of this project runs unmodified: a button, a modal, a slash command."""

import pytest

pytestmark = pytest.mark.anyio


async def test_a_slash_command_a_button_and_a_modal_work_from_end_to_end(desk, foreign):
    async with desk.running(foreign(desk)):
        sent = await desk.do("slash", user="U_MAYA", command="/deskhand", text="hello")
        assert sent["ok"], sent
        answer = await desk.wait(what="ephemeral", user="U_MAYA")
        assert answer["message"]["text"] == "you said hello"
        card = (await desk.wait(action_id="order"))["message"]

        assert (await desk.do("click", user="U_MAYA", ts=card["ts"], action_id="order"))["acked"]
        view = (await desk.wait(what="modal", user="U_MAYA"))["view"]
        assert view["title"]["text"] == "Lunch"

        empty = await desk.do("submit", user="U_MAYA")
        assert empty["errors"] == {"dish": "Please complete this required field."}
        refused = await desk.do("submit", user="U_MAYA", values={"dish": {"dish": "stone"}})
        assert refused["errors"] == {"dish": "Not edible."}
        taken = await desk.do("submit", user="U_MAYA", values={"dish": {"dish": "soup"}, "size": {"size": "l"}})
        assert taken == {"ok": True, "closed": True}

        await desk.wait(text="maya orders soup, l")
        state = await desk.state()
        assert state["modals"]["U_MAYA"] == []
        card = next(m for m in state["channels"]["C_SUPPORT"]["messages"] if m["ts"] == card["ts"])
        assert "blocks" not in card


async def test_a_click_that_nobody_listens_to_is_told_to_the_clicker(desk, foreign):
    client = desk.client()
    button = {"type": "button", "action_id": "nobody", "text": {"type": "plain_text", "text": "Press"}}
    posted = await client.chat_postMessage(channel="C_SUPPORT", text="x", blocks=[{"type": "actions", "elements": [button]}])
    unconnected = await desk.do("click", user="U_LEA", ts=posted["ts"], action_id="nobody")
    assert unconnected["error"] == "undelivered"
    async with desk.running(foreign(desk)):
        unheard = await desk.do("click", user="U_LEA", ts=posted["ts"], action_id="nobody")
    assert unheard["error"] == "timeout"
    notices = (await desk.state())["notices"]
    assert [notice["about"] for notice in notices] == [posted["ts"]] * 2
    assert "did not answer within 0.6 s" in notices[-1]["text"]
