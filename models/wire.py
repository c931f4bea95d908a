"""Frames between `llama` (parent) and `engine` (child): four bytes of length, big-endian, then one JSON object in UTF-8.

Both sides import this and nothing of each other.

    parent → child  {"op": "reply", "id", "segments": [[text, special]], "offers": [{name, schema}], "sampling": {…}}
                    {"op": "cancel", "id"}          end of input means: stop at once, the parent is gone
    child → parent  {"event": "ready", "settings": {…}} | {"event": "failed", "text"}          once, after loading
                    {"event": "tick", "id"}                                                   at most one a second
                    {"event": "reply", "id", "raw", "stopped", "usage"} | {"event": "error", "id", "kind", "text"}
"""

from __future__ import annotations

import json
from typing import Any, Literal

HEAD = 4
MAX_FRAME = 64 * 1024 * 1024
Stopped = Literal["grammar", "end", "max_tokens"]
ErrorKind = Literal["prompt_too_long", "grammar", "cancelled"]


def pack(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return len(body).to_bytes(HEAD, "big") + body


def size_of(head: bytes) -> int:
    """Length of the body that follows `head`. Raises `ValueError` when it can't be one of our frames."""
    size = int.from_bytes(head, "big")
    if size > MAX_FRAME:
        raise ValueError("not a frame of the engine's protocol")
    return size


def take(buffer: bytearray) -> dict[str, Any] | None:
    """Cut one whole frame off the front of `buffer`; None when more bytes are needed."""
    if len(buffer) < HEAD:
        return None
    end = HEAD + size_of(bytes(buffer[:HEAD]))
    if len(buffer) < end:
        return None
    message: dict[str, Any] = json.loads(bytes(buffer[HEAD:end]))
    del buffer[:end]
    return message
