"""The journal outside the database: exported, verified, and its day's head made known (spec H31).

An export holds a whole chain and is verified without database or model. Whatever is read here may have been written by anybody:
a file is judged, never believed. Refuses to know what entries mean, but for those that tell of an erasure or a day's end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final, NoReturn

from host import journal
from host.errors import NotFound
from host.port import Clock
from host.store import chains, outbox
from host.store import journal as rows
from host.store.codec import iso, moment
from host.store.engine import Store, Tx
from host.store.journal import Link
from host.types import Json, OutboxKind

FORMAT: Final = "deskhand-journal/1"
MOST_BYTES: Final = 64_000_000
SETTLED: Final = timedelta(minutes=1)
"""How old an entry must be to count in a day's head: what was begun before it may still be on its way to the database."""

_TOP: Final = {"format": str, "ticket": str, "exported_at": str, "links": list}
_LINK: Final = {"seq": int, "run_id": str, "kind": str, "at": str, "digest": str, "hash": str}
_ERASABLE: Final = ("salt", "body")


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of verifying one chain. `broken` says which entry breaks it and how; empty when it holds."""

    ticket_id: str
    entries: int
    erased: int
    head: str
    broken: str = ""

    @property
    def name(self) -> str:
        return self.ticket_id or "the house's own chain"


@dataclass(frozen=True, slots=True)
class AllChecked:
    """Every chain of a database, and in words each day's head that does not come out any more."""

    chains: tuple[Checked, ...]
    days: int
    broken_days: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.broken_days and not any(one.broken for one in self.chains)


# --- out ------------------------------------------------------------------------------------------------------------------


async def export(store: Store, ticket_id: str, now: datetime) -> dict[str, Json]:
    """A ticket's whole chain as JSON, `journal.HOUSE` for the house's own. Raises `NotFound`.

    {"format", "ticket", "exported_at", "links": [{"seq", "run_id", "kind", "at", "digest", "hash", "salt", "body"}, …]};
    `body` is an entry's JSON as text, byte for byte as digested; it and its salt are null once erased.
    """
    async with store.read() as tx:
        chain = await rows.chain(tx, ticket_id)
    if not chain:
        raise NotFound(f"there is no journal of {ticket_id or 'the house'}: nothing was written yet under that id")
    keys = (*_LINK, *_ERASABLE)
    links = [{key: getattr(link, key) for key in keys} for link in chain]
    return {"format": FORMAT, "ticket": ticket_id, "exported_at": iso(now), "links": links}


# --- verified -------------------------------------------------------------------------------------------------------------


def check_file(data: bytes) -> Checked:
    """Verify an export. Raises ValueError in words when it is none that could be verified."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes: no ticket's journal is")
    if not data.strip():
        raise ValueError("it is empty: export the ticket again")
    try:
        read = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_number)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text (byte {error.start + 1})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply for an export") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON, or cut off (line {error.lineno}, column {error.colno}: {error.msg})") from error
    return check_chain(_chain(read))


def check_chain(chain: Sequence[Link]) -> Checked:
    """Verify a chain: every digest and hash, and that what has no content was erased and not merely taken out."""
    gone = [link for link in chain if link.body is None]
    ticket_id, head = (chain[-1].ticket_id, chain[-1].hash) if chain else ("", "")
    return Checked(ticket_id, len(chain), len(gone), head, journal.verify(chain) or _taken_out(chain))


def _taken_out(chain: Sequence[Link]) -> str:
    """An erasure is an entry of its own and says how many it erased (spec H31); content that is missing otherwise was removed."""
    missing = 0
    for link in chain:
        if link.body is None:
            if link.kind == "erased":
                return f"entry {link.seq} (erased) has no content, and only it could say what was erased"
            missing += 1
        elif link.kind == "erased":
            told = _erased(link.body)
            if told > missing:
                return f"entry {link.seq} (erased) tells of {told} erased entries, but {missing} before it have no content"
            missing -= told
    if missing:
        first = next(link.seq for link in chain if link.body is None)
        return f"{missing} entries have no content, the first of them entry {first}, and no entry says that they were erased"
    return ""


def _erased(body: str) -> int:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return 0
    number = told.get("entries") if isinstance(told, Mapping) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


def _chain(read: Json) -> tuple[Link, ...]:
    top = _fields(read, _TOP, "the file")
    if top["format"] != FORMAT:
        raise ValueError(f"its format is {str(top['format'])[:60]!r}, and this program verifies {FORMAT!r}")
    if not top["links"]:
        raise ValueError("it holds no entry: export the ticket again")
    return tuple(_link(one, number, top["ticket"]) for number, one in enumerate(top["links"], start=1))


def _link(read: Json, number: int, ticket_id: str) -> Link:
    where = f"the entry at place {number}"
    known = _fields(read, _LINK, where, _ERASABLE)
    for key in _ERASABLE:
        if not isinstance(read[key], str | None):
            raise ValueError(f'{where}: "{key}" is neither text nor null')
    if (read["salt"] is None) != (read["body"] is None):
        raise ValueError(f"{where} has {'a salt without a body' if read['body'] is None else 'a body without its salt'}")
    link = Link(ticket_id, **{key: known[key] for key in _LINK}, salt=read["salt"], body=read["body"])
    try:
        "".join((ticket_id, link.run_id, link.kind, link.at, link.digest, link.hash, link.salt or "", link.body or "")).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where} holds half a character (a lone surrogate)") from None
    return link


def _fields(read: Json, kinds: Mapping[str, type], where: str, more: Iterable[str] = ()) -> Mapping[str, Json]:
    """Exactly these keys, each of its kind: a key more would stand beside what was verified as if it were part of it."""
    if not isinstance(read, Mapping):
        raise ValueError(f"{where} is no JSON object")
    keys = {*kinds, *more}
    if lacking := sorted(keys - read.keys()):
        raise ValueError(f'{where} lacks "{lacking[0]}"')
    if strange := sorted(read.keys() - keys):
        raise ValueError(f"{where} holds {strange[0][:60]!r}, which no export has")
    for key, kind in kinds.items():
        if not isinstance(read[key], kind) or isinstance(read[key], bool):
            raise ValueError(f'{where}: "{key}" is no {"number" if kind is int else "list" if kind is list else "text"}')
    return read


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Readers differ in which of two equal keys they show: neither is believed."""
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("it holds a key twice in one object")
    return read


def _number(digits: str) -> int:
    if len(digits) > 18:
        raise ValueError("it holds a number that no export has")
    return int(digits)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is no JSON")


async def check_all(store: Store) -> AllChecked:
    """Every chain of the database, and every day's head recomputed and compared with the one that was written."""
    async with store.read() as tx:
        found = []
        for ticket_id in await chains.chain_ids(tx):
            found.append(check_chain(await rows.chain(tx, ticket_id)))
        house = await rows.chain(tx, journal.HOUSE)
        days = [link for link in house if link.kind == "day_closed"]
        broken = [words for link in days if (words := await _broken_day(tx, link))]
    return AllChecked(tuple(found), len(days), tuple(broken))


async def _broken_day(tx: Tx, link: Link) -> str:
    written = _closed(link.body)
    if written is None:
        return f"entry {link.seq} of the house's own chain should hold a day's head and can't be read"
    head, number = _head(await chains.heads(tx, moment(link.at) - SETTLED))
    if (head, number) == (written.head, written.chains):
        return ""
    count = "" if number == written.chains else f" It was over {written.chains} chains, and {number} are left."
    return f"the head of {written.day} does not come out any more: a chain was changed, shortened or removed since.{count}"


# --- the day's head -------------------------------------------------------------------------------------------------------


async def close_days(store: Store, clock: Clock, zone: tzinfo) -> int:
    """At the turn of a day: write the head over all chains, and put it out for the channel. Returns how many were written.

    To be called from a timer: it does nothing while the newest closed day is yesterday (in `zone`). After days in which the
    program was down, the last of them is closed, and its notice says since when. The head is over what was written up to
    `SETTLED` before its own entry's moment, so that it can be computed again from the database at any time.
    """
    now = clock.now()
    day = (now.astimezone(zone) - timedelta(days=1)).date().isoformat()
    async with store.read() as tx:  # often asked, seldom due: a timer takes no lock in vain
        midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        if await _is_closed(tx, day) or not await chains.heads(tx, midnight):  # of the second, no day has ended yet
            return 0
    async with store.write() as tx:
        heads = await chains.heads(tx, now - SETTLED)
        if not heads or await _is_closed(tx, day):
            return 0
        last = await _last_closed(tx)
        head, number = _head(heads)
        await journal.append(tx, journal.HOUSE, "", now, journal.DayClosed(day=day, head=head, chains=number))
        words = _notice(day, head, number, last.day if last else "")
        await outbox.put(tx, OutboxKind.NOTICE, f"head:{day}", "", now, {"text": words})
    return 1


async def _is_closed(tx: Tx, day: str) -> bool:
    last = await _last_closed(tx)
    return last is not None and last.day >= day


async def _last_closed(tx: Tx) -> journal.DayClosed | None:
    return _closed(await chains.newest(tx, journal.HOUSE, "day_closed"))


def _notice(day: str, head: str, number: int, last: str) -> str:
    missed = bool(last) and (datetime.fromisoformat(day) - datetime.fromisoformat(last)).days > 1
    since = f" No day was closed since {last}: this head stands for those between, too." if missed else ""
    return f"The journal's head of {day}, over {number} {'chain' if number == 1 else 'chains'}: {head}.{since}"


def _head(heads: Iterable[chains.Head]) -> tuple[str, int]:
    """SHA-256 over the lines "ticket seq hash", sorted; and how many there are."""
    lines = sorted(f"{one.ticket_id} {one.seq} {one.hash}" for one in heads)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), len(lines)


def _closed(body: str | None) -> journal.DayClosed | None:
    try:
        return None if body is None else journal.DayClosed.model_validate_json(body)
    except ValueError:
        return None
