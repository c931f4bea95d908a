"""A customer taken out of the file mailroom's own files (spec H31).

A line of the inbox is blanked where it stands, so that a reader that goes on from its offset and a writer that appends are not
disturbed; a sent reply keeps its receipt, so that it is never sent again. Refuses to know whose tickets they are: it is asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.mailroom.files import parse_ticket

#: Whether a ticket (its id, customer id and sender's address) is the customer's.
Owns = Callable[[str, str | None, str], bool]
_KEPT = ("receipt", "ticket_id", "question_id", "from", "sent_at")


@dataclass(frozen=True, slots=True)
class Traces:
    """Lines of the inbox and sent replies; `unclear` are places that hold a word of theirs and can't be read as either."""

    lines: int = 0
    letters: int = 0
    unclear: tuple[str, ...] = ()


def erase_files(inbox: Path, sent: Path, owns: Owns, words: tuple[str, ...], *, only_look: bool = False) -> Traces:
    """Take the customer out of both; with `only_look` nothing is changed. `words` are their ids and addresses.

    Raises OSError when a file can't be written.
    """
    lines, unclear = _inbox(inbox, owns, words, only_look)
    letters, more = _sent(sent, owns, words, only_look)
    return Traces(lines, letters, (*unclear, *more))


def _inbox(path: Path, owns: Owns, words: tuple[str, ...], only_look: bool) -> tuple[int, list[str]]:
    if not path.is_file():
        return 0, []
    erased, unclear = 0, []
    with path.open("rb" if only_look else "r+b") as file:
        for number, offset, line in _lines(file):
            try:
                ticket = parse_ticket(line.decode("utf-8-sig"))
            except ValueError:  # UnicodeDecodeError is one
                if _names(line, words):
                    unclear.append(f"{path}, line {number}")
                continue
            if owns(ticket.id, ticket.customer_id, ticket.sender_mail):
                erased += 1
                if not only_look:
                    os.pwrite(file.fileno(), b" " * len(line), offset)
        if not only_look:
            os.fsync(file.fileno())
    return erased, unclear


def _lines(file: Any) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes without the line's end) of each line that holds anything."""
    offset = 0
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, offset, line.rstrip(b"\n")
        offset += len(line)


def _sent(folder: Path, owns: Owns, words: tuple[str, ...], only_look: bool) -> tuple[int, list[str]]:
    """Letters, and the halves of letters that a crash left behind."""
    erased, unclear = 0, []
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.suffix not in (".json", ".part"):
            continue
        data = path.read_bytes()
        try:
            letter = json.loads(data)
            theirs = owns(str(letter["ticket_id"]), None, str(letter.get("to") or ""))
        except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
            if _names(data, words):
                unclear.append(str(path))
            continue
        if theirs and any(letter.get(key) for key in letter if key not in _KEPT):
            erased += 1
            if not only_look:
                _blank(path, data, letter)
    return erased, unclear


def _blank(path: Path, data: bytes, letter: dict[str, Any]) -> None:
    """Written over in place: a new file would leave the old bytes on the disk."""
    stub = json.dumps({key: value if key in _KEPT else "" for key, value in letter.items()}, ensure_ascii=False, indent=1)
    with path.open("r+b") as file:
        file.write(stub.encode().ljust(len(data)))
        file.flush()
        os.fsync(file.fileno())
    if path.suffix == ".part":
        path.unlink()


def _names(data: bytes, words: tuple[str, ...]) -> bool:
    text = data.decode("utf-8", "replace").casefold()
    return any(word.casefold() in text for word in words)
