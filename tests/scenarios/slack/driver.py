"""The bot as a process of its own, with a scripted model: `python driver.py SLACK_URL STATE CHANNEL`, tokens from environment.

The script is a function of the request, so that a process that goes on where another was killed says the same.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from bot import settings as settings_file
from bot.app import SlackSettings
from bot.cli.up import serve
from models.port import Reply, Request
from models.scripted import ScriptedModel, call

ROOT = Path(__file__).resolve().parents[3]


def refund(request: Request) -> Reply:
    """Quote the order that the ticket names, issue the refund, say what came of it."""
    start = max(n for n, one in enumerate(request.messages) if one.role == "user" and one.content.startswith("Ticket:"))
    said = "\n".join(one.content for one in request.messages[start:] if one.role == "tool")
    order = re.search(r"O-\d{4}", request.messages[start].content)
    assert order is not None, "the ticket names its order"
    quote = re.search(r"Q-[0-9a-f]{10}", said)
    if quote is None:
        return call("shop.quote_refund", order_id=order[0])
    if "shop.issue_refund:" not in said:
        return call("shop.issue_refund", quote_id=quote[0])
    if "shop.issue_refund: result" in said:
        amount = re.findall(r'"amount":([0-9.]+)', said)[-1]
        return call("desk.reply", text=f"Your refund of {float(amount):.2f} EUR for order {order[0]} has been requested.")
    return call("desk.reply", text="A colleague will look at your order.")


def main(slack_url: str, state: str, channel: str) -> None:
    settings = settings_file.load(ROOT / "deskhand.toml", Path(state))
    tokens = settings.environment
    slack = SlackSettings(
        tokens.slack_bot_token.get_secret_value(), tokens.slack_app_token.get_secret_value(), channel, slack_url
    )
    shop_alone = settings.host.model_copy(update={"servers": {"shop": settings.host.servers["shop"]}})
    anyio.run(serve, replace(settings, host=shop_alone), slack, ScriptedModel(refund), False)


if __name__ == "__main__":
    main(*sys.argv[1:])
