"""The HTTP side of the server without an SDK."""

import gzip
import json
import os
import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from raw_answers import ENDLESS, FORM, JSON, LONG, NOT_SPOKEN, answer, result_of


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
