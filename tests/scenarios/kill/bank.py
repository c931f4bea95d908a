"""A server that pays and keeps its book in a file; written by hand, so that it can be a stranger of either protocol.

$BANK_BOOK holds the world outside: a line "paid KEY" for each payment made, "asked KEY STATE" for each call of `pay`. $BANK_WAY
says how it goes about it: "rounds" wants to be called again twice, with its state (2026); "during" asks a person while the call
is open (2025); "forgetful" pays at once, and knows only the payments of its own process; "gated" pays once somebody has opened
the pipe $BANK_GATE and closed it again; "old" pays at once (2025), and says that its tools changed when it is asked for `news`.
$BANK_TERMS names a file with the description of `pay`, read at each listing; `news` writes $BANK_NEWS to it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

PAY = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "key": {"type": "string"}},
    "required": ["note"],
    "additionalProperties": False,
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
ONLY_2025 = ("during", "old")
FORM = {
    "message": "Pay it?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
}
ROUNDS = 2


class Bank:
    def __init__(self, book: Path, way: str) -> None:
        self._book, self._way = book, way
        self._mine: set[str] = set()
        self._asking: dict[str, tuple[Any, str]] = {}

    def read(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._request(message["id"], message["method"], message.get("params") or {})
        elif message.get("id") in self._asking:
            identity, key = self._asking.pop(message["id"])
            said = message.get("result") or {}
            agreed = said.get("action") == "accept" and said["content"]["sure"]
            self._result(identity, self._paid(key) if agreed else {**_text(f"not paid: {said.get('action')}"), "isError": True})

    def _request(self, identity: Any, method: str, params: dict[str, Any]) -> None:
        modern = self._way not in ONLY_2025
        match method:
            case "server/discover" if modern:
                found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0}
                self._result(identity, found | {"cacheScope": "private"})
            case "initialize" if not modern:
                info = {"name": "Bank", "version": "1"}
                self._result(identity, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":
                self._result(identity, {"tools": _tools()} | ({"ttlMs": 0, "cacheScope": "private"} if modern else {}))
            case "tools/call" if params["name"] == "payments":
                self._result(identity, self._listed())
            case "tools/call" if params["name"] == "news":
                if fresh := os.environ.get("BANK_NEWS"):
                    Path(os.environ["BANK_TERMS"]).write_text(fresh)
                self._write({"method": "notifications/tools/list_changed"})
                self._result(identity, _text("its terms changed"))
            case "tools/call":
                self._pay(identity, params["arguments"].get("key", params["arguments"]["note"]), params)
            case _:
                self._write({"id": identity, "error": {"code": -32601, "message": "no such method"}})

    def _pay(self, identity: Any, key: str, params: dict[str, Any]) -> None:
        state = params.get("requestState", "")
        self._note("asked", key, state)
        if self._way == "during":
            question = f"e{len(self._asking) + 1}"
            self._asking[question] = (identity, key)
            self._write({"id": question, "method": "elicitation/create", "params": FORM})
            return
        if self._way == "gated":
            Path(os.environ["BANK_GATE"]).read_text()  # until its writer is gone
        done = int(state.partition(" ")[0] or 0)
        if self._way == "rounds" and done < ROUNDS:
            fresh = os.urandom(4).hex()
            self._result(identity, {"resultType": "input_required", "requestState": f"{done + 1} {fresh}"})
            return
        self._result(identity, self._paid(key))

    def _paid(self, key: str) -> dict[str, Any]:
        if key not in self._known():
            self._note("paid", key)
            self._mine.add(key)
        return _text(f"paid {key}")

    def _known(self) -> set[str]:
        """What it remembers: its own process's payments, or the book."""
        if self._way == "forgetful" or not self._book.exists():
            return self._mine
        return {line.split()[1] for line in self._book.read_text().splitlines() if line.startswith("paid ")}

    def _listed(self) -> dict[str, Any]:
        found = {"payments": [{"key": key, "status": "done"} for key in sorted(self._known())]}
        return {**_text(json.dumps(found)), "structuredContent": found}

    def _note(self, *words: str) -> None:
        with self._book.open("a") as book:
            book.write(" ".join(words).strip() + "\n")

    def _result(self, identity: Any, result: dict[str, Any]) -> None:
        complete = {} if self._way in ONLY_2025 else {"resultType": "complete"}
        self._write({"id": identity, "result": {**complete, **result}})

    @staticmethod
    def _write(message: dict[str, Any]) -> None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()


def _tools() -> list[dict[str, Any]]:
    terms = Path(os.environ.get("BANK_TERMS", "/nowhere"))
    said = terms.read_text() if terms.exists() else "Pays what the note says."
    return [
        {"name": "pay", "description": said, "inputSchema": PAY},
        {"name": "payments", "description": "Lists payments.", "inputSchema": NOTHING},
        {"name": "news", "description": "Says what is new.", "inputSchema": NOTHING},
    ]


def _text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def main() -> int:
    bank = Bank(Path(os.environ["BANK_BOOK"]), os.environ["BANK_WAY"])
    for line in sys.stdin.buffer:
        bank.read(json.loads(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
