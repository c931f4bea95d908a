"""Every write to a database, as it happens: what it holds, and the two moments at which a process may die of it.

A write is a transaction that changes something. Its words say what: "journal:asked" for an entry of that kind, the table's name
for any other row ("outbox:mail" with its kind where it is drawn first), "schema" for the tables themselves. Listens to
SQLAlchemy's own events; nothing of the host is replaced.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import Pool

#: Just before its commit (all is lost), or just after (all is there, and nobody acted on it yet).
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Moment:
    """The n-th write that holds `word`, "" for any; before or after its commit."""

    when: str
    word: str
    number: int


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Writes:
    """Listens from when it is made. `seen` holds the words of each write, in order."""

    def __init__(self, last: Moment | None) -> None:
        self.seen: list[tuple[str, ...]] = []
        self._last, self._counts = last, Counter[str]()
        event.listen(Engine, "before_cursor_execute", self._statement)
        event.listen(Engine, "commit", self._commit)
        event.listen(Engine, "rollback", self._rollback)
        event.listen(Pool, "checkin", self._given_back)

    @staticmethod
    def _statement(connection: Connection, _cursor: Any, text: str, _values: Any, context: Any, _many: bool) -> None:
        word = _word(text, context)
        if word:
            connection.info.setdefault("words", []).append(word)

    def _commit(self, connection: Connection) -> None:
        words = tuple(dict.fromkeys(connection.info.pop("words", [])))
        if not words:
            return
        self.seen.append(words)
        for word in ("", *words):
            self._counts[word] += 1
        self._die_if(BEFORE, words)
        connection.info["committed"] = words

    @staticmethod
    def _rollback(connection: Connection) -> None:
        connection.info.pop("words", None)

    def _given_back(self, _connection: Any, record: Any) -> None:
        words = record.info.pop("committed", None)
        if words:
            self._die_if(AFTER, words)

    def _die_if(self, when: str, words: tuple[str, ...]) -> None:
        last = self._last
        if last is not None and last.when == when and last.word in ("", *words) and self._counts[last.word] == last.number:
            die()


def _word(text: str, context: Any) -> str:
    """What a statement changes; empty for one that reads."""
    if text.lstrip()[:6].upper() in ("CREATE", "ALTER ", "DROP I", "DROP T"):
        return "schema"
    if context is None or not (context.isinsert or context.isupdate or context.isdelete) or context.compiled is None:
        return ""
    table = context.compiled.statement.table.name
    if context.isinsert and table in ("journal", "outbox"):
        return f"{table}:{context.compiled_parameters[0]['kind']}"
    return str(table)
