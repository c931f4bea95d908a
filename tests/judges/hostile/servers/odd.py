"""A server without an SDK; each tool breaks one rule of the protocol. `python odd.py [--http PORT]`; $ODD_SIZE: bytes of "big".

Speaks 2026-07-28. The other tools stay as they are after each breach, so that a host can be seen to go on.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIZE = int(os.environ.get("ODD_SIZE", str(48 * 1024 * 1024)))
ANY: dict[str, Any] = {"type": "object", "properties": {}}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "required": ["tree"],
    "$defs": {"node": {"type": "object", "properties": {"below": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}},
}
LOOP = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
}
REDOS = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["text"]}
REDOS_KEYS = {"type": "object", "properties": {"text": {"type": "object", "patternProperties": {"^(a+)+$": {"type": "string"}}}}}
BRANCHES = {
    "type": "object",
    "properties": {"text": {"$ref": "#/$defs/l24"}},
    "$defs": {
        "l0": {"type": "array"},
        **{f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n - 1}"}, {"$ref": f"#/$defs/l{n - 1}"}]} for n in range(1, 25)},
    },
}
REMOTE = {"type": "object", "properties": {"text": {"$ref": "http://127.0.0.1:1/schema.json"}}}
LOCAL_FILE = {"type": "object", "properties": {"text": {"$ref": "file:///etc/passwd"}}}
REDOS_OUT = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}

FORMS: dict[str, Any] = {
    "none": None,
    "list": ["a"],
    "text": "a form",
    "no_properties": {"type": "object"},
    "properties_list": {"type": "object", "properties": ["a"]},
    "field_text": {"type": "object", "properties": {"a": "string"}},
    "field_no_type": {"type": "object", "properties": {"a": {}}},
    "field_any_of": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    "nested": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}},
    "list_of_objects": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
    "unknown_type": {"type": "object", "properties": {"a": {"type": "hologram"}}},
    "types": {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}},
    "remote": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/a.json"}}},
    "loop": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    "secret": {"type": "object", "properties": {"password": {"type": "string"}}},
    "required_text": {"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"},
    "unnamed_required": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
    "enum_empty": {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
    "enum_mixed": {"type": "object", "properties": {"a": {"type": "string", "enum": [1, None, {"b": 2}]}}},
    "bounds": {"type": "object", "properties": {"a": {"type": "string", "minLength": 10, "maxLength": 2}}},
    "regex": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
    "bad_regex": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    "fields": {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(5000)}},
    "empty": {"type": "object", "properties": {}},
}


def tool(name: str, schema: Mapping[str, Any] = ANY, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Looks something up.", "inputSchema": schema, **more}


def as_result(result: Any) -> dict[str, Any]:
    return {"result": {"resultType": "complete", **result}}


def text(words: str) -> dict[str, Any]:
    return as_result({"content": [{"type": "text", "text": words}]})


def line(number: Any, body: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, **body}).encode() + b"\n"


def deep(number: Any) -> bytes:
    nested = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    return line(number, as_result({"content": [], "structuredContent": {"here": 0}})).replace(b'{"here": 0}', nested)


def noise(number: Any) -> bytes:
    said = [
        b"[info] a log line\n",
        b'{"a": "JSON, but no message"}\n',
        b'[{"jsonrpc": "2.0", "method": "a batch"}]\n',
        b"\xff\xfe\x00 no text\n",
        b"\n\r\n",
        json.dumps({"jsonrpc": "2.0", "method": "notifications/of_no_kind", "params": {"a": 1}}).encode() + b"\n",
        json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "loud"}}).encode() + b"\n",
        line("s1", {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}),
        line("s2", {"method": "roots/list"}),
        line("s3", {"method": "elicitation/create", "params": {"message": "Password?", "requestedSchema": FORMS["secret"]}}),
        line("s4", {"method": "tools/call", "params": {"name": "plain"}}),
    ]
    return b"".join(said) + line(number, text("after the noise"))


def form(number: Any, shape: Any) -> bytes:
    asked = {"method": "elicitation/create", "params": {"mode": "form", "message": "Please", "requestedSchema": shape}}
    return line(number, {"result": {"resultType": "input_required", "inputRequests": {"f": asked}, "requestState": "s"}})


def requests(number: Any, asked: Any) -> bytes:
    return line(number, {"result": {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}})


GOOD_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 20},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["S", "M"]},
    },
    "required": ["name", "sure"],
}

#: Tool → the bytes that answer a call with this id.
CALLS: dict[str, Callable[[Any], bytes]] = {
    "plain": lambda n: line(n, text("plain as day")),
    "big": lambda n: line(n, text("x" * SIZE)),
    "blocks": lambda n: line(n, as_result({"content": [{"type": "text", "text": "x"}] * 100_000})),
    "strange_blocks": lambda n: line(n, as_result({"content": [{"type": "hologram"}] * 30_000})),
    "utf8": lambda n: line(n, text("MARK")).replace(b"MARK", b"\xff\xfe\xc3( caf\xe9 \xed\xa0\x80"),
    "surrogate": lambda n: line(n, text("MARK")).replace(b"MARK", b"\\ud800 half"),
    "nul": lambda n: line(n, text("zero \x00 \x1b[31m \u202e")),
    "deep": deep,
    "nan": lambda n: line(n, as_result({"content": [], "structuredContent": {"a": 7777}})).replace(b"7777", b"NaN"),
    "huge_number": lambda n: line(n, as_result({"content": [], "structuredContent": {"a": 7777}})).replace(b"7777", b"9" * 9000),
    "wide": lambda n: line(n, as_result({"content": [], "structuredContent": {f"k{i}": i for i in range(20_000)}})),
    "other_id": lambda n: line(n + 1000, text("for another")),
    "earlier_id": lambda n: line(n - 1, text("for an earlier one")),
    "text_id": lambda n: line(f"x{n}", text("a text for an id")),
    "null_id": lambda _: line(None, text("nobody's")),
    "list_id": lambda n: line([n], text("a list for an id")),
    "twice": lambda n: line(n, text("the first")) + line(n, text("the second")),
    "both": lambda n: line(n, {**text("a result"), "error": {"code": -32000, "message": "an error"}}),
    "neither": lambda n: line(n, {}),
    "odd_error": lambda n: line(n, {"error": {"code": "x", "message": None}}),
    "own_error": lambda n: line(n, {"error": {"code": -32000, "message": f"the order is locked, request {n}"}}),
    "own_timeout": lambda n: line(n, {"error": {"code": -32001, "message": "the order is locked"}}),
    "no_version": lambda n: line(n, text("no version")).replace(b'"jsonrpc": "2.0", ', b""),
    "result_text": lambda n: line(n, {"result": "only words"}),
    "noise": noise,
    "recursive": lambda n: line(n, text("a tree")),
    "looped": lambda n: line(n, text("looped")),
    "redos": lambda n: line(n, text("matched")),
    "redos_keys": lambda n: line(n, text("matched")),
    "branches": lambda n: line(n, text("matched")),
    "redos_out": lambda n: line(n, as_result({"content": [], "structuredContent": {"text": "a" * 40 + "!"}})),
    "remote": lambda n: line(n, text("fetched")),
    "local_file": lambda n: line(n, text("fetched")),
    "form_good": lambda n: form(n, GOOD_FORM),
    "form_not_asked": lambda n: requests(n, {}),
    "form_no_requests": lambda n: line(n, {"result": {"resultType": "input_required"}}),
    "form_other_method": lambda n: requests(n, {"f": {"method": "tools/call", "params": {"name": "plain"}}}),
    "form_sampling": lambda n: requests(
        n, {"f": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}}}
    ),
    "form_many": lambda n: requests(
        n,
        {f"f{i}": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": GOOD_FORM}} for i in range(500)},
    ),
    **{f"form_{name}": (lambda n, shape=shape: form(n, shape)) for name, shape in FORMS.items()},  # type: ignore[misc]
}
SCHEMAS: dict[str, Any] = {
    "recursive": TREE,
    "looped": LOOP,
    "redos": REDOS,
    "redos_keys": REDOS_KEYS,
    "branches": BRANCHES,
    "remote": REMOTE,
    "local_file": LOCAL_FILE,
}
TOOLS = [tool(name, SCHEMAS.get(name, ANY)) for name in (*CALLS, "endless") if name != "redos_out"]
TOOLS.append(tool("redos_out", outputSchema=REDOS_OUT))


def answer(message: Mapping[str, Any]) -> bytes:
    """The bytes of the answer; none for a notification."""
    method, params, number = message.get("method"), message.get("params") or {}, message.get("id")
    if number is None or method is None:
        return b""
    match method:
        case "server/discover":
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
            return line(number, as_result(found))
        case "tools/list":
            return line(number, as_result({"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}))
        case "tools/call":
            if "inputResponses" in params:
                return line(number, text("answered: " + json.dumps(params["inputResponses"], sort_keys=True)))
            return CALLS[params["name"]](number)
        case _:
            return line(number, {"error": {"code": -32601, "message": "no such method"}})


def endless(write: Callable[[bytes], Any]) -> None:
    """A line that never ends, until nobody reads it any more."""
    try:
        write(b'{"jsonrpc": "2.0", "result": {"content": [{"type": "text", "text": "')
        while True:
            write(b"x" * 1_000_000)
    except OSError:
        time.sleep(0.1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message.get("method") == "tools/call" and message["params"]["name"] == "endless":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.close_connection = True
            return endless(self.wfile.write)
        body = answer(message).strip()
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True
        return None

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, *args: Any) -> None:
        pass


def main() -> None:
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        return ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        if message.get("method") == "tools/call" and message["params"]["name"] == "endless":
            endless(lambda data: (sys.stdout.buffer.write(data), sys.stdout.buffer.flush()))
            return None
        sys.stdout.buffer.write(answer(message))
        sys.stdout.buffer.flush()
    return None


if __name__ == "__main__":
    main()
