"""views.*: modals and home tabs as the app opens and changes them."""

import json
import secrets
import time

from servers.workspace.blocks import messages, view_problems, with_action_ids, with_ids
from servers.workspace.errors import ApiError
from servers.workspace.forms import values
from servers.workspace.settings import Json
from servers.workspace.webapi.call import Call, Method
from servers.workspace.workspace import Workspace, new_id, public

_STACK, _MOST_BYTES = 3, 250_000


def open_view(call: Call) -> Json:
    """views.open: needs a trigger; a modal that was open is left behind, as in the client."""
    view = checked(call.structure("view"))
    trigger = call.tickets.use_trigger(call.args.get("trigger_id"))
    for other in call.workspace.stack(trigger.user_id):
        call.workspace.put_view({**other, "_open": False})
    return {"view": public(opened(call.workspace, trigger.user_id, view))}


def push(call: Call) -> Json:
    """views.push: a further modal over the one acted in; three at most."""
    view = checked(call.structure("view"))
    trigger = call.tickets.use_trigger(call.args.get("trigger_id"))
    return {"view": public(pushed(call.workspace, trigger.user_id, view))}


def update(call: Call) -> Json:
    """views.update: by view_id or external_id; a given hash must be the current one."""
    view = checked(call.structure("view"))
    current = _find(call)
    if call.args.get("hash") and call.args["hash"] != current["hash"]:
        raise ApiError("hash_conflict")
    return {"view": public(updated(call.workspace, current, view))}


def publish(call: Call) -> Json:
    """views.publish: a person's home tab."""
    user_id = call.text("user_id")
    if user_id not in call.workspace.seed.people:
        raise ApiError("user_not_found")
    current = call.workspace.homes.get(user_id)
    if call.args.get("hash") and current and call.args["hash"] != current["hash"]:
        raise ApiError("hash_conflict")
    view = checked(call.structure("view"), "home")
    full = _full(call.workspace, user_id, view, current["id"] if current else new_id("V"))
    call.workspace.put_home(user_id, full)
    return {"view": public(full)}


def checked(view: object, kind: str = "modal") -> Json:
    """A view that keeps to the limits."""
    problems = list(view_problems(view, kind))
    if problems or not isinstance(view, dict):
        raise ApiError("invalid_arguments", response_metadata={"messages": messages(problems)})
    if len(json.dumps(view)) > _MOST_BYTES:
        raise ApiError("view_too_large")
    return view


def opened(workspace: Workspace, user_id: str, view: Json) -> Json:
    """Show a new modal as the only one."""
    full = _full(workspace, user_id, view, new_id("V"))
    workspace.put_view(full)
    return full


def pushed(workspace: Workspace, user_id: str, view: Json) -> Json:
    """Show a new modal over the ones that are open."""
    stack = workspace.stack(user_id)
    if len(stack) >= _STACK:
        raise ApiError("push_limit_reached")
    if not stack:
        return opened(workspace, user_id, view)
    full = _full(workspace, user_id, view, new_id("V"))
    full |= {"previous_view_id": stack[-1]["id"], "root_view_id": stack[0]["root_view_id"], "_depth": len(stack)}
    workspace.put_view(full)
    return full


def updated(workspace: Workspace, current: Json, view: Json) -> Json:
    """Replace a modal's content; inputs with the same block_id and action_id keep what was typed."""
    full = _full(workspace, current["_user"], view, current["id"], current["state"]["values"])
    full |= {key: current[key] for key in ("previous_view_id", "root_view_id", "_depth", "_open")}
    workspace.put_view(full)
    return full


def _find(call: Call) -> Json:
    views = call.workspace.views
    wanted = call.args.get("external_id")
    by_name = (view for view in views.values() if wanted and view["external_id"] == wanted and view["_open"])
    found = views.get(str(call.args.get("view_id"))) or next(by_name, None)
    if found is None or not found["_open"]:
        raise ApiError("not_found")
    return found


def _full(workspace: Workspace, user_id: str, view: Json, view_id: str, before: Json | None = None) -> Json:
    blocks = with_action_ids(with_ids(view["blocks"]))
    app, team = workspace.seed.app, workspace.seed.team["id"]
    defaults: Json = {"callback_id": "", "private_metadata": "", "external_id": "", "title": None, "submit": None, "close": None}
    defaults |= {"clear_on_close": False, "notify_on_close": False}
    own: Json = {"id": view_id, "team_id": team, "root_view_id": view_id, "previous_view_id": None}
    own |= {"app_id": app["id"], "app_installed_team_id": team, "bot_id": app["bot_id"], "blocks": blocks}
    own |= {"hash": f"{int(time.time())}.{secrets.token_hex(4)}", "state": {"values": values(blocks, {}, before or {})}}
    return {**defaults, **view, **own, "_user": user_id, "_open": True, "_depth": 0}


METHODS: dict[str, tuple[Method, str]] = {
    "views.open": (open_view, ""),
    "views.push": (push, ""),
    "views.update": (update, ""),
    "views.publish": (publish, ""),
}
