"""Libraries around the bot whose own log lines hold rows, payloads or tokens: nothing of theirs gets out (spec H16).

Slack's client and Bolt get a logger of ours instead (`bot.listeners.edge.quiet`); the MCP and HTTP libraries are hushed where
they are used, in `host.sessions`. Refuses to know what any of them is for.
"""

from __future__ import annotations

import logging

TALKATIVE = ("slack_sdk", "slack_bolt", "sqlalchemy", "aiosqlite", "aiohttp")


def hush() -> None:
    """Whatever level anybody sets, also for loggers that are made later: each library's root hands nothing on."""
    for name in TALKATIVE:
        library = logging.getLogger(name)
        library.propagate = False
        library.addFilter(_nothing)
        if not library.handlers:
            library.addHandler(logging.NullHandler())


def _nothing(_record: logging.LogRecord) -> bool:
    return False
