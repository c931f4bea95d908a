"""Files: tickets in as JSON lines, sent replies out as one JSON file each (spec B11).

The file is read on from where we stopped; a good line is taken, a broken one is named by file and line number, once, and nothing
else is lost. A reply's file is named by its ticket and its sign-off and appears whole or not at all: never twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread

from bot.mailroom.port import Reply
from host.port import DeliveryUnknown, Undelivered
from host.types import Json, Ticket

log = logging.getLogger(__name__)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_LINE = 1_000_000  # bytes


def parse_ticket(line: str) -> Ticket:
    """One ticket from a JSON line {"id","customer_id","from":{"name","email"},"sender_verified","subject","body",
    "received_at","due_at","language"}. Raises ValueError in words."""
    try:
        raw = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(
            f"not JSON ({getattr(error, 'msg', 'nested too deeply')}): write one ticket per line as a JSON object"
        ) from error
    if not isinstance(raw, dict):
        raise ValueError("not a JSON object: write one ticket per line as a JSON object")
    sender = raw.get("from")
    if not isinstance(sender, dict):
        raise ValueError('"from" is missing: write {"name": …, "email": …}')
    ticket_id = _text(raw, "id", needed=True)
    if not _ID.fullmatch(ticket_id):
        raise ValueError('"id" may have up to 64 letters, digits, ".", "_" and "-" only')
    return Ticket(
        id=ticket_id,
        intake_key=f"file:{ticket_id}",
        subject=_text(raw, "subject"),
        body=_text(raw, "body", needed=True),
        sender_mail=_text(sender, "email") or _text(sender, "mail"),
        sender_name=_text(sender, "name"),
        sender_verified=raw.get("sender_verified") is True,
        customer_id=_text(raw, "customer_id") or None,
        received_at=_moment(raw, "received_at") or datetime.now(UTC),
        due_at=_moment(raw, "due_at"),
        language=_text(raw, "language") or None,
        source="file",
    )


def _text(raw: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    value = raw.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise ValueError(f'"{key}" is missing or not text')
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f'"{key}" holds half a character (a lone surrogate)')
    return value


def _moment(raw: Mapping[str, Any], key: str) -> datetime | None:
    text = _text(raw, key)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f'"{key}" is not a time such as 2026-06-01T07:12:40Z') from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that could not be taken. Its text is in no message: it may be a customer's."""

    path: Path
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.why}. This line was left out, all others are taken."


def read_tickets(path: Path) -> tuple[list[Ticket], list[Problem]]:
    """A whole file at once, for commands. Raises ValueError in words when it can't be read."""
    reader = _Reader(path)
    try:
        reader.poll()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: give the path of a file with one ticket per line") from error
    reader.finish()
    return reader.take()


class FileInbox:
    """Watches one JSONL file, which may not exist yet, grow, or be replaced."""

    def __init__(self, path: Path, *, poll_seconds: float = 1.0, on_problem: Callable[[Problem], None] | None = None) -> None:
        self._path = path
        self._poll = min(max(poll_seconds, 0.01), 60.0)
        self._on_problem = on_problem or _say

    async def tickets(self) -> AsyncIterator[Ticket]:
        """Yields for ever; stop by cancelling."""
        reader = _Reader(self._path)
        missing = False
        while True:
            try:
                await anyio.to_thread.run_sync(reader.poll)
                missing = False
            except OSError as error:
                if not missing:
                    log.warning("ticket file %s can't be read yet (%s); waiting for it", self._path, error.strerror)
                missing = True
            tickets, problems = reader.take()
            for problem in problems:
                self._on_problem(problem)
            for ticket in tickets:
                yield ticket
            await anyio.sleep(self._poll)


class _Reader:
    """Reads on from its offset. A last line without its end is taken when it parses, or once the file has stopped growing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = (0, 0)
        self._offset = 0
        self._line = 0
        self._tail = b""
        self._tickets: list[Ticket] = []
        self._problems: list[Problem] = []

    def poll(self) -> None:
        with self._path.open("rb") as file:
            state = os.fstat(file.fileno())
            if (state.st_dev, state.st_ino) != self._file or state.st_size < self._offset:
                self._file = (state.st_dev, state.st_ino)
                self._offset, self._line, self._tail = 0, 0, b""
            file.seek(self._offset)
            fresh = file.read()
        self._offset += len(fresh)
        *lines, tail = (self._tail + fresh).split(b"\n")
        for line in lines:
            self._read(line)
        self._tail = tail
        if tail and (_parses(tail) or not fresh):
            self.finish()

    def finish(self) -> None:
        """Take what stands after the last line end as a line; what is appended to it later counts as its rest, a broken line."""
        tail, self._tail = self._tail, b""
        if tail:
            self._read(tail)

    def take(self) -> tuple[list[Ticket], list[Problem]]:
        tickets, problems = self._tickets, self._problems
        self._tickets, self._problems = [], []
        return tickets, problems

    def _read(self, line: bytes) -> None:
        self._line += 1
        if not line.strip():
            return
        try:
            if len(line) > _MOST_LINE:
                raise ValueError(f"longer than {_MOST_LINE} bytes")
            self._tickets.append(parse_ticket(line.decode("utf-8-sig")))
        except UnicodeDecodeError:
            self._problems.append(Problem(self._path, self._line, "not UTF-8"))
        except ValueError as error:
            self._problems.append(Problem(self._path, self._line, str(error)))


def _parses(line: bytes) -> bool:
    try:
        parse_ticket(line.decode("utf-8-sig"))
    except ValueError:
        return False
    return True


def _say(problem: Problem) -> None:
    log.warning("%s", problem)


class FileOutgoing:
    """Sent replies in a folder, one JSON file each; keys: receipt, ticket_id, question_id, to, from, subject, body, sent_at."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, reply: Reply) -> Mapping[str, Json]:
        return await anyio.to_thread.run_sync(self._send, reply)

    async def find(self, reply: Reply) -> Mapping[str, Json] | None:
        return await anyio.to_thread.run_sync(self._find, reply)

    def _path(self, reply: Reply) -> Path:
        return self._folder / f"{quote(reply.ticket_id, safe='')}.{quote(reply.question_id, safe='')}.json"

    def _send(self, reply: Reply) -> Mapping[str, Json]:
        if (earlier := self._find(reply)) is not None:
            return earlier
        final = self._path(reply)
        written = final.with_name(f".{secrets.token_hex(8)}.part")
        letter = _letter(reply)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(written, letter)
        except OSError as error:
            _remove(written)
            raise Undelivered(f"the reply could not be written to {self._folder}: {error.strerror}") from error
        try:
            os.link(written, final)  # fails when the name exists: nobody can write this reply a second time
        except FileExistsError:
            return self._find(reply) or _receipt(letter, final)
        except OSError as error:
            raise DeliveryUnknown(f"nobody knows whether {final.name} was written: {error.strerror}") from error
        finally:
            _remove(written)
        return _receipt(letter, final)

    def _find(self, reply: Reply) -> Mapping[str, Json] | None:
        path = self._path(reply)
        try:
            return _receipt(json.loads(path.read_text("utf-8")), path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise DeliveryUnknown(f"{path} exists but can't be read ({type(error).__name__}): please look at it") from error


def _letter(reply: Reply) -> dict[str, Json]:
    receipt = hashlib.sha256(f"{reply.ticket_id}\n{reply.question_id}".encode()).hexdigest()[:12]
    return {
        "receipt": f"M-{receipt}",
        "ticket_id": reply.ticket_id,
        "question_id": reply.question_id,
        "to": reply.to,
        "from": reply.sender,
        "subject": reply.subject,
        "body": reply.body,
        "sent_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _write(path: Path, letter: Mapping[str, Json]) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(letter, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())


def _receipt(letter: Mapping[str, Json], path: Path) -> Mapping[str, Json]:
    return {"receipt": letter["receipt"], "sent_at": letter["sent_at"], "file": path.name}
