"""A server without an SDK, for what a well-made one can't say. `python raw.py [--http PORT]`; $RAW_ERA is "2026" or "2025".

$RAW_TOOLS may name a JSON file whose list of tools is offered in place of the built-in one, read at each listing. $RAW_ERA_FILE
may name a file that holds the era, read at each message. $RAW_PID names a file that the process writes its number to. Over HTTP,
$RAW_LOG names a file that gets one JSON line for each request.
"""

import json
import os
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from raw_answers import ENDLESS, FORM, LONG, WANTED, answer, result_of
from raw_http import Handler


def write(message: Any) -> None:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def piece(size: int) -> None:
    """A line's part, without its end."""
    for _part in range(size // 65536):
        sys.stdout.buffer.write(b"x" * 65536)
    sys.stdout.buffer.flush()


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


def main() -> None:
    if path := os.environ.get("RAW_PID"):
        Path(path).write_text(str(os.getpid()))
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    stdio()


if __name__ == "__main__":
    main()
