"""A server without an SDK that asks people before it goes on, over stdio. `python rounds.py`; $ERA is "2026" or "2025".

What a tool does is its name, see `begin_2026` and `ASKING`. $TOOLS names a JSON file with a list of definitions to offer in place
of the built-in ones; it is watched, and a change is announced. $LOG names a file that gets
one JSON line for each tool call. SIGUSR1 takes open questions back.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

ERA = os.environ.get("ERA", "2026")
FRESH = {"ttlMs": 0, "cacheScope": "private"}
YES = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
PASSWORD = {"type": "object", "properties": {"password": {"type": "string"}}}
PAGE = "https://xn--shp-uma.example.com/sign-in?next=%2F"
ADDRESS = {"mode": "url", "message": "Sign in first", "url": PAGE, "elicitationId": "e-1"}
COUNT = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}, "count": COUNT}}
NAMES = (
    "form",
    "three",
    "endless",
    "patient",
    "never",
    "address",
    "secret",
    "forgetful",
    "lapsed",
    "must_open",
    "plain",
    "two",
    "both",
    "dies",
)
TERMS = "Returns are taken within 45 days. For example, order O-2222 was."
RESOURCES = ("terms", "long", "endless", "gone")
writing = threading.Lock()
refused: set[str] = set()


def form(message: str = "Sure?", schema: Any = YES) -> dict[str, Any]:
    return {"mode": "form", "message": message, "requestedSchema": schema}


def tools() -> list[Any]:
    path = os.environ.get("TOOLS")
    if path and Path(path).exists():
        listed: list[Any] = json.loads(Path(path).read_text())
        return listed
    return [{"name": name, "description": f"Tests {name}.", "inputSchema": ORDER} for name in NAMES]


def resource(uri: str) -> str | None:
    """$TERMS names a file that holds the terms, read each time."""
    if uri == "rounds://terms":
        path = Path(os.environ.get("TERMS", ""))
        return path.read_text() if path.is_file() else TERMS
    return {"rounds://long": "All about returns. " * 2_500, "rounds://endless": "x" * 300_000}.get(uri)


def write(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(identity: Any, **content: Any) -> None:
    write({"id": identity, "result": {"resultType": "complete", **content} if ERA == "2026" else content})


def text(identity: Any, words: str) -> None:
    result(identity, content=[{"type": "text", "text": words}])


def log(entry: dict[str, Any]) -> None:
    if path := os.environ.get("LOG"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


# 2026: the server gives its question back, and is called again with the answers and its state


def ask(identity: Any, state: str | None, **requests: dict[str, Any]) -> None:
    asked = {key: {"method": "elicitation/create", "params": params} for key, params in requests.items()}
    given = {"inputRequests": asked} if asked else {}
    result(identity, **{**given, "resultType": "input_required", **({"requestState": state} if state else {})})


def begin_2026(identity: Any, name: str, params: dict[str, Any]) -> None:
    state, said = params.get("requestState"), json.dumps(params.get("inputResponses"), sort_keys=True)
    number = int(state.rpartition("/")[2]) if state else 0
    following = f'"état"\\/{name}/{number + 1}'
    match name, number:
        case (("form" | "forgetful" | "lapsed"), 0):
            ask(identity, following, q=form())
        case "three", 0:
            ask(identity, following, a=form("First?"), b=form("Second?"), c=form("Third?"))
        case "endless", _:
            ask(identity, following, q=form(f"Round {number + 1}?"))
        case "patient", (0 | 1):
            ask(identity, following)
        case "never", _:
            ask(identity, following)
        case "address", 0:
            ask(identity, following, q=ADDRESS)
        case "secret", 0:
            ask(identity, following, q=form("Who are you?", PASSWORD))
        case (("forgetful" | "lapsed"), _) if name == "lapsed" or name not in refused:
            refused.add(name)
            write({"id": identity, "error": {"code": -32602, "message": "Invalid or expired requestState"}})
        case _:
            text(identity, said if state else "done")


# 2025: the server asks while the call stays open

ASKING: dict[str, list[list[dict[str, Any]]]] = {
    "form": [[form()]],
    "two": [[form("First?")], [form("Second?")]],
    "three": [[form(f"Question {n}?")] for n in (1, 2, 3)],
    "both": [[form("First?"), form("Second?")]],
    "address": [[ADDRESS]],
    "secret": [[form("Who are you?", PASSWORD)]],
    "endless": [[form(f"Question {n}?")] for n in range(1, 20)],
}


class Open:
    """A call whose questions are open."""

    def __init__(self, identity: Any, steps: list[list[dict[str, Any]]]) -> None:
        self.identity, self.left, self.waits, self.said = identity, list(steps), set[str](), list[str]()

    def go_on(self) -> None:
        if not self.left:
            text(self.identity, " and ".join(self.said))
            return
        for number, params in enumerate(self.left.pop(0)):
            key = f"{self.identity}.{len(self.left)}.{number}"
            self.waits.add(key)
            OPEN[key] = self
            write({"id": key, "method": "elicitation/create", "params": params})

    def told(self, key: str, answer: dict[str, Any]) -> None:
        self.waits.discard(key)
        self.said.append(f"{answer.get('action', 'error')} {json.dumps(answer.get('content'))}")
        if not self.waits:
            self.go_on()


OPEN: dict[str, Open] = {}


def withdraw(_number: int, _frame: object) -> None:
    """Takes every open question back and ends its call."""
    for key, call in list(OPEN.items()):
        del OPEN[key]
        write({"method": "notifications/cancelled", "params": {"requestId": key}})
        text(call.identity, "withdrawn")


def begin_2025(identity: Any, name: str) -> None:
    if name in ASKING:
        Open(identity, ASKING[name]).go_on()
    elif name == "must_open" and name not in refused:
        refused.add(name)
        write({"id": identity, "error": {"code": -32042, "message": "open this", "data": {"elicitations": [ADDRESS]}}})
    else:
        text(identity, "done")


def handle(message: dict[str, Any]) -> None:
    method, identity, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None and identity in OPEN:
        log({"answer": message.get("result")})
        OPEN.pop(identity).told(identity, message.get("result") or {})
    elif identity is None or method is None:
        return
    elif method == "initialize" and ERA == "2025":
        offered = {"tools": {"listChanged": True}, "resources": {}}
        info = {"name": "Rounds", "version": "1"}
        result(identity, protocolVersion="2025-06-18", capabilities=offered, serverInfo=info)
    elif method == "server/discover" and ERA == "2026":
        result(
            identity, supportedVersions=["2026-07-28"], capabilities={"tools": {}, "resources": {}}, ttlMs=0, cacheScope="private"
        )
    elif method == "tools/list":
        result(identity, tools=tools(), **(FRESH if ERA == "2026" else {}))
    elif method == "resources/list":
        listed = [{"uri": f"rounds://{name}", "name": name} for name in RESOURCES]
        result(identity, resources=listed, **(FRESH if ERA == "2026" else {}))
    elif method == "resources/read" and (found := resource(params["uri"])) is not None:
        result(identity, contents=[{"uri": params["uri"], "text": found}], **(FRESH if ERA == "2026" else {}))
    elif method == "tools/call" and params["name"] == "dies":
        os._exit(1)
    elif method == "tools/call":
        kept = ("name", "arguments", "requestState", "inputResponses")
        log({"id": identity, **{key: params[key] for key in kept if key in params}})
        begin_2026(identity, params["name"], params) if ERA == "2026" else begin_2025(identity, params["name"])
    else:
        write({"id": identity, "error": {"code": -32601, "message": "no such method"}})


def watch(path: Path) -> None:
    """Announces each change of the tools, as a server of the older protocol does."""
    seen = path.stat().st_mtime_ns
    while True:
        time.sleep(0.02)
        if path.exists() and (now := path.stat().st_mtime_ns) != seen:
            seen = now
            write({"method": "notifications/tools/list_changed"})


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, withdraw)
    if ERA == "2025" and (watched := os.environ.get("TOOLS")):
        threading.Thread(target=watch, args=(Path(watched),), daemon=True).start()
    for line in sys.stdin:
        handle(json.loads(line))
