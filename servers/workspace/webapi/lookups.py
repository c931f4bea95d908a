"""auth, apps, team, bots, users, usergroups, conversations and blocks.validate: what the app reads."""

from servers.workspace.blocks import MOST_IN_MESSAGE, block_problems, messages
from servers.workspace.errors import ApiError
from servers.workspace.settings import Json
from servers.workspace.webapi.call import Call, Method

_MOST_PAGE = 999


def auth_test(call: Call) -> Json:
    """auth.test."""
    team, app = call.workspace.seed.team, call.workspace.seed.app
    who = {"team": team["name"], "user": app["name"], "team_id": team["id"], "user_id": app["user_id"]}
    return {"url": f"{call.base}/", **who, "bot_id": app["bot_id"], "is_enterprise_install": False}


def open_connection(call: Call) -> Json:
    """apps.connections.open: the address of a socket, good for one connection."""
    address = call.base.replace("http", "ws", 1)
    return {"url": f"{address}/link/?ticket={call.tickets.socket()}&app_id={call.workspace.seed.app['id']}"}


def team_info(call: Call) -> Json:
    """team.info."""
    return {"team": call.workspace.seed.team}


def bots_info(call: Call) -> Json:
    """bots.info."""
    app = call.workspace.seed.app
    return {"bot": {"id": app["bot_id"], "app_id": app["id"], "user_id": app["user_id"], "name": app["name"], "deleted": False}}


def users_info(call: Call) -> Json:
    """users.info."""
    user = call.workspace.user(call.text("user"))
    if user is None:
        raise ApiError("user_not_found")
    return {"user": _user(user)}


def users_list(call: Call) -> Json:
    """users.list."""
    return {"members": [_user(user) for user in call.workspace.seed.people.values()], "response_metadata": {"next_cursor": ""}}


def usergroups_list(call: Call) -> Json:
    """usergroups.list."""
    team = call.workspace.seed.team["id"]
    groups = []
    for group in call.workspace.seed.usergroups.values():
        shown = {key: value for key, value in group.items() if key != "users" or call.flag("include_users")}
        groups.append({**shown, "team_id": team, "is_usergroup": True, "date_delete": 0, "user_count": len(group["users"])})
    return {"usergroups": groups}


def usergroup_users(call: Call) -> Json:
    """usergroups.users.list."""
    group = call.workspace.seed.usergroups.get(call.text("usergroup"))
    if group is None:
        raise ApiError("no_such_subteam")
    return {"users": group["users"]}


def conversation_info(call: Call) -> Json:
    """conversations.info."""
    return {"channel": _channel(call, call.channel(member=False))}


def conversation_list(call: Call) -> Json:
    """conversations.list: channels the app may see."""
    me = call.workspace.seed.app["user_id"]
    kinds = str(call.args.get("types") or "public_channel").split(",")
    seen = [c for c in call.workspace.channels.values() if _kind(c) in kinds and (not c.get("is_private") or me in c["members"])]
    kept = [c for c in seen if not (call.flag("exclude_archived") and c.get("is_archived"))]
    return {"channels": [_channel(call, c) for c in kept], "response_metadata": {"next_cursor": ""}}


def conversation_members(call: Call) -> Json:
    """conversations.members."""
    page, cursor = _page(call, call.channel(member=False)["members"])
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


def open_conversation(call: Call) -> Json:
    """conversations.open with one person."""
    user_id = str(call.args.get("users") or "")
    if user_id not in call.workspace.seed.people:
        raise ApiError("user_not_found")
    channel = call.workspace.open_dm(user_id)
    return {"channel": _channel(call, channel) if call.flag("return_im") else {"id": channel["id"]}}


def join(call: Call) -> Json:
    """conversations.join: public channels only."""
    channel = call.channel(member=False)
    if channel.get("is_private") or channel.get("is_im"):
        raise ApiError("method_not_supported_for_channel_type")
    if channel.get("is_archived"):
        raise ApiError("is_archived")
    return {"channel": _channel(call, channel)}


def history(call: Call) -> Json:
    """conversations.history: newest first, without thread replies."""
    channel = call.channel()
    found = [m for m in reversed(call.workspace.top_level(channel["id"])) if _within(call, m["ts"])]
    return _messages(call, found, channel["id"])


def replies(call: Call) -> Json:
    """conversations.replies: the message itself and its replies, oldest first."""
    channel, ts = call.channel(), call.text("ts")
    root = call.workspace.message(channel["id"], ts)
    if root is None:
        raise ApiError("thread_not_found")
    root_ts = root.get("thread_ts") or ts
    first = call.workspace.message(channel["id"], root_ts) or root
    later = [reply for reply in call.workspace.thread(channel["id"], root_ts) if _within(call, reply["ts"])]
    return _messages(call, [first, *later], channel["id"])


def validate(call: Call) -> Json:
    """blocks.validate."""
    problems = list(block_problems(call.structure("blocks"), MOST_IN_MESSAGE))
    if problems:
        raise ApiError("invalid_blocks", response_metadata={"messages": messages(problems)})
    return {}


def _user(user: Json) -> Json:
    flags = {flag: bool(user.get(flag)) for flag in ("is_admin", "is_restricted", "is_ultra_restricted", "is_bot", "is_stranger")}
    profile = {"display_name": user["name"], "real_name": user["real_name"], "title": user.get("title", "")}
    names = {"id": user["id"], "team_id": user["team_id"], "name": user["name"], "real_name": user["real_name"]}
    return {**names, "deleted": False, "is_owner": False, **flags, "tz": "Europe/Berlin", "tz_offset": 3600, "profile": profile}


def _kind(channel: Json) -> str:
    if channel.get("is_im"):
        return "im"
    return "private_channel" if channel.get("is_private") else "public_channel"


def _channel(call: Call, channel: Json) -> Json:
    me, private, direct = call.workspace.seed.app["user_id"], bool(channel.get("is_private")), bool(channel.get("is_im"))
    shape = {"is_channel": not (private or direct), "is_group": private, "is_im": direct, "is_private": private or direct}
    shown = {key: value for key, value in channel.items() if key not in ("members", "topic")}
    topic = {"value": channel.get("topic", ""), "creator": "", "last_set": 0}
    more = {"is_archived": bool(channel.get("is_archived")), "num_members": len(channel["members"])}
    return {**shown, **shape, "topic": topic, **more, "is_member": me in channel["members"], "is_ext_shared": False}


def _within(call: Call, ts: str) -> bool:
    oldest, latest = str(call.args.get("oldest") or "0"), str(call.args.get("latest") or "9999999999")
    try:
        first, last, at = float(oldest), float(latest), float(ts)
    except ValueError as error:
        raise ApiError(
            "invalid_arguments", response_metadata={"messages": ["[ERROR] oldest and latest are timestamps"]}
        ) from error
    return first <= at <= last if call.flag("inclusive") else first < at < last


def _page(call: Call, items: list[object]) -> tuple[list[object], str]:
    try:
        start, size = int(call.args.get("cursor") or 0), int(call.args.get("limit") or 100)
    except ValueError as error:
        raise ApiError("invalid_cursor") from error
    end = start + max(1, min(size, _MOST_PAGE))
    return items[start:end], str(end) if end < len(items) else ""


def _messages(call: Call, found: list[Json], channel_id: str) -> Json:
    page, cursor = _page(call, list(found))
    metadata = call.flag("include_all_metadata")
    shown = [call.workspace.wire(message, metadata) for message in page if isinstance(message, dict)]
    more = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    return {"messages": shown, "has_more": bool(cursor), "pin_count": len(call.workspace.pins.get(channel_id, [])), **more}


METHODS: dict[str, tuple[Method, str]] = {
    "auth.test": (auth_test, ""),
    "apps.connections.open": (open_connection, ""),
    "team.info": (team_info, "team:read"),
    "bots.info": (bots_info, "users:read"),
    "users.info": (users_info, "users:read"),
    "users.list": (users_list, "users:read"),
    "usergroups.list": (usergroups_list, "usergroups:read"),
    "usergroups.users.list": (usergroup_users, "usergroups:read"),
    "conversations.info": (conversation_info, "*:read"),
    "conversations.list": (conversation_list, "*:read"),
    "conversations.members": (conversation_members, "*:read"),
    "conversations.open": (open_conversation, "im:write"),
    "conversations.join": (join, "channels:join"),
    "conversations.history": (history, "*:history"),
    "conversations.replies": (replies, "*:history"),
    "blocks.validate": (validate, ""),
}
