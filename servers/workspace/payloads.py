"""What the app receives when a person acts: payloads in the shape of the platform's published samples. Pure; sends nothing."""

import time

from servers.workspace.forms import stateful
from servers.workspace.settings import Json, Seed
from servers.workspace.workspace import public

_VERIFICATION = "local-verification"


def action(block: Json, element: Json, held: Json | None, ts: str) -> Json:
    """One entry of `actions`: the element that was used, with its value or selection."""
    keep = ("type", "action_id", "text", "value", "style", "url", "placeholder")
    used = {key: element[key] for key in keep if key in element}
    if held and (stateful(element) or element["type"] == "overflow"):
        used |= {key: value for key, value in held.items() if key != "type"}
    return {**used, "block_id": block["block_id"], "action_ts": ts}


def block_actions(seed: Seed, user_id: str, trigger_id: str, used: Json, place: Json) -> Json:
    """A button or select was used; `place` holds container, and channel, message, state, response_url or view."""
    return {"type": "block_actions", **_common(seed, user_id), "trigger_id": trigger_id, **place, "actions": [used]}


def in_message(seed: Seed, channel: Json, message: Json, wire: Json, response_url: str, state: Json) -> Json:
    """The place of an action in a channel message or an ephemeral."""
    ephemeral = bool(message.get("is_ephemeral"))
    container = {"type": "message", "message_ts": message["ts"], "channel_id": channel["id"], "is_ephemeral": ephemeral}
    if message.get("thread_ts"):
        container["thread_ts"] = message["thread_ts"]
    place: Json = {"container": container, "channel": _named(channel), "state": {"values": state}, "response_url": response_url}
    # the platform sends no message for an ephemeral, only its place
    return place if ephemeral else {**place, "message": {**wire, "app_id": seed.app["id"]}}


def in_view(view: Json) -> Json:
    """The place of an action in a modal or a home tab."""
    return {"container": {"type": "view", "view_id": view["id"]}, "view": public(view)}


def view_submission(seed: Seed, user_id: str, trigger_id: str, view: Json) -> Json:
    """A modal was submitted."""
    return {
        "type": "view_submission",
        **_common(seed, user_id),
        "trigger_id": trigger_id,
        "view": public(view),
        "response_urls": [],
    }


def view_closed(seed: Seed, user_id: str, view: Json, cleared: bool) -> Json:
    """A modal that asked to be told was closed."""
    return {"type": "view_closed", **_common(seed, user_id), "view": public(view), "is_cleared": cleared}


def shortcut(seed: Seed, user_id: str, trigger_id: str, callback_id: str, place: Json | None) -> Json:
    """A message shortcut (with its place) or a global one."""
    kind = "message_action" if place else "shortcut"
    stamp = {"action_ts": f"{time.time():.6f}", "callback_id": callback_id, "trigger_id": trigger_id}
    return {"type": kind, **_common(seed, user_id), **stamp, **(place or {})}


def slash_command(seed: Seed, user_id: str, channel: Json, command: str, text: str, trigger_id: str, response_url: str) -> Json:
    """A slash command was typed."""
    team, user = seed.team_of(user_id), seed.people[user_id]
    who = {"team_id": team["id"], "team_domain": team["domain"], "user_id": user_id, "user_name": user["name"]}
    where = {"channel_id": channel["id"], "channel_name": channel["name"] or "directmessage"}
    what = {"command": command, "text": text, "api_app_id": seed.app["id"], "is_enterprise_install": "false"}
    return {"token": _VERIFICATION, **who, **where, **what, "response_url": response_url, "trigger_id": trigger_id}


def event(seed: Seed, body: Json, event_id: str) -> Json:
    """An Events API envelope's payload."""
    team = seed.team["id"]
    authorization = {"enterprise_id": None, "team_id": team, "user_id": seed.app["user_id"], "is_bot": True}
    return {
        "token": _VERIFICATION,
        "team_id": team,
        "context_team_id": team,
        "api_app_id": seed.app["id"],
        "event": body,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(time.time()),
        "authorizations": [{**authorization, "is_enterprise_install": False}],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event_id}",
    }


def _common(seed: Seed, user_id: str) -> Json:
    team, user = seed.team_of(user_id), seed.people[user_id]
    person = {"id": user_id, "username": user["name"], "name": user["name"], "team_id": team["id"]}
    workspace = {"id": team["id"], "domain": team["domain"]}
    enterprise = {"enterprise": None, "is_enterprise_install": False}
    return {"user": person, "team": workspace, **enterprise, "api_app_id": seed.app["id"], "token": _VERIFICATION}


def _named(channel: Json) -> Json:
    return {"id": channel["id"], "name": channel["name"] or "directmessage"}
