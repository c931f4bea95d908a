"""Shared by all tests: asyncio only, loopback only, nothing of ours blocks the event loop, and nothing is skipped."""

import ast
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest
from blockbuster import blockbuster_ctx
from pytest_socket import socket_allow_hosts

#: Our packages that live in the bot's process: a click must be acknowledged in time (spec B8).
IN_THE_LOOP = ["bot", "host", "models"]
#: Where something may block, in each function or in those named, and why: starting and ending, before the first click and after
#: the last, and what a library does that is small and bounded.
MAY_BLOCK: dict[str, tuple[set[str], str]] = {
    "host/store/engine.py": ({"__aenter__", "_migrate"}, "the database is made and migrated before anything is served"),
    "bot/settings.py": (set(), "read once, at the start"),
    "bot/wiring.py": (set(), "puts the parts together, at the start"),
    "bot/cli/*.py": (set(), "a command's own task: it starts the parts, waits, and prints what came of it"),
    "importlib/metadata/__init__.py": ({"read_text", "version"}, "the MCP SDK reads its own version for each connection"),
}
ROOT = Path(__file__).resolve().parents[1]


@cache
def _may_block() -> list[tuple[str, set[str]]]:
    """(file, functions in it) for each entry; without names, all functions that the file has."""
    places = []
    for pattern, (named, _) in MAY_BLOCK.items():
        for path in sorted(ROOT.glob(pattern)) if not named else []:
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            places.append((path.relative_to(ROOT).as_posix(), functions))
        if named:
            places.append((pattern, named))
    return places


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _loopback_only() -> None:
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _nothing_blocks_the_loop() -> Iterator[None]:
    """A blocking call (a file read, a sleep, a socket) under a frame of ours, inside a running loop, raises `BlockingError`."""
    with blockbuster_ctx(IN_THE_LOOP) as buster:
        for function in buster.functions.values():
            for place, names in _may_block():
                function.can_block_in(place, names)
        yield


AnyReport = TypeVar("AnyReport", pytest.TestReport, pytest.CollectReport)


def _missed(report: AnyReport) -> AnyReport:
    """A skipped test is a failed one: whoever runs the tests must know that something they need is missing."""
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"not run, and a test that can't run fails: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _missed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _missed((yield))
