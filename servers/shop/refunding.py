"""`issue_refund`: makes the refund of a quote and, when the API holds it, asks for its release (spec S3).

The refund is made first, held, so that the question can name its id. Every round of the call runs `made` again: the
quote and the idempotency key find the same row. The resolvers' module and names are part of the question's key in
requestState: renaming them makes open questions be asked again.
"""

from typing import Annotated

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from servers.shop.caller import caller_of
from servers.shop.rules import euros
from servers.shop.shapes import RefundRequest, RefundView
from servers.shop.tools import ShopContext, answered, api_of


class Release(BaseModel):
    release: bool = Field(title="Release the refund", description="Yes lets the shop pay it out; no leaves it held")


async def made(ctx: ShopContext, quote_id: str, idempotency_key: str | None) -> RefundView:
    caller = caller_of(ctx)
    wanted = RefundRequest(quote_id=quote_id, idempotency_key=idempotency_key, acting=caller.acting)
    return await answered(api_of(ctx).refund(caller.ticket_id, wanted))


async def ask_release(refund: Annotated[RefundView, Resolve(made)]) -> Release | Elicit[Release]:
    """Asks only while the refund is held. The words hold nothing that changes between rounds."""
    if refund.status != "held":
        return Release(release=True)
    return Elicit(
        f"Refund {refund.refund_id} on order {refund.order_id} over {_amount(refund)} is above the limit and held. Release it?",
        Release,
    )


async def issue_refund(
    ctx: ShopContext,
    quote_id: Annotated[  # noqa: ARG001 - read by made()
        str, Field(description="The quote_id that quote_refund returned, in the form Q-<ten hex digits>")
    ],
    refund: Annotated[RefundView, Resolve(made)],
    answer: Annotated[ElicitationResult[Release], Resolve(ask_release)],
    idempotency_key: Annotated[  # noqa: ARG001 - read by made()
        str | None, Field(min_length=1, max_length=200, description="Filled by the calling program")
    ] = None,
) -> RefundView:
    """Make the refund of a quote, once. Only when the customer asks for the money; large ones wait for a release."""
    if refund.status != "held":
        return refund
    if isinstance(answer, AcceptedElicitation) and answer.data.release:
        return await answered(api_of(ctx).release(refund.refund_id, caller_of(ctx).acting))
    raise ToolError(
        f"not released: the API still holds {refund.refund_id} ({_amount(refund)} on order {refund.order_id}). "
        "Nothing is paid; do not try again, tell the customer that a team lead has to decide"
    )


def _amount(refund: RefundView) -> str:
    return f"{euros(round(refund.amount * 100))} {refund.currency}"
