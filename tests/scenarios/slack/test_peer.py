"""The refund story on local-slack, an independent server (npm `local-slack-linux-x64`), in a network namespace of its own.

The first run fetches it from npm into `build/`; it runs no install script. What is missing fails the test, in words.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "local-slack-linux-x64@0.1.8"
FOLDER = ROOT / "build" / "local-slack"
BINARY = FOLDER / "node_modules" / "local-slack-linux-x64" / "bin" / "local-slack"


@pytest.fixture(scope="module")
def binary() -> Path:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.fail(f"{PACKAGE} is for Linux on x86-64: leave this test out with --deselect {Path(__file__).name}")
    if not BINARY.exists():
        if shutil.which("npm") is None:
            pytest.fail(f"npm is missing: install it (Debian: apt-get install npm), it fetches {PACKAGE} into build/")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(FOLDER), PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        if done.returncode:
            pytest.fail(f"npm could not fetch {PACKAGE}: {(done.stderr.strip() or 'no words').splitlines()[-1]}")
    return BINARY


def _alone() -> list[str]:
    """A network namespace: that server listens on all interfaces. Root needs no user namespace for it."""
    command = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.fail(f"`{' '.join(command)}` does not work here: run the tests as root, or allow user namespaces")
    return command


def test_the_refund_story_on_an_independent_slack_server(binary: Path, tmp_path: Path) -> None:
    command = [*_alone(), sys.executable, str(Path(__file__).with_name("peer.py")), str(binary), str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "peer: refund R-0111 requested once, one reply sent\n"
