"""A server without an SDK, for what a well-made one can't say. `python raw.py [--http PORT]`; $RAW_ERA is "2026" or "2025".

$RAW_TOOLS may name a JSON file whose list of tools is offered in place of the built-in one, read at each listing. $RAW_ERA_FILE
may name a file that holds the era, read at each message. $RAW_PID names a file that the process writes its number to. Over HTTP,
$RAW_LOG names a file that gets one JSON line for each request.
"""

import gzip
import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

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
SHORT, LONG, ENDLESS = 1_000, 6 * 1024 * 1024, 80 * 1024 * 1024
PAGE = 5
REVISION = "2025-11-25"


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
    return modern(page | {"ttlMs": 0, "cacheScope": "private"} if era() == "2026" else page)


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


# stdio


def write(message: Any) -> None:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def piece(size: int) -> None:
    """A line's part, without its end."""
    for _part in range(size // 65536):
        sys.stdout.buffer.write(b"x" * 65536)
    sys.stdout.buffer.flush()


def result_of(identity: Any, words: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": modern(text(words))}


def odd(name: str, identity: Any) -> bool:
    """Answers on stdio that no well-made server gives."""
    head = f'{{"jsonrpc": "2.0", "id": {identity}, "result": {{"content": [{{"type": "text", "text": "'.encode()
    match name:
        case "garbage":
            write(b"this is no JSON")
        case "broken_utf8":
            write(head + b'\xff\xfe"}]}}')
        case "lone_surrogate":
            write(head + b'\\ud800"}]}}')
        case "deep":
            write(f'{{"jsonrpc": "2.0", "id": {identity}, "result": {"[" * 100_000}{"]" * 100_000}}}'.encode())
        case "noise":
            write(b"starting up \xff\xfe ...")
            write(b"{}")
            write(b"[1, 2]")
            write(result_of(identity, "right"))
        case "other_id":
            write(result_of(identity + 1000, "wrong"))
            write(result_of(str(identity), "wrong"))
            write(result_of(float(identity), "wrong"))
            write(result_of(identity, "right"))
        case "string_id":
            write(result_of(str(identity), "wrong"))
        case "twice":
            write(result_of(identity, "right"))
            write(result_of(identity, "wrong"))
        case "long":
            write(head + b"x" * LONG + b'"}]}}')
        case "long_id_last":
            end = f'"}}]}}, "jsonrpc": "2.0", "id": {identity}}}'.encode()
            write(b'{"result": {"content": [{"type": "text", "text": "' + b"x" * LONG + end)
        case "long_nameless":
            write(b"x" * LONG)
        case "unended":
            sys.stdout.buffer.write(head)
            piece(LONG)
        case "endless":
            sys.stdout.buffer.write(head)
            piece(ENDLESS)
        case _:
            return False
    return True


FORM = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}
ASKING = {
    "ask": FORM,
    "ask_twice": FORM,
    "ask_url": WANTED[0],
    "ask_and_hang": FORM,
    "ask_and_withdraw": FORM,
    "ask_slowly": FORM,
    "ask_and_hear_nothing_else": FORM,
}


class Asker:
    """The questions that are open: which call each belongs to. Everything else is answered meanwhile."""

    def __init__(self) -> None:
        self.open: dict[str, tuple[Any, str]] = {}
        self.count = 0

    def begin(self, name: str, identity: Any) -> None:
        self.count += 1
        key = f"e{self.count}"
        self.open[key] = (identity, name)
        write({"jsonrpc": "2.0", "id": key, "method": "elicitation/create", "params": ASKING[name]})
        if name == "ask_and_withdraw":
            write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": key}})
            write(result_of(identity, "withdrawn"))
        if name == "ask_and_hear_nothing_else":
            while (message := json.loads(sys.stdin.readline())).get("id") != key:
                pass
            self.told(message)

    def told(self, message: dict[str, Any]) -> None:
        identity, name = self.open.pop(message["id"], (None, ""))
        said = message.get("result") or message.get("error")
        if name == "ask_twice":
            self.open[f"{message['id']}+"] = (identity, "ask")
            write({"jsonrpc": "2.0", "id": f"{message['id']}+", "method": "elicitation/create", "params": FORM})
        elif name == "ask_slowly":
            time.sleep(0.6)
            write(result_of(identity, f"{said.get('action')} {said.get('content')}"))
        elif name and name not in ("ask_and_hang", "ask_and_withdraw"):
            write(result_of(identity, f"{said.get('action')} {said.get('content')}"))


def stdio() -> None:
    asker = Asker()
    for line in sys.stdin:
        message = json.loads(line)
        name = (message.get("params") or {}).get("name", "") if message.get("method") == "tools/call" else ""
        if "method" not in message:
            asker.told(message)
        elif name in ASKING:
            asker.begin(name, message["id"])
        elif name == "late_question":  # asked for a call that was given up long ago
            time.sleep(0.5)
            asker.open["late"] = (message["id"], "ask")
            write({"jsonrpc": "2.0", "id": "late", "method": "elicitation/create", "params": FORM})
        elif not odd(name, message.get("id")) and (reply := answer(message)) is not None:
            write(reply)


# HTTP


class Handler(BaseHTTPRequestHandler):
    """What stands in front of /mcp changes every answer to a tool call: `/status/503` gives that HTTP status, `/cut` closes the
    connection, `/long`, `/longevent`, `/packed`, `/endless` and `/other` give a body of that kind, `/later` gives the first one a
    version error, `/ask` asks during the call, over an event stream. `/guard/mcp` wants a token that `/token` issued; the tool
    "revoke" makes all of them worthless.
    """

    protocol_version = "HTTP/1.1"
    fetched = 0
    valid: set[str] = set()  # noqa: RUF012  of the whole process

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        parts = self.path.strip("/").split("/")
        if parts[0] == "token":
            return self._token(parts, parse_qs(body.decode()))
        message = json.loads(body)
        self._log({"method": message.get("method", "answer"), "id": message.get("id"), "name": self._name(message)})
        if parts[0] == "guard" and self._bearer() not in Handler.valid:
            return self._send(401, b"", WWW=f'Bearer resource_metadata="http://{self.headers["host"]}/about/guard"')
        if self._name(message) == "revoke":
            Handler.valid = set()
        if message.get("method") == "tools/call" and self._odd(parts, message):
            return None
        if "method" not in message:
            Handler.answers.append(message)
            return self._send(202, b"")
        reply = answer(message)
        if reply is None and "id" in message:
            time.sleep(30)
        return self._send(202 if reply is None else 200, b"" if reply is None else json.dumps(reply).encode())

    laters = 1
    answers: list[Any] = []  # noqa: RUF012  of the whole process

    def _odd(self, parts: list[str], message: dict[str, Any]) -> bool:
        match parts[0]:
            case "status":
                self._send(int(parts[1]), b"no")
            case "cut":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            case "long":
                self._send(200, json.dumps(result_of(message["id"], "x" * LONG)).encode())
            case "longevent":
                event = b"data: " + json.dumps(result_of(message["id"], "x" * LONG)).encode() + b"\n\n"
                self._send(200, event, kind="text/event-stream")
            case "packed":
                self._send(200, gzip.compress(json.dumps(result_of(message["id"], "x" * LONG)).encode()), Encoding="gzip")
            case "later" if Handler.laters:
                Handler.laters -= 1
                self._send(400, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": NOT_SPOKEN}).encode(), kind=JSON)
            case "endless":
                self._begin(200, "application/json", **{"Transfer-Encoding": "chunked"})
                for _part in range(ENDLESS // 65536):
                    self.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            case "other":
                self._send(200, json.dumps(result_of(99_999, "wrong")).encode())
            case "ask":
                self._ask(message)
            case _:
                return False
        return True

    def _ask(self, message: dict[str, Any]) -> None:
        """Asks on the call's own event stream, waits for the answer on another request, then answers."""
        self._begin(200, "text/event-stream", Connection="close")
        question = {"jsonrpc": "2.0", "id": f"q{message['id']}", "method": "elicitation/create", "params": FORM}
        self.wfile.write(b"data: " + json.dumps(question).encode() + b"\n\n")
        self.wfile.flush()
        while not (found := [said for said in Handler.answers if said["id"] == question["id"]]):
            time.sleep(0.02)
        said = found[0]["result"]
        done = result_of(message["id"], f"{said['action']} {said.get('content')}")
        self.wfile.write(b"data: " + json.dumps(done).encode() + b"\n\n")
        self.close_connection = True

    def _token(self, parts: list[str], form: dict[str, list[str]]) -> None:
        self._log({"method": "token", "form": {key: values[0] for key, values in form.items()}})
        if parts[-1] == "refuses":
            return self._send(400, b'{"error": "invalid_client"}')
        Handler.fetched += 1
        Handler.valid = {*Handler.valid, f"oauth-{Handler.fetched}"}
        life = int(parts[1]) if len(parts) > 1 else 3600
        answered = {"access_token": f"oauth-{Handler.fetched}", "token_type": "bearer", "expires_in": life}
        return self._send(200, json.dumps(answered).encode())

    def do_GET(self) -> None:
        self._log({"method": f"GET {self.path}"})
        here = f"http://{self.headers['host']}"
        if self.path == "/about/guard":
            return self._send(
                200, json.dumps({"resource": f"{here}/guard/mcp", "authorization_servers": [f"{here}/as"]}).encode()
            )
        if self.path == "/.well-known/oauth-protected-resource/liar/mcp":
            elsewhere = {"resource": "https://other.example.com/mcp", "authorization_servers": [f"{here}/as"]}
            return self._send(200, json.dumps(elsewhere).encode())
        if self.path == "/.well-known/oauth-authorization-server/as":
            places = {"issuer": f"{here}/as", "token_endpoint": f"{here}/token", "authorization_endpoint": f"{here}/authorize"}
            return self._send(200, json.dumps({**places, "response_types_supported": ["code"]}).encode())
        if self.path == "/guard/mcp":
            return self._send(401, b"", WWW=f'Bearer resource_metadata="{here}/about/guard"')
        return self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def _name(self, message: dict[str, Any]) -> str:
        return str((message.get("params") or {}).get("name", ""))

    def _bearer(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def _log(self, entry: dict[str, Any]) -> None:
        if path := os.environ.get("RAW_LOG"):
            with open(path, "a") as log:
                log.write(json.dumps({**entry, "authorization": self.headers.get("authorization", "")}) + "\n")

    def _begin(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header({"WWW": "WWW-Authenticate", "Encoding": "Content-Encoding"}.get(name, name), value)
        self.end_headers()

    def _send(self, status: int, body: bytes, kind: str = "", **headers: str) -> None:
        kind = kind or ("application/json" if status < 300 else "text/plain")
        self._begin(status, kind, **headers, **{"content-length": str(len(body))})
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def main() -> None:
    if path := os.environ.get("RAW_PID"):
        Path(path).write_text(str(os.getpid()))
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    stdio()


if __name__ == "__main__":
    main()
