"""What people do: press, choose, submit, close, type. Enforces what a client enforces, then tells the app over Socket Mode.

Decides nothing for the app: who may press which button is the app's business. Refused here is only what no client could do.
"""

from dataclasses import dataclass

from servers.workspace import payloads
from servers.workspace.answers import Answers
from servers.workspace.blocks import interactive
from servers.workspace.errors import ControlError
from servers.workspace.faults import Faults
from servers.workspace.forms import BadValue, complaints, entry, stateful, values
from servers.workspace.settings import Json
from servers.workspace.socketmode import Envelope, SocketMode
from servers.workspace.tickets import Tickets
from servers.workspace.workspace import Workspace, new_id, public


@dataclass(frozen=True)
class Acting:
    """People's hands. Every method answers `{"ok": true, …}` or raises ControlError."""

    workspace: Workspace
    tickets: Tickets
    faults: Faults
    socket: SocketMode
    answers: Answers
    base: str

    async def click(self, order: Json) -> Json:
        """Use a button, select, …: `{user, ts | view_id | home, action_id, block_id?, value?, confirmed?, values?}`."""
        user_id = self.person(order)
        if order.get("view_id") or order.get("home"):
            return await self._click_in_view(user_id, order)
        message, channel = self._visible_message(user_id, order)
        block, element, held = _pressed(message.get("blocks") or [], user_id, order)
        state = values(message.get("blocks") or [], order.get("values") or {}, {})
        if held and stateful(element):
            state.setdefault(block["block_id"], {})[element["action_id"]] = held
        secret = self.tickets.response_url(user_id, channel["id"], message["ts"])
        url = f"{self.base}/actions/{self.workspace.seed.team['id']}/{secret}"
        seed, used = self.workspace.seed, payloads.action(block, element, held, self.workspace.next_ts())
        place = payloads.in_message(seed, channel, message, self.workspace.wire(message, metadata=True), url, state)
        payload = payloads.block_actions(seed, user_id, self._trigger(user_id), used, place)
        sent = await self.socket.deliver("interactive", payload, user_id, f"{_words(element)} ({element['action_id']})")
        return self._settled(sent, user_id, message["ts"])

    async def submit(self, order: Json) -> Json:
        """Submit a modal: `{user, view_id?, values?, late?}`; without view_id the visible one. Field errors come in words."""
        user_id = self.person(order)
        view = self._view(user_id, order)
        typed = self._typed(view, order)
        if found := complaints(view["blocks"], typed["state"]["values"]):
            return {"ok": False, "error": "fields", "errors": found}
        payload = payloads.view_submission(self.workspace.seed, user_id, self._trigger(user_id, view["id"]), typed)
        sent = await self.socket.deliver("interactive", payload, user_id, f"submit {view['callback_id']}", accepts=True)
        result = self._settled(sent, user_id, view["id"])
        return result if not result["ok"] else await self.answers.to_submission(self, user_id, view["id"], sent.answer or {})

    async def close(self, order: Json) -> Json:
        """Close a modal: `{user, view_id?, all?}`; `all` closes the whole stack (the cross)."""
        user_id = self.person(order)
        stack = self.workspace.stack(user_id)
        view = self._view(user_id, order)
        cleared = bool(order.get("all") or view["clear_on_close"])
        for one in reversed(stack if cleared else [view]):
            await self.close_view(user_id, one, cleared)
        return {"ok": True}

    async def close_view(self, user_id: str, view: Json, cleared: bool) -> None:
        """Take a modal away, and tell the app if it asked to be told."""
        self.workspace.put_view({**view, "_open": False})
        if view["notify_on_close"]:
            payload = payloads.view_closed(self.workspace.seed, user_id, view, cleared)
            await self.socket.deliver("interactive", payload, user_id, f"close {view['callback_id']}")

    async def slash(self, order: Json) -> Json:
        """Type a slash command: `{user, command, text?, channel?}`."""
        user_id, channel = self.person(order), self._channel(order)
        command, text = str(order.get("command", "")), str(order.get("text", ""))
        known = [entry_["command"] for entry_ in self.workspace.seed.commands]
        if command not in known:
            raise ControlError("unknown_command", f"{command} is no command of this workspace; there is {', '.join(known)}")
        secret = self.tickets.response_url(user_id, channel["id"], None)
        url = f"{self.base}/commands/{self.workspace.seed.team['id']}/{secret}"
        seed = self.workspace.seed
        payload = payloads.slash_command(seed, user_id, channel, command, text, self._trigger(user_id), url)
        sent = await self.socket.deliver("slash_commands", payload, user_id, f"{command} {text}".strip(), accepts=True)
        if sent.state != "acked":
            why = "operation_timeout" if sent.state == "timeout" else "dispatch_failed"
            self.answers.slackbot(user_id, channel["id"], f'{command} failed with the error "{why}"')
        else:
            self.answers.to_command(user_id, channel["id"], sent.answer)
        return self._settled(sent, user_id, command)

    async def shortcut(self, order: Json) -> Json:
        """Use a shortcut: `{user, callback_id, ts?}`; with ts a message shortcut, without a global one."""
        user_id, place = self.person(order), None
        if order.get("ts"):
            message, channel = self._visible_message(user_id, order)
            secret = self.tickets.response_url(user_id, channel["id"], message["ts"])
            url = f"{self.base}/actions/{self.workspace.seed.team['id']}/{secret}"
            where = {"channel": {"id": channel["id"], "name": channel["name"]}, "message_ts": message["ts"]}
            place = {**where, "message": self.workspace.wire(message), "response_url": url}
        callback_id = str(order.get("callback_id", ""))
        payload = payloads.shortcut(self.workspace.seed, user_id, self._trigger(user_id), callback_id, place)
        sent = await self.socket.deliver("interactive", payload, user_id, f"shortcut {callback_id}")
        return self._settled(sent, user_id, str(order.get("ts") or callback_id))

    def say(self, order: Json) -> Json:
        """Write a message: `{user, text, channel?, thread_ts?}`. The app hears of it if its manifest subscribes."""
        user_id, channel = self.person(order), self._channel(order)
        text = str(order.get("text", "")).strip()
        if not text:
            raise ControlError("no_text", "a message needs some text")
        if user_id not in channel["members"]:
            raise ControlError("not_in_channel", f"{user_id} is not in {channel['id']}")
        thread = {"thread_ts": str(order["thread_ts"])} if order.get("thread_ts") else {}
        if thread and self.workspace.message(channel["id"], thread["thread_ts"]) is None:
            raise ControlError("thread_not_found", f"there is no message {thread['thread_ts']} to answer to")
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        client = {"client_msg_id": new_id("m-"), "team": self.workspace.seed.people[user_id]["team_id"]}
        message = self.workspace.add({"channel": channel["id"], "user": user_id, "text": escaped, **client, **thread})
        self._message_event(channel, user_id, {**self.workspace.wire(message)}, message["ts"])
        return {"ok": True, "ts": message["ts"], "channel": channel["id"]}

    def delete(self, order: Json) -> Json:
        """Delete any message in the client, as a workspace admin can: `{user, ts}`."""
        user_id = self.person(order)
        message = self.workspace.find_message(str(order.get("ts")))
        if message is None:
            raise ControlError("message_not_found", f"there is no message {order.get('ts')}")
        if message.get("is_ephemeral"):
            self.workspace.drop_ephemeral(message["ts"])
            return {"ok": True}
        channel, before = self.workspace.channels[message["channel"]], self.workspace.wire(message)
        self.workspace.remove(message)
        body = {"type": "message", "subtype": "message_deleted", "hidden": True, "deleted_ts": message["ts"]}
        self._message_event(channel, user_id, {**body, "previous_message": before}, self.workspace.next_ts())
        return {"ok": True}

    def open_home(self, order: Json) -> Json:
        """Open the app's home tab: `{user}`."""
        user_id = self.person(order)
        if "app_home_opened" in self.workspace.seed.bot_events:
            view = self.workspace.homes.get(user_id)
            channel = self.workspace.open_dm(user_id)["id"]
            body = {
                "type": "app_home_opened",
                "user": user_id,
                "channel": channel,
                "tab": "home",
                "event_ts": self.workspace.next_ts(),
            }
            self._event({**body, **({"view": public(view)} if view else {})}, user_id, "app_home_opened")
        return {"ok": True}

    def reload(self, order: Json) -> Json:
        """The client starts anew: its open modals vanish, and nobody is told: `{user}`."""
        for view in self.workspace.stack(self.person(order)):
            self.workspace.put_view({**view, "_open": False})
        return {"ok": True}

    def person(self, order: Json) -> str:
        """The acting person of an order."""
        user_id = str(order.get("user", ""))
        if user_id not in self.workspace.seed.people:
            people = ", ".join(self.workspace.seed.people)
            raise ControlError("user_not_found", f"user {user_id!r} is nobody here; there are {people}")
        return user_id

    async def _click_in_view(self, user_id: str, order: Json) -> Json:
        home = self.workspace.homes.get(user_id) if order.get("home") else None
        if order.get("home") and home is None:
            raise ControlError("view_not_found", f"the app published no home tab for {user_id}")
        view = self._typed(home or self._view(user_id, order), order, keep=home is None)
        block, element, held = _pressed(view["blocks"], user_id, order)
        if held and stateful(element):
            state = view["state"]["values"]
            changed = {**state.get(block["block_id"], {}), element["action_id"]: held}
            view = {**view, "state": {"values": {**state, block["block_id"]: changed}}}
        used = payloads.action(block, element, held, self.workspace.next_ts())
        trigger = self._trigger(user_id, view["id"])
        payload = payloads.block_actions(self.workspace.seed, user_id, trigger, used, payloads.in_view(view))
        sent = await self.socket.deliver("interactive", payload, user_id, f"{_words(element)} ({element['action_id']})")
        return self._settled(sent, user_id, view["id"])

    def _visible_message(self, user_id: str, order: Json) -> tuple[Json, Json]:
        message = self.workspace.find_message(str(order.get("ts")))
        if message is None:
            raise ControlError("message_not_found", f"there is no message {order.get('ts')}; it may have been deleted")
        channel = self.workspace.channels[message["channel"]]
        if user_id not in channel["members"] or message.get("to", user_id) != user_id:
            raise ControlError("not_visible", f"{user_id} cannot see message {message['ts']}")
        return message, channel

    def _view(self, user_id: str, order: Json) -> Json:
        stack = self.workspace.stack(user_id)
        view = self.workspace.views.get(str(order["view_id"])) if order.get("view_id") else stack[-1] if stack else None
        if view is None or view["_user"] != user_id:
            raise ControlError("view_not_found", f"{user_id} has no such modal; open: {[v['id'] for v in stack]}")
        if not view["_open"] and not order.get("late"):
            raise ControlError("view_closed", f"modal {view['id']} is closed; send late=true to submit it all the same")
        return view

    def _typed(self, view: Json, order: Json, keep: bool = True) -> Json:
        """The view with what its person typed, remembered for the next update."""
        try:
            held = values(view["blocks"], order.get("values") or {}, view["state"]["values"])
        except BadValue as error:
            raise ControlError("bad_value", str(error)) from error
        typed = {**view, "state": {"values": held}}
        if keep and view["_open"] and typed != view:
            self.workspace.put_view(typed)
        return typed

    def _channel(self, order: Json) -> Json:
        channel_id = str(order.get("channel") or next(iter(self.workspace.seed.channels)))
        if channel_id not in self.workspace.channels:
            raise ControlError("channel_not_found", f"there is no channel {channel_id}")
        return self.workspace.channels[channel_id]

    def _trigger(self, user_id: str, view_id: str | None = None) -> str:
        expired = self.faults.take(("expired_trigger",)) is not None
        return self.tickets.trigger(user_id, view_id, expired)

    def _settled(self, sent: Envelope, user_id: str, about: str) -> Json:
        if sent.state == "acked":
            self.workspace.forget_notices(about, user_id)
            return {"ok": True, "envelope_id": sent.envelope_id, "acked": True, "ms": sent.ms}
        name = self.workspace.seed.app["real_name"]
        seconds = f"{self.socket.ack_seconds:g}"
        words = {
            "undelivered": f"{name} is not connected, so this reached nobody. Try again when it is back.",
            "timeout": f"{name} did not answer within {seconds} s. It may or may not have noticed.",
        }.get(sent.state, f"{name} did not answer in time.")
        self.workspace.notice(user_id, about, words)
        return {"ok": False, "error": sent.state, "detail": words, "envelope_id": sent.envelope_id, "acked": False}

    def _message_event(self, channel: Json, user_id: str, body: Json, event_ts: str) -> None:
        kind = "im" if channel.get("is_im") else "groups" if channel.get("is_private") else "channels"
        if f"message.{kind}" in self.workspace.seed.bot_events and self.workspace.seed.app["user_id"] in channel["members"]:
            short = {"im": "im", "groups": "group", "channels": "channel"}[kind]
            full = {**body, "channel": channel["id"], "channel_type": short, "event_ts": event_ts, "ts": body.get("ts", event_ts)}
            self._event(full, user_id, f"message {body.get('subtype', '')}".strip())

    def _event(self, body: Json, user_id: str, summary: str) -> None:
        payload = payloads.event(self.workspace.seed, body, new_id("Ev"))
        self.socket.deliver_event(payload, user_id, summary)


def _pressed(blocks: list[Json], user_id: str, order: Json) -> tuple[Json, Json, Json | None]:
    """The element an order means, with the state entry its use makes; it must exist, be visible and be confirmed."""
    block, element = _element(blocks, order)
    if user_id not in (element.get("visible_to_user_ids") or [user_id]):
        raise ControlError("not_visible", f"{user_id} does not see the button {element['action_id']}")
    if element.get("confirm") and not order.get("confirmed"):
        words = "this asks first; send confirmed=true to press on"
        raise ControlError("needs_confirm", words, confirm=element["confirm"])
    if element["type"] in ("button", "workflow_button"):
        if order.get("value") is not None and order["value"] != element.get("value"):
            raise ControlError("bad_value", f"the button's value is {element.get('value')!r}")
        return block, element, None
    try:
        return block, element, entry(element, order.get("value"))
    except BadValue as error:
        raise ControlError("bad_value", str(error)) from error


def _element(blocks: list[Json], order: Json) -> tuple[Json, Json]:
    offered = list(interactive(blocks))
    for block, element in offered:
        if element.get("action_id") == order.get("action_id") and order.get("block_id") in (None, block["block_id"]):
            wanted = order.get("value")
            if element["type"] != "button" or wanted is None or wanted == element.get("value"):
                return block, element
    ids = [element.get("action_id") for _, element in offered]
    raise ControlError("button_not_found", f"{order.get('action_id')!r} is not there; there is {ids or 'nothing to press'}")


def _words(element: Json) -> str:
    text = element.get("text")
    return str(text["text"]) if isinstance(text, dict) else str(element["type"])
