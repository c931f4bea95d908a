"""A server without an SDK, for what a well-made one can't say. `python raw.py [--http PORT]`; $RAW_ERA is "2026" or "2025".

$RAW_TOOLS may name a JSON file whose list of tools is offered in place of the built-in one, read at each listing.
"""

import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ANY = {"type": "object", "properties": {}}
TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
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
    {"name": "strange", "description": "Sends a new kind of block.", "inputSchema": ANY},
    {"name": "mute", "description": "Never answers.", "inputSchema": ANY},
    {"name": "refuse", "description": "Answers with an error.", "inputSchema": ANY},
    {"name": "garbage", "description": "Answers with a line that is no JSON.", "inputSchema": ANY},
    {"name": "no_content", "description": "Leaves content out.", "inputSchema": ANY},
]
ERA = os.environ.get("RAW_ERA", "2026")
PAGE = 5


def tools() -> list[Any]:
    path = os.environ.get("RAW_TOOLS")
    return json.loads(Path(path).read_text()) if path else TOOLS


def listing(cursor: str | None) -> dict[str, Any]:
    start = int(cursor or 0)
    page: dict[str, Any] = {"tools": tools()[start : start + PAGE]}
    if start + PAGE < len(tools()):
        page["nextCursor"] = str(start + PAGE)
    return modern(page | {"ttlMs": 0, "cacheScope": "private"} if ERA == "2026" else page)


def modern(result: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **result} if ERA == "2026" else result


def call(name: str) -> dict[str, Any]:
    text = [{"type": "text", "text": "as text"}]
    match name:
        case "quit":
            os._exit(1)
        case "liar":
            return {"content": text, "structuredContent": {"total": "secret-4711"}}
        case "strange":
            return {"content": [{"type": "hologram", "depth": 3}, *text]}
        case "no_content":
            return {"structuredContent": {"a": 1}}
        case _:
            return {"content": text}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """A JSON-RPC response, or None for a message that is never answered."""
    method, params = message["method"], message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    if "id" not in message or (method == "tools/call" and params["name"] == "mute"):
        return None
    if method == "initialize":
        info = {"name": "Raw", "version": os.environ.get("RAW_VERSION", "1")}
        version = "2025-06-18" if ERA == "2025" else params["protocolVersion"]
        return reply | {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "server/discover" and ERA == "2026":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
        return reply | {"result": modern(found)}
    if method == "tools/list" and (ERA == "2026") == ("io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})):
        return reply | {"result": listing(params.get("cursor"))}
    if method == "tools/call" and params["name"] != "refuse":
        return reply | {"result": modern(call(params["name"]))}
    return reply | {"error": {"code": -32602 if method == "tools/call" else -32601, "message": "I would rather not"}}


class Handler(BaseHTTPRequestHandler):
    """`/status/503` in front of /mcp answers every tool call with that HTTP status; `/cut` closes the connection."""

    protocol_version = "HTTP/1.1"
    fetched = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        parts = self.path.strip("/").split("/")
        if parts[0] == "token":
            Handler.fetched += 1
            return self._send(200, json.dumps({"access_token": f"oauth-{Handler.fetched}", "expires_in": 3600}).encode())
        message = json.loads(body)
        if message["method"] == "tools/call" and parts[0] == "status":
            return self._send(int(parts[1]), b"no")
        if message["method"] == "tools/call" and parts[0] == "cut":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        reply = answer(message)
        if reply is None and "id" in message:
            time.sleep(30)
        return self._send(202 if reply is None else 200, b"" if reply is None else json.dumps(reply).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json" if status < 300 else "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def main() -> None:
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("params", {}).get("name") == "ask":
            form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}
            print(json.dumps({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": form}), flush=True)
            said = json.loads(sys.stdin.readline())["result"]
            text = [{"type": "text", "text": f"{said['action']} {said.get('content')}"}]
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": text}}), flush=True)
            continue
        if message.get("params", {}).get("name") == "garbage":
            print("this is no JSON", flush=True)
            continue
        if (reply := answer(message)) is not None:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
