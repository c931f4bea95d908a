"""Keeps the workspace's state over a restart: one SQLite table of JSON rows. Knows nothing of what the rows mean."""

import json
import sqlite3
from pathlib import Path

from servers.workspace.settings import BadSettings, Json


class Store:
    """Rows of (kind, key) → JSON. Without a file it lives in memory and forgets at exit."""

    def __init__(self, path: Path | None) -> None:
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS thing (kind TEXT, key TEXT, body TEXT, PRIMARY KEY (kind, key))")
        except (sqlite3.Error, OSError) as error:
            raise BadSettings(f"--state {path}: {error}; give a path that can be written, or delete the file") from error

    def put(self, kind: str, key: str, body: Json) -> None:
        """Insert or replace one row."""
        self._db.execute("INSERT OR REPLACE INTO thing VALUES (?, ?, ?)", (kind, key, json.dumps(body)))

    def drop(self, kind: str, key: str) -> None:
        """Forget one row."""
        self._db.execute("DELETE FROM thing WHERE kind = ? AND key = ?", (kind, key))

    def all(self, kind: str) -> dict[str, Json]:
        """Every row of a kind, by key, in the order of the keys."""
        rows = self._db.execute("SELECT key, body FROM thing WHERE kind = ? ORDER BY key", (kind,))
        return {key: json.loads(body) for key, body in rows}

    def clear(self) -> None:
        """Forget everything."""
        self._db.execute("DELETE FROM thing")

    def close(self) -> None:
        """Close the file."""
        self._db.close()
