"""Which models exist, where they are kept, and whether a file is the one it should be (spec M2).

Reads `catalogue.toml`; never goes to the network (`models.fetch` does).
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import ModelSetupError

CATALOGUE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True, slots=True)
class Wheels:
    """A file cut in `count` parts, each the only `.bin` of one wheel; `{n}` in `distribution` counts from 1."""

    distribution: str
    version: str
    count: int


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository of the model hub at one revision."""

    repository: str
    revision: str


Source = Wheels | Hub


@dataclass(frozen=True, slots=True)
class Entry:
    """One model: `bytes` and `sha256` pin its file."""

    name: str
    title: str
    note: str
    file: str
    bytes: int
    sha256: str
    licence: str
    sources: tuple[Source, ...]
    default: bool = False


def load(path: Path = CATALOGUE) -> tuple[Entry, ...]:
    """All entries of a catalogue. Raises `ModelSetupError` naming the file when it can't be read."""
    try:
        return tuple(_entry(row) for row in tomllib.loads(path.read_text("utf-8"))["model"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelSetupError(f"{path.name}: not a model catalogue ({type(error).__name__}: {error})") from error


def find(name: str, entries: Sequence[Entry]) -> Entry:
    """The entry called `name`. Raises `ModelSetupError` listing what exists."""
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise ModelSetupError(f"no model called {name}; there are: {known}")


def default(entries: Sequence[Entry]) -> Entry:
    return next((entry for entry in entries if entry.default), entries[0])


def cache_dir() -> Path:
    """Where model files are kept: `DESKHAND_MODELS`, else `~/.cache/deskhand/models`."""
    chosen = os.environ.get("DESKHAND_MODELS")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "deskhand" / "models"


def is_here(entry: Entry) -> bool:
    """Whether the file is in the cache at its whole size; its digest is checked where it is used."""
    path = cache_dir() / entry.file
    return path.is_file() and path.stat().st_size == entry.bytes


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def known_sha256(path: Path) -> str:
    """The file's sha256, remembered beside it under its size and time of change, so that a second start is quick."""
    try:
        found = json.loads(_note(path).read_text("utf-8"))
        if found["of"] == _stamp(path):
            return str(found["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    digest = sha256_of(path)
    remember(path, digest)
    return digest


def remember(path: Path, digest: str) -> None:
    """Write down what was just computed over `path`."""
    partial = path.with_name(f"{path.name}.digest.{os.getpid()}")
    try:
        partial.write_text(json.dumps({"sha256": digest, "of": _stamp(path)}), "utf-8")
        partial.replace(_note(path))
    except OSError:
        partial.unlink(missing_ok=True)  # a read-only folder: the next start hashes again


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".digest.json")


def _stamp(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"bytes": stat.st_size, "changed_ns": stat.st_mtime_ns}


def checked(path: Path, entries: Sequence[Entry] | None = None) -> str:
    """The sha256 of a model file that may be used. Blocks for seconds the first time.

    Raises `ModelSetupError`: no such file, or a file that bears a catalogue model's name and isn't it.
    """
    if not path.is_file():
        raise ModelSetupError(f"no model file {path}: run `deskhand model fetch`")
    entry = next((e for e in (load() if entries is None else entries) if e.file == path.name), None)
    if entry and path.stat().st_size != entry.bytes:
        raise ModelSetupError(f"{path} has the wrong size: delete it and run `deskhand model fetch {entry.name}`")
    digest = known_sha256(path)
    if entry and digest != entry.sha256:
        raise ModelSetupError(f"{path} has the wrong digest: delete it and run `deskhand model fetch {entry.name}`")
    return digest


def _entry(row: dict[str, Any]) -> Entry:
    fields = {key: value for key, value in row.items() if key != "source"}
    return Entry(**fields, sources=tuple(_source(dict(source)) for source in row.get("source", [])))


def _source(row: dict[str, Any]) -> Source:
    kind = row.pop("kind")
    if kind == "wheels":
        return Wheels(**row)
    if kind == "hub":
        return Hub(**row)
    raise ValueError(f"no source kind {kind}")
