"""What the server without an SDK answers, whichever way it is reached."""

import json
import os
from pathlib import Path
from typing import Any

ANY = {"type": "object", "properties": {}}
TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
SLOW = {"type": "object", "properties": {"total": {"type": "string", "pattern": "^(a+)+$"}}}
REMOTE = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}}
HEADER = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "not a header!"}}}
TOOLS: list[Any] = [
    {"name": "plain", "description": "Fine.", "inputSchema": ANY},
    {"name": "no_schema", "description": "Its schema is empty.", "inputSchema": {}},
    {"name": "no_name_type", "description": 7, "inputSchema": ANY},
    {"name": "remote_ref", "description": "Refers elsewhere.", "inputSchema": REMOTE},
    {"name": "bad_header", "description": "Marks a header badly.", "inputSchema": HEADER},
    {"name": "liar", "description": "Breaks its promise.", "inputSchema": ANY, "outputSchema": TOTAL},
    {"name": "silent", "description": "Sends no structure.", "inputSchema": ANY, "outputSchema": TOTAL},
    {"name": "backtrack", "description": "Promises a slow pattern.", "inputSchema": ANY, "outputSchema": SLOW},
    {"name": "strange", "description": "Sends a new kind of block.", "inputSchema": ANY},
    {"name": "mute", "description": "Never answers.", "inputSchema": ANY},
    {"name": "refuse", "description": "Answers with an error.", "inputSchema": ANY},
    {"name": "garbage", "description": "Answers with a line that is no JSON.", "inputSchema": ANY},
    {"name": "no_content", "description": "Leaves content out.", "inputSchema": ANY},
    {"name": "late_and_bad", "description": "Its schema is a list.", "inputSchema": []},
    {"name": "last", "description": "Fine too.", "inputSchema": ANY},
]
LONG, ENDLESS = 6 * 1024 * 1024, 80 * 1024 * 1024
PAGE = 5
FORM = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}


def era() -> str:
    path = os.environ.get("RAW_ERA_FILE")
    return Path(path).read_text().strip() if path else os.environ.get("RAW_ERA", "2026")


def tools() -> list[Any]:
    path = os.environ.get("RAW_TOOLS")
    return json.loads(Path(path).read_text()) if path else TOOLS


def listing(cursor: str | None) -> dict[str, Any]:
    start = int(cursor or 0)
    page: dict[str, Any] = {"tools": tools()[start : start + PAGE]}
    if start + PAGE < len(tools()):
        page["nextCursor"] = str(start + PAGE)
    return modern(page | {"ttlMs": int(os.environ.get("RAW_TTL_MS", "0")), "cacheScope": "private"} if era() == "2026" else page)


def modern(result: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **result} if era() == "2026" else result


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "quit":
            os._exit(1)
        case "liar":
            return {**text("as text"), "structuredContent": {"total": "secret-4711"}}
        case "backtrack":
            return {**text("as text"), "structuredContent": {"total": "a" * 40 + "!"}}
        case "not_a_number":
            return {**text("as text"), "structuredContent": {"total": float("nan")}}
        case "strange":
            return {"content": [{"type": "hologram", "depth": 3}, *text("as text")["content"]]}
        case "no_content":
            return {"structuredContent": {"a": 1}}
        case "patience" if params.get("requestState") != "round-2":
            return {"resultType": "input_required", "requestState": "round-2"}
        case "many_parts":
            return {"content": [{"type": "text", "text": "x"}] * 1_001}
        case "enough_parts":
            return {"content": [{"type": "text", "text": "x"}] * 1_000}
        case "token":
            return text(str(params.get("token")))
        case _:
            return text("as text")


WANTED = [{"mode": "url", "message": "Sign in first", "url": "https://shop.example.com/sign-in", "elicitationId": "e-1"}]
OPENED: list[str] = []
NOT_SPOKEN = {"code": -32022, "message": "not spoken", "data": {"supported": ["2026-07-28"], "requested": "2026-07-28"}}
JSON = "application/json"


def error_of(name: str) -> dict[str, Any] | None:
    if name == "refuse":
        return {"code": -32602, "message": "I would rather not"}
    if name in ("own_-32000", "own_-32001"):
        return {"code": int(name[4:]), "message": "the order is locked"}
    if name == "needs_url":
        OPENED.append(name)
        return {"code": -32042, "message": "open this", "data": {"elicitations": WANTED}} if len(OPENED) == 1 else None
    if name == "needs_nonsense":
        return {"code": -32042, "message": "open this", "data": {"elicitations": [{"url": 7}]}}
    if name == "other_version":
        OPENED.append(name)
        return NOT_SPOKEN if len(OPENED) == 1 else None
    return None


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """A JSON-RPC response, or None for a message that is never answered."""
    method, params = message.get("method", ""), message.get("params") or {}
    name = params.get("name", "") if method == "tools/call" else ""
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    if "id" not in message or name == "mute":
        return None
    if method == "initialize":
        info = {"name": "Raw", "version": os.environ.get("RAW_VERSION", "1")}
        version = os.environ.get("RAW_REVISION", "2025-06-18") if era() == "2025" else params["protocolVersion"]
        return reply | {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "server/discover" and era() == "2026":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
        return reply | {"result": modern(found)}
    if method == "tools/list" and (era() == "2026") == ("io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})):
        return reply | {"result": listing(params.get("cursor"))}
    if method == "tools/call" and (error := error_of(name)) is not None:
        return reply | {"error": error}
    if method == "tools/call":
        return reply | {"result": modern(call(name, params))}
    return reply | {"error": {"code": -32601, "message": "no such method"}}


def result_of(identity: Any, words: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": modern(text(words))}
