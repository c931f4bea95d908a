"""The guard of tests/conftest.py, proven: a blocking call of ours inside the loop is red, in every test."""

from pathlib import Path

import pytest
from blockbuster import BlockingError

pytestmark = pytest.mark.anyio

BLOCKS = {
    "a sleep": "import time\ndef act(path): time.sleep(0.001)",
    "a file that is read": "def act(path): path.read_text()",
    "a child that is waited for": "import subprocess\ndef act(path): subprocess.run(['true'])",
    "a query": "import sqlite3\ndef act(path): sqlite3.connect(':memory:').execute('select 1')",
}


def planted(tree, package: str, source: str):
    """The function `act` of a module that would stand in one of our packages."""
    names: dict[str, object] = {}
    exec(compile(source, str(tree.root / package / "planted.py"), "exec"), names)
    return names["act"]


@pytest.mark.parametrize("package", ["bot", "host", "models"])
@pytest.mark.parametrize("source", BLOCKS.values(), ids=BLOCKS.keys())
async def test_a_planted_blocking_call_in_the_loop_is_red(tree, package, source):
    act = planted(tree, package, source)
    with pytest.raises(BlockingError):
        act(Path(__file__))


def test_the_same_call_outside_the_loop_is_free(tree):
    planted(tree, "host", BLOCKS["a file that is read"])(Path(__file__))
