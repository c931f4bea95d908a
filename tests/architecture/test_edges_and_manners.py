"""Small rules that keep the rooms honest: where everything may be caught, where a word may be printed, that each file says
what it is for, and that no list of exceptions outlives its reason."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

#: Where `except Exception` may stand, and why; `*` stands for anything. A place that catches nothing any more is red.
CATCH_ALL = {
    "bot/listeners/edge.py": "the listeners: whatever goes wrong behind a click is answered in words (spec B8)",
    "host/open_calls.py": "the dispatcher, in the task of a call that stays open while people answer",
    "host/dispatch.py": "the dispatcher: whatever goes wrong in a call becomes an outcome in words",
    "host/queue.py": "a worker's edge: one bad ticket goes to a person and never stops the queue (spec H28)",
    "bot/mailroom/pump.py": "the process's edge: a ticket that can't be stored just now is brought again (spec B11)",
    "host/outbox.py": "a worker's edge: one bad delivery never stops the others",
}
#: Where `print` may stand, and why. The commands speak through one console.
PRINTS = {
    "servers/*/__main__.py": "a program of its own says in one line why it can't start, or where it is ready",
    "servers/*/listening.py": "it says which port it was given, for whoever started it",
}
LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}
BROAD = {"Exception", "BaseException"}


def placed(name: str, places: dict[str, str]) -> str | None:
    return next((place for place in places if fnmatchcase(name, place)), None)


def is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in BROAD) for kind in caught)


def gives_on(handler: ast.ExceptHandler) -> bool:
    """It cleans up and raises the same again: nothing is caught in the end."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def logs(handler: ast.ExceptHandler) -> bool:
    calls = (node for node in ast.walk(handler) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in LOGGING for call in calls)


def broad_handlers(tree) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for name, module in tree.parsed():
        for node in ast.walk(module):
            if isinstance(node, ast.ExceptHandler) and is_broad(node) and not gives_on(node):
                yield name, node


def misplaced_handlers(tree) -> list[str]:
    return [f"{name}:{node.lineno}" for name, node in broad_handlers(tree) if placed(name, CATCH_ALL) is None]


def prints(tree) -> Iterator[tuple[str, int]]:
    for name, module in tree.parsed():
        for node in ast.walk(module):
            if isinstance(node, ast.Name) and node.id == "print":
                yield name, node.lineno


def misplaced_prints(tree) -> list[str]:
    return [f"{name}:{line}" for name, line in prints(tree) if placed(name, PRINTS) is None]


def silent_modules(tree) -> list[str]:
    return [name for name, module in tree.parsed() if not ast.get_docstring(module)]


def test_everything_is_caught_at_the_edges_only(tree):
    assert misplaced_handlers(tree) == []


def test_whatever_is_caught_at_an_edge_is_logged(tree):
    assert [f"{name}:{node.lineno}" for name, node in broad_handlers(tree) if not logs(node)] == []


def test_no_place_is_excused_for_nothing(tree):
    caught = {placed(name, CATCH_ALL) for name, _ in broad_handlers(tree)}
    printed = {placed(name, PRINTS) for name, _ in prints(tree)}
    assert set(CATCH_ALL) <= caught
    assert set(PRINTS) <= printed
    assert all({**CATCH_ALL, **PRINTS}.values())


def test_nothing_prints_but_a_server_that_starts(tree):
    assert misplaced_prints(tree) == []


def test_every_module_says_what_it_is_for(tree):
    assert dict(tree.parsed())
    assert silent_modules(tree) == []


@pytest.mark.parametrize(
    "caught", ["except Exception:", "except BaseException:", "except (OSError, Exception) as error:", "except:"]
)
def test_a_planted_catch_all_is_found(tmp_path, tree, caught):
    planted = type(tree)(tmp_path)
    planted.plant("host/policy.py", f"try:\n    x = 1\n{caught}\n    pass")
    assert misplaced_handlers(planted)
    planted.plant("host/dispatch.py", f"try:\n    x = 1\n{caught}\n    pass")
    assert [name for name, node in broad_handlers(planted) if not logs(node)] == ["host/dispatch.py", "host/policy.py"]


def test_a_planted_print_and_a_planted_silent_module_are_found(tmp_path, tree):
    planted = type(tree)(tmp_path)
    planted.plant("models/engine.py", "import sys\nprint('hello', file=sys.stderr)")
    planted.plant("servers/shop/api.py", "say = print")
    assert misplaced_prints(planted) == ["models/engine.py:3", "servers/shop/api.py:2"]
    assert silent_modules(planted) == ["models/engine.py", "servers/shop/api.py"]
