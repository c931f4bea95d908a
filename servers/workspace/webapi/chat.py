"""chat.*, reactions.* and pins.*: what the app writes into channels."""

from servers.workspace.errors import ApiError
from servers.workspace.settings import Json
from servers.workspace.webapi.call import Call, Method

_CUT, _UPDATE_MOST = 40_000, 4_000


def post_message(call: Call) -> Json:
    """chat.postMessage."""
    channel = call.channel()
    message = {"channel": channel["id"], **call.own_words(), **_content(call)}
    if metadata := call.metadata():
        message["metadata"] = metadata
    if thread_ts := call.args.get("thread_ts"):
        if call.workspace.message(channel["id"], str(thread_ts)) is None:
            raise ApiError("thread_not_found")
        message["thread_ts"] = str(thread_ts)
        if call.flag("reply_broadcast"):
            message["subtype"] = "thread_broadcast"
    stored = call.workspace.add(message)
    return {"channel": channel["id"], "ts": stored["ts"], "message": call.workspace.wire(stored)}


def update(call: Call) -> Json:
    """chat.update: own messages only; `text` without `blocks` removes the blocks; metadata stays unless given."""
    channel, message = call.channel(), _own_message(call)
    text = call.args.get("text")
    if text is not None and len(str(text)) > _UPDATE_MOST:
        raise ApiError("msg_too_long")
    changed = {**message}
    if call.structure("blocks"):
        changed["blocks"] = call.blocks()
        changed["text"] = str(text) if text is not None else message["text"]
    elif text:
        changed.pop("blocks", None)
        changed |= {"text": str(text), "edited": {"user": message["user"], "ts": call.workspace.next_ts()}}
    else:
        raise ApiError("no_text")
    match call.metadata():
        case None:
            pass
        case {"event_type": _} as metadata:
            changed["metadata"] = metadata
        case _:
            changed.pop("metadata", None)
    if call.flag("reply_broadcast") and changed.get("thread_ts"):
        changed["subtype"] = "thread_broadcast"
    call.workspace.put(changed)
    wire = call.workspace.wire(changed)
    return {"channel": channel["id"], "ts": changed["ts"], "text": changed["text"], "message": wire}


def delete(call: Call) -> Json:
    """chat.delete: own messages only."""
    channel, message = call.channel(), _own_message(call, "cant_delete_message")
    call.workspace.remove(message)
    return {"channel": channel["id"], "ts": message["ts"]}


def post_ephemeral(call: Call) -> Json:
    """chat.postEphemeral."""
    channel, user = call.channel(), call.text("user")
    if user not in channel["members"]:
        raise ApiError("user_not_in_channel")
    message = {"channel": channel["id"], "to": user, **call.own_words(), **_content(call)}
    if thread_ts := call.args.get("thread_ts"):
        message["thread_ts"] = str(thread_ts)
    return {"message_ts": call.workspace.add_ephemeral(message)["ts"]}


def get_permalink(call: Call) -> Json:
    """chat.getPermalink: an address that opens the page at the message."""
    channel, ts = call.channel(member=False), call.text("message_ts")
    message = call.workspace.message(channel["id"], ts)
    if message is None:
        raise ApiError("message_not_found")
    thread = f"?thread_ts={message['thread_ts']}&cid={channel['id']}" if message.get("thread_ts") else ""
    return {"channel": channel["id"], "permalink": f"{call.base}/archives/{channel['id']}/p{ts.replace('.', '')}{thread}"}


def pin(call: Call) -> Json:
    """pins.add."""
    channel, ts = call.channel(), call.text("timestamp")
    if call.workspace.message(channel["id"], ts) is None:
        raise ApiError("message_not_found")
    pinned = call.workspace.pins.get(channel["id"], [])
    if ts in pinned:
        raise ApiError("already_pinned")
    call.workspace.set_pins(channel["id"], [*pinned, ts])
    return {}


def unpin(call: Call) -> Json:
    """pins.remove."""
    channel, ts = call.channel(), call.text("timestamp")
    pinned = call.workspace.pins.get(channel["id"], [])
    if ts not in pinned:
        raise ApiError("no_pin")
    call.workspace.set_pins(channel["id"], [other for other in pinned if other != ts])
    return {}


def list_pins(call: Call) -> Json:
    """pins.list, newest pin first."""
    channel = call.channel(member=False)
    items = []
    for ts in reversed(call.workspace.pins.get(channel["id"], [])):
        if message := call.workspace.message(channel["id"], ts):
            items.append({"type": "message", "channel": channel["id"], "message": call.workspace.wire(message)})
    return {"items": items}


def react(call: Call) -> Json:
    """reactions.add."""
    message, name, me = _reacted(call), call.text("name").strip(":"), call.workspace.seed.app["user_id"]
    reactions = {item["name"]: item["users"] for item in message.get("reactions", [])}
    if me in reactions.get(name, []):
        raise ApiError("already_reacted")
    reactions[name] = [*reactions.get(name, []), me]
    return _put_reactions(call, message, reactions)


def unreact(call: Call) -> Json:
    """reactions.remove."""
    message, name, me = _reacted(call), call.text("name").strip(":"), call.workspace.seed.app["user_id"]
    reactions = {item["name"]: item["users"] for item in message.get("reactions", [])}
    if me not in reactions.get(name, []):
        raise ApiError("no_reaction")
    reactions[name] = [user for user in reactions[name] if user != me]
    return _put_reactions(call, message, reactions)


def _content(call: Call) -> Json:
    blocks, text = call.blocks(), call.args.get("text") or ""
    if not blocks and not text:
        raise ApiError("no_text")
    literal = {"parse": "none"} if call.args.get("parse") == "none" else {}
    return {"text": str(text)[:_CUT], **literal, **({"blocks": blocks} if blocks else {})}


def _own_message(call: Call, foreign: str = "cant_update_message") -> Json:
    message = call.workspace.message(call.channel()["id"], call.text("ts"))
    if message is None or message.get("subtype") == "tombstone":
        raise ApiError("message_not_found")
    if message["user"] != call.workspace.seed.app["user_id"]:
        raise ApiError(foreign)
    return message


def _reacted(call: Call) -> Json:
    message = call.workspace.message(call.channel()["id"], call.text("timestamp"))
    if message is None:
        raise ApiError("message_not_found")
    return message


def _put_reactions(call: Call, message: Json, reactions: dict[str, list[str]]) -> Json:
    items = [{"name": name, "users": users, "count": len(users)} for name, users in reactions.items() if users]
    call.workspace.put({**message, "reactions": items})
    return {}


METHODS: dict[str, tuple[Method, str]] = {
    "chat.postMessage": (post_message, "chat:write"),
    "chat.update": (update, "chat:write"),
    "chat.delete": (delete, "chat:write"),
    "chat.postEphemeral": (post_ephemeral, "chat:write"),
    "chat.getPermalink": (get_permalink, ""),
    "pins.add": (pin, "pins:write"),
    "pins.remove": (unpin, "pins:write"),
    "pins.list": (list_pins, "pins:read"),
    "reactions.add": (react, "reactions:write"),
    "reactions.remove": (unreact, "reactions:write"),
}
