"""Who calls a tool, and about which ticket: read from the call's `_meta` and its token, never from arguments.

Refuses to know what the call wants.
"""

from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from servers.shop.auth import current_holder
from servers.shop.client import ShopApi

TICKET_META = "shop.example/ticket_id"
ACTING_META = "shop.example/acting"


@dataclass(frozen=True)
class Caller:
    """`acting` is the token's subject where there is a token, else what `_meta` says (spec H3, H10)."""

    ticket_id: str
    acting: str | None


def caller_of(ctx: Context[ShopApi, Any]) -> Caller:
    """Raises ToolError when no ticket is named, or the token's subject may not handle it."""
    meta: dict[str, Any] = dict(ctx.request_context.meta or {})
    ticket_id, acting = meta.get(TICKET_META), meta.get(ACTING_META)
    if not isinstance(ticket_id, str) or not ticket_id:
        raise ToolError(f"this call names no ticket: send the ticket's id in _meta under {TICKET_META}")
    holder = current_holder()
    if holder is None:
        return Caller(ticket_id, acting if isinstance(acting, str) else None)
    if holder.tickets is not None and ticket_id not in holder.tickets:
        raise ToolError(f"{holder.subject} may not handle this ticket: hand it to somebody who may")
    return Caller(ticket_id, holder.subject)
