"""Gets the real model ready in the background: builds the engine, fetches the file, and says how far it is."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio import to_thread

from models import catalogue
from models.errors import ModelError, ModelUnavailableError
from models.fetch import fetch

Say = Callable[[str, str], None]
"""Takes a state ("building", "fetching", "live", "failed") and words."""


def ready_marker(state: Path) -> Path:
    """Beside the state folder, so that a reset leaves it: there once the real model can be used."""
    return state.with_name(f"{state.name}-model-ready")


async def make_ready(folder: Path, name: str, marker: Path, say: Say) -> None:
    """Build what is missing, then leave the marker that the bot looks for."""
    await to_thread.run_sync(_unmark, marker)
    if not engine_built() and not await _build(folder, say):
        return
    if not catalogue.is_here(catalogue.find(name, catalogue.load())):
        ended = threading.Event()
        try:
            await to_thread.run_sync(_fetch, name, say, ended, abandon_on_cancel=True)
        except ModelError as error:
            say("failed", f"real model: {error}")
            return
        finally:
            ended.set()
    await to_thread.run_sync(_mark, marker)
    say("live", "real model: live")


def _mark(marker: Path) -> None:
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _unmark(marker: Path) -> None:
    marker.unlink(missing_ok=True)


def engine_built() -> bool:
    importlib.invalidate_caches()
    return all(importlib.util.find_spec(name) is not None for name in ("llama_cpp", "llguidance"))


async def _build(folder: Path, say: Say) -> bool:
    say("building", "real model: building the engine (about three minutes) …")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "-c", str(folder / "constraints.txt"), "-e", f"{folder}[llama]"]
    done = await anyio.run_process(command, check=False)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()
        say("failed", f"real model: the engine could not be built ({last[-1] if last else 'no words'}); recordings go on")
    return done.returncode == 0


def _fetch(name: str, say: Say, ended: threading.Event) -> None:
    """Stops at its next step once `ended`: a program waits for its threads, so a download would keep it from ending."""

    def progress(done: int, total: int, _words: str) -> None:
        if ended.is_set():
            raise ModelUnavailableError("the demo ended")
        say("fetching", f"real model: fetching … {done * 100 // max(total, 1)} %")

    fetch(name, progress=progress)
