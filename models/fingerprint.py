"""Digests of what a model is asked (spec M7).  Pure.

Keys keep their order on purpose: the prompt is rendered in that order, so two requests that differ in it are two prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from models.port import Message, Request, ToolSpec


def digest(request: Request) -> str:
    """sha256 (hex) over the exact messages, tools, offers and sampling."""
    return _sha256({**_prompt(request.messages, request.tools), **_decoding(request)})


def prefix_digest(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """sha256 (hex) over the part of a prompt that stays the same: give the messages that don't change, as a rule the first."""
    return _sha256(_prompt(messages, tools))


def _prompt(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    return {
        "messages": [
            [message.role, message.content, [[call.name, call.arguments] for call in message.calls]] for message in messages
        ],
        "tools": [[tool.name, tool.description, tool.schema] for tool in tools],
    }


def _decoding(request: Request) -> dict[str, Any]:
    return {
        "offers": [[offer.name, offer.schema] for offer in request.offers],
        "sampling": asdict(request.sampling),
    }


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
