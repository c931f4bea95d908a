"""There is one path to a tool call: `host.sessions` defines it, `host.dispatch` uses it, and no other line even names it.

What stands under the sessions (a connection, its transport, its replies) may name the protocol's words; the import contract
"wire" sees to it that only the sessions reach them.

The names below are reserved in bot, host and models: as an attribute (called, aliased or passed on as a bound method), as a
class pattern's field, and as a word handed to `getattr` and its kind. What this can't see is in ARCHITECTURE.md.
"""

import ast
from collections.abc import Iterator

import pytest

DEFINED, USED = "host/sessions.py", "host/dispatch.py"
CALL = "call"
READ = "read_resource"
#: Reserved name → who may reach for it besides its definition. The catalogue reads what stands in every prompt (spec H23).
USERS = {CALL: {USED}, READ: {USED, "host/catalog.py"}}
UNDER = {DEFINED, "host/connection.py", "host/link.py", "host/tap.py", "host/transports.py", "host/replies.py"}
#: The protocol's own ways to a call: only the sessions and what stands under them may name these, even as text.
WIRE = {"call_tool", "send_request", "tools/call"}
REACHING = {"getattr", "attrgetter", "methodcaller", "__getattribute__", "__getattr__", "getattr_static", "hasattr"}
#: Ways around every rule that reads names.
BLIND = {"eval", "exec", "__import__", "import_module"}


def called_name(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def names_in(node: ast.AST) -> Iterator[str]:
    """The reserved names that one node reaches for."""
    match node:
        case ast.Attribute(attr=name):
            yield name
        case ast.Call(args=arguments) if called_name(node) in REACHING:
            yield from (str(value.value) for value in arguments if isinstance(value, ast.Constant))
        case ast.MatchClass(kwd_attrs=fields):
            yield from fields
        case ast.Subscript(value=ast.Attribute(attr="__dict__"), slice=ast.Constant(value=str(name))):
            yield name
        case ast.Subscript(value=ast.Call() as inner, slice=ast.Constant(value=str(name))) if called_name(inner) == "vars":
            yield name


def is_wire(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text in WIRE
        case ast.alias(name=name):
            return name in WIRE
        case ast.Name(id=name):
            return name in WIRE
    return any(name in WIRE for name in names_in(node))


def reaches(module: ast.Module, reserved: str) -> Iterator[int]:
    """Lines that reach for one of the sessions' methods."""
    for node in ast.walk(module):
        if reserved in names_in(node):
            yield node.lineno


def wires(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if is_wire(node):
            yield node.lineno


def blinds(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if name in BLIND:
                yield node.lineno


def second_paths(tree) -> list[str]:
    """Every line that could be another path, as "file:line what"."""
    found = []
    for name, module in tree.parsed("bot", "host", "models"):
        for reserved, users in USERS.items():
            if name not in UNDER | users:
                found += [f"{name}:{line} reaches for .{reserved}" for line in reaches(module, reserved)]
        if name not in UNDER:
            found += [f"{name}:{line} names the protocol's call" for line in wires(module)]
        found += [f"{name}:{line} hides a name" for line in blinds(module)]
    return found


def test_no_line_outside_the_dispatcher_reaches_a_tool(tree):
    assert second_paths(tree) == []


def test_the_path_itself_is_found(tree):
    """A rule that finds nothing to guard proves nothing."""
    modules = dict(tree.parsed("host"))
    definitions = [
        node
        for node in ast.walk(modules[DEFINED])
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == CALL
    ]
    assert definitions, f"{DEFINED} defines no {CALL}"
    assert [name for name in UNDER if list(wires(modules[name]))], "nothing under the sessions speaks to a server"
    assert list(reaches(modules[USED], CALL)), f"{USED} never calls"


PLANTED = {
    "a plain call": "async def f(s): return await s.call('shop', 'x', {})",
    "an alias": "def f(s):\n    g = s.call\n    return g",
    "a bound method passed on": "def f(group, s): group.start_soon(s.call, 'x')",
    "getattr with a word": "def f(s): return getattr(s, 'call')",
    "getattr over the protocol": "def f(s): return getattr(s, 'call_tool')",
    "a method caller": "import operator\nf = operator.methodcaller('call', 'x')",
    "the class's function": "from host.sessions import Sessions\nf = Sessions.call",
    "a class pattern": "def f(s):\n    match s:\n        case object(call=g):\n            return g",
    "the instance's dictionary": "def f(s): return s.__dict__['call']",
    "vars": "def f(s): return vars(s)['call']",
    "a read of a resource": "async def f(s): return await s.read_resource('shop', 'shop://x')",
    "the SDK's method": "async def f(c): return await c.call_tool('x')",
    "the SDK's request": "async def f(c): return await c.session.send_request(None)",
    "the method's name in JSON": "BODY = {'jsonrpc': '2.0', 'method': 'tools/call'}",
    "a computed import": "import importlib\nf = importlib.import_module('host.' + 'sessions')",
    "an evaluated word": "f = eval('x')",
}


@pytest.mark.parametrize("room", ["host/loop.py", "host/questions.py", "bot/wiring.py", "models/scripted.py"])
@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_second_path_is_found(tmp_path, tree, room, source):
    planted = type(tree)(tmp_path)
    planted.plant(room, source)
    assert second_paths(planted), source


@pytest.mark.parametrize("source", [PLANTED["the SDK's method"], PLANTED["the method's name in JSON"]])
def test_the_dispatcher_itself_goes_through_the_sessions(tmp_path, tree, source):
    planted = type(tree)(tmp_path)
    planted.plant(USED, source)
    assert second_paths(planted)
