"""Between rows and frozen data: one adapter a type, times as ISO text in UTC."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from host.types import Actor, Answer, Approval, Ticket

TICKET: TypeAdapter[Ticket] = TypeAdapter(Ticket)
ACTOR: TypeAdapter[Actor] = TypeAdapter(Actor)
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
APPROVALS: TypeAdapter[tuple[Approval, ...]] = TypeAdapter(tuple[Approval, ...])


def iso(moment: datetime) -> str:
    """Sortable as text: UTC, always with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def dumps(value: Any) -> str:
    """Compact, sorted, the same bytes for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text(adapter: TypeAdapter[Any], value: Any) -> str:
    return adapter.dump_json(value).decode()
