"""Brings other people's programs into build/judges, exactly pinned: `python tests/judges/install.py`.  `make test` runs it first.

    build/judges/npm/node_modules/.bin/node               Node 22: the conformance suite needs it, whatever the machine's own is
    build/judges/npm/node_modules/@modelcontextprotocol/  conformance/dist/index.js, server-everything/dist/index.js
    build/judges/time/                                    mcp-server-time and what it needs besides mcp: PYTHONPATH for a child
    build/judges/gauntlet/                                mcp_gauntlet, without its dependencies: its hostile servers
    build/judges/agentdojo/                               agentdojo, without its dependencies: read, never imported

Each folder is made whole or not at all and carries a stamp, so that a second run takes no time.  Nothing of it comes near the
virtualenv's own packages, and no install script runs.  package-lock.json pins npm's part with digests.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "build" / "judges"
MANIFESTS = ("package.json", "package-lock.json")
#: Folder → wheels; --no-deps, so that each line says all that is in it.
WHEELS = {
    "time": ("mcp-server-time==2026.10.19", "tzdata==2026.6", "tzlocal==5.4.5"),
    "gauntlet": ("mcp-gauntlet==0.9.5",),
    "agentdojo": ("agentdojo==0.1.35",),
}
OLDEST_NODE = 22
SECONDS = 600


def main() -> int:
    try:
        _npm()
        for name, wheels in WHEELS.items():
            _wheels(name, wheels)
    except InstallError as error:
        print(f"judges: {error}", file=sys.stderr)
        return 1
    return 0


class InstallError(Exception):
    """In words, with what to do."""


def _npm() -> None:
    texts = [(HERE / name).read_text("utf-8") for name in MANIFESTS]
    digest = _digest(*texts)
    if _made("npm", digest):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("npm is missing: install it (Debian: apt-get install npm), then run make test again")
    folder = _fresh("npm")
    for name in MANIFESTS:
        shutil.copy(HERE / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)]
    _run(command, f"npm could not fetch {', '.join(_named(texts[0]))}")
    _node(folder / "node_modules" / ".bin" / "node")
    _done("npm", digest)


def _named(manifest: str) -> list[str]:
    return [f"{name}@{version}" for name, version in json.loads(manifest)["dependencies"].items()]


def _node(link: Path) -> None:
    """Where npm has no Node of ours for this kind of machine, its own will do when it is new enough."""
    if link.exists():
        return
    own = shutil.which("node")
    said = subprocess.run([own, "--version"], capture_output=True, text=True, check=False).stdout if own else ""
    major = said.strip().lstrip("v").split(".")[0]
    if own is None or not major.isdigit() or int(major) < OLDEST_NODE:
        raise InstallError(f"npm has no Node for this machine: install Node {OLDEST_NODE} or newer, then run make test again")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(own)


def _wheels(name: str, wheels: Sequence[str]) -> None:
    digest = _digest(*wheels)
    if _made(name, digest):
        return
    folder = _fresh(name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    alone = ["--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    _run([*pip, *alone, *wheels], f"pip could not fetch {', '.join(wheels)}")
    _done(name, digest)


def _run(command: Sequence[str], otherwise: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InstallError(f"{otherwise} within {SECONDS} seconds: look at the network, then run make test again") from None
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise InstallError(f"{otherwise}: look at the network, then run make test again\n" + "\n".join(lines[:5]))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _made(name: str, digest: str) -> bool:
    stamp = TARGET / name / ".stamp"
    return stamp.is_file() and stamp.read_text("utf-8") == digest


def _fresh(name: str) -> Path:
    print(f"Fetching the tests' {name} into {TARGET / name}")
    folder = TARGET / f"{name}.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _done(name: str, digest: str) -> None:
    (TARGET / f"{name}.part" / ".stamp").write_text(digest, "utf-8")
    shutil.rmtree(TARGET / name, ignore_errors=True)
    (TARGET / f"{name}.part").rename(TARGET / name)


if __name__ == "__main__":
    sys.exit(main())
