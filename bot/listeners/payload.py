"""Slack's payloads of presses, forms and commands, read into one shape: ids, and nothing that anybody is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.roles import Clicker
from host.types import Json

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Click:
    """What was pressed, by whom and where. `value` is an opaque id; nothing else of the message is looked at."""

    clicker: Clicker
    value: str = ""
    trigger_id: str = ""
    channel: str = ""
    thread_ts: str = ""
    response_url: str = ""
    view_id: str = ""
    values: Mapping[str, Mapping[str, Json]] | None = None


def click_from(body: Body) -> Click:
    """From the payload of a button, a form or a command. A person's own workspace counts, not where they pressed."""
    user = body.get("user") or {}
    team = user.get("team_id") or (body.get("team") or {}).get("id") or body.get("team_id") or ""
    view, message, container = body.get("view") or {}, body.get("message") or {}, body.get("container") or {}
    action: Mapping[str, Any] = next(iter(body.get("actions") or ()), {})
    state = (view.get("state") or {}).get("values") if body.get("type") == "view_submission" else None
    return Click(
        clicker=Clicker(str(user.get("id") or body.get("user_id") or ""), (str(team),) if team else ()),
        value=str(action.get("value") or "") if action else str(view.get("private_metadata") or ""),
        trigger_id=str(body.get("trigger_id") or ""),
        channel=str((body.get("channel") or {}).get("id") or body.get("channel_id") or container.get("channel_id") or ""),
        thread_ts=_thread(message),
        response_url=str(body.get("response_url") or ""),
        view_id=str(view.get("id") or ""),
        values=state,
    )


def _thread(message: Body) -> str:
    """The thread of a pressed reply; "" for a card in the channel, as its presser may not have the thread open."""
    thread = str(message.get("thread_ts") or "")
    return thread if thread != message.get("ts") else ""
