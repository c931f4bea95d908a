"""What the shop says when it is started wrongly: one line, on stderr, that says what to do; exit code 2."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest


def start(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "servers.shop", *arguments],
        env={"PATH": os.environ["PATH"], **env},
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        (["mcp"], {}, "give --database PATH or set SHOP_DATABASE"),
        (["mcp", "--database", "/nowhere/shop.sqlite"], {}, "no folder /nowhere"),
        (["mcp", "--database", "{tmp}/shop.sqlite"], {"SHOP_TODAY": "June"}, "write a date such as"),
        (["mcp", "--database", "{tmp}/shop.sqlite"], {"SHOP_STATE_KEY": "short"}, "at least 32 bytes"),
        (["mcp", "--api", "http://127.0.0.1:9"], {}, "set SHOP_STATE_KEY"),
        (["mcp", "--database", "{tmp}"], {}, "can't be used"),
        (["mcp", "--http", "--port", "0", "--database", "{tmp}/shop.sqlite"], {"SHOP_TOKENS_FILE": "{tmp}/no"}, "tokens file"),
    ],
)
def test_a_bad_start_says_what_to_do_in_one_line(tmp_path: Path, arguments: list[str], env: dict[str, str], words: str) -> None:
    told = start(
        *[part.replace("{tmp}", str(tmp_path)) for part in arguments],
        **{name: value.replace("{tmp}", str(tmp_path)) for name, value in env.items()},
    )
    assert told.returncode == 2
    assert words in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = start("api", "--database", str(tmp_path / "shop.sqlite"), "--port", port)
    assert told.returncode == 2
    assert f"port {port} can't be used" in told.stderr


def test_a_start_that_goes_well_is_silent_and_leaves_a_private_key_beside_the_database(tmp_path: Path) -> None:
    told = start("mcp", "--database", str(tmp_path / "shop.sqlite"))
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    key = tmp_path / "shop.sqlite.state-key"
    assert key.stat().st_mode & 0o777 == 0o600
    first = key.read_bytes()
    start("mcp", "--database", str(tmp_path / "shop.sqlite"))
    assert key.read_bytes() == first
