"""A recording on disk: `manifest.json` and `replies.jsonl` in one folder (spec M7).  Read by `recorded`, written by `recorder`.

    manifest.json   {"version": 1, "runs": [run, …]} with run =
                    {"model": {…}, "sampling": {…}, "prompt_digest", "host": {…}, "calls", "seconds": […]}
    replies.jsonl   {"digest", "reply": {"raw", "text", "calls", "unreadable", "usage"}}          one line per distinct request

Both are replaced whole, the replies first, so that a reader never meets half a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from models.errors import ModelSetupError
from models.port import Call, Reply, Usage

VERSION = 1
MANIFEST, REPLIES = "manifest.json", "replies.jsonl"


@dataclass(slots=True)
class Recording:
    """Replies by digest of their request, and what each recording run was made with."""

    replies: dict[str, Reply] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)


def read(folder: Path) -> Recording:
    """Raises `ModelSetupError` when the folder holds no recording, naming the line that can't be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        lines = (folder / REPLIES).read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise ModelSetupError(f"no recording in {folder}: make one with `deskhand record`") from error
    except (OSError, ValueError) as error:
        raise ModelSetupError(f"{folder}: its recording can't be read: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION or not isinstance(manifest.get("runs"), list):
        raise ModelSetupError(f"{folder / MANIFEST}: not a manifest of version {VERSION}; record again with `deskhand record`")
    recording = Recording(runs=manifest["runs"])
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            recording.replies[row["digest"]] = _reply(row["reply"])
        except (ValueError, KeyError, TypeError) as error:
            raise ModelSetupError(f"{folder / REPLIES}, line {number}: not a recorded reply") from error
    return recording


def read_or_new(folder: Path) -> Recording:
    """An empty recording where there is none yet."""
    return read(folder) if (folder / MANIFEST).exists() else Recording()


def write(folder: Path, recording: Recording) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = (json.dumps({"digest": key, "reply": _row(reply)}) + "\n" for key, reply in recording.replies.items())
    _replace(folder / REPLIES, "".join(rows))
    _replace(folder / MANIFEST, json.dumps({"version": VERSION, "runs": recording.runs}, indent=2) + "\n")


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text, "utf-8")
    partial.replace(path)


def _row(reply: Reply) -> dict[str, Any]:
    # by hand: `asdict` copies arguments deeply, and whatever mapping they are must come out as plain JSON
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in reply.calls]
    return {
        "raw": reply.raw,
        "text": reply.text,
        "calls": calls,
        "unreadable": reply.unreadable,
        "usage": asdict(reply.usage),
    }


def _reply(row: Mapping[str, Any]) -> Reply:
    calls = tuple(Call(name=call["name"], arguments=call["arguments"]) for call in row["calls"])
    return Reply(row["raw"], row["text"], calls, row["unreadable"], Usage(**row["usage"]))
