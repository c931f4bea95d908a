"""`deskhand export`, `verify` and `erase`: the journal taken out, proved whole, and a customer taken out of all (spec H31)."""

from __future__ import annotations

import getpass
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer

from bot.cards.text import visible
from bot.cli.alone import alone
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, out, told
from bot.clock import SystemClock
from bot.mailroom.erasing import Traces, erase_files
from bot.settings import Settings
from host import erasure, records
from host.erasure import Customer, Erasure, NotErased
from host.journal import HOUSE
from host.records import AllChecked, Checked
from host.store.engine import Store
from host.store.erasure import clean_files
from host.types import Json

_TRIES, _PAUSE = 5, 1.0  # seconds between two looks at a database that somebody reads
_BEYOND = (
    "Not erased, because it is out of reach: what the customer received; messages in Slack that are no cards, such as reminders "
    "and what people wrote (delete the ticket's thread there); exports and backups that you made; your servers' own records."
)


# --- export and verify ----------------------------------------------------------------------------------------------------


@told
def export(
    ticket: Annotated[str, typer.Argument(help="A ticket's id, or desk for the house's own chain.")],
    file: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of the terminal.")] = None,
    config: Config = None,
    state: State = None,
) -> None:
    """Write a ticket's whole journal as JSON, for `deskhand verify`."""
    log_to_stderr()
    settings = _with_database(load(config, state))
    read = anyio.run(_export, settings, HOUSE if ticket == "desk" else ticket)
    text = json.dumps(read, ensure_ascii=False, indent=1) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    try:
        # It holds what the customer wrote: for the eyes of whoever exported it.
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise fail(f"{file} can't be written ({error.strerror}): name a file in a folder that exists") from error
    out.print(foreign(f"{ticket}: {_number(len(read['links']), 'entry', 'entries')} in {file}"), soft_wrap=True)


async def _export(settings: Settings, ticket_id: str) -> dict[str, Json]:
    async with Store(settings.database.url) as store:
        return await records.export(store, ticket_id, SystemClock().now())


@told
def verify(
    file: Annotated[Path | None, typer.Argument(help="What `deskhand export` wrote.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every chain of the database, and every day's head.")] = False,
    config: Config = None,
    state: State = None,
) -> None:
    """Say whether a journal holds, or which entry breaks it and how; exit code 1 then. A file needs no database."""
    log_to_stderr()
    if everything == (file is not None):
        raise fail("what is to be verified? Give a file that `deskhand export` wrote, or --all for the database")
    if file is not None:
        _say_file(file)
    else:
        _say_all(anyio.run(_check_all, _with_database(load(config, state))))


def _say_file(file: Path) -> None:
    try:
        if not file.is_file():
            raise fail(f"{file} is no file: give one that `deskhand export` wrote", 1)
        with file.open("rb") as opened:
            checked = records.check_file(opened.read(records.MOST_BYTES + 1))
    except OSError as error:
        raise fail(f"{file} can't be read ({error.strerror})", 1) from error
    except ValueError as error:
        raise fail(visible(f"{file} can't be verified: {error}"), 1) from error
    if checked.broken:
        raise fail(visible(f"{file} does not hold: {checked.broken}"), 1)
    out.print(foreign(f"{checked.name}: {_counted(checked)}. The chain ends in {checked.head}"), soft_wrap=True)


def _counted(checked: Checked) -> str:
    entries = "1 entry holds" if checked.entries == 1 else f"{checked.entries} entries hold"
    return entries + (f", {checked.erased} of them erased" if checked.erased else "")


async def _check_all(settings: Settings) -> AllChecked:
    async with Store(settings.database.url) as store:
        return await records.check_all(store)


def _say_all(found: AllChecked) -> None:
    broken = [f"{one.name}: {one.broken}" for one in found.chains if one.broken] + list(found.broken_days)
    for words in broken:
        out.print(foreign(words), soft_wrap=True)
    entries, erased = sum(one.entries for one in found.chains), sum(one.erased for one in found.chains)
    if broken:
        raise fail(f"the journal does not hold: {_number(len(broken), 'fault')}, told above", 1)
    held = f"{_number(len(found.chains), 'chain')} with {_number(entries, 'entry', 'entries')}, {erased} of them erased"
    out.print(f"All hold: {held}; {_number(found.days, 'head of a day', 'heads of days')}.", soft_wrap=True)


# --- erase ----------------------------------------------------------------------------------------------------------------


@told
def erase(
    customer: Annotated[str, typer.Argument(help="A customer's id, or the mail address that they write from.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    clean: Annotated[bool, typer.Option("--clean", help="Only clean the database's files, after an erasure could not.")] = False,
    config: Config = None,
    state: State = None,
) -> None:
    """Erase a customer from database, inbox and sent replies. The journal still verifies. It can't be undone."""
    log_to_stderr()
    if clean == bool(customer.strip()):
        raise fail("who is to be erased? Give a customer's id or mail address (or --clean alone)")
    settings = _with_database(load(config, state))
    with alone(settings):
        if not clean:
            _erase(settings, customer.strip(), yes)
        out.print(anyio.run(_clean, settings), soft_wrap=True)


def _erase(settings: Settings, wanted: str, yes: bool) -> None:
    found, hindrance = anyio.run(_look, settings, wanted)
    traces = _files(settings, found, only_look=True)
    if not (found.tickets or traces.lines or traces.letters):
        places = f"; look yourself at {', '.join(traces.unclear)}" if traces.unclear else ""
        raise fail(
            visible(f"nobody is known as {wanted}: there is no ticket, no line of the inbox and no reply of theirs{places}"), 1
        )
    if hindrance:
        raise fail(visible(f"nothing was erased: {hindrance}"), 1)
    _say_plan(found, traces)
    if not yes:
        _confirm(wanted)
    _files(settings, found, only_look=False)  # first, so that whatever stops us, the same command goes on
    done = anyio.run(_erase_rows, settings, wanted)
    if isinstance(done, NotErased):
        raise fail(visible(f"the database was left as it is: {done.words}"), 1)
    _say_done(done, traces)


def _say_plan(found: Customer, traces: Traces) -> None:
    who = ", ".join((*found.ids, *found.mails))
    what = f"{_number(len(found.tickets), 'ticket')} ({', '.join(found.tickets)})" if found.tickets else "no ticket"
    out.print(foreign(f"{who}: {what}, {_in_files(traces)}"), soft_wrap=True)


def _in_files(traces: Traces) -> str:
    return f"{_number(traces.lines, 'line')} of the inbox, {_number(traces.letters, 'sent reply', 'sent replies')}"


def _number(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"


def _confirm(wanted: str) -> None:
    if not sys.stdin.isatty():
        raise fail("nobody can be asked here: give --yes to erase without being asked")
    if not typer.confirm(f"Erase {visible(wanted)} for good?"):
        raise fail("nothing was erased", 1)


def _files(settings: Settings, found: Customer, *, only_look: bool) -> Traces:
    inbox, sent = Path(settings.mailroom.inbox), Path(settings.mailroom.sent)
    try:
        return erase_files(inbox, sent, found.owns, (*found.ids, *found.mails), only_look=only_look)
    except OSError as error:
        raise fail(f"{error.filename} can't be changed ({error.strerror}): make it writable and run this again", 1) from error


def _say_done(done: Erasure, traces: Traces) -> None:
    entries = _number(done.entries, "journal entry", "journal entries")
    out.print(f"Erased: {entries} of {_number(len(done.customer.tickets), 'ticket')}, {_in_files(traces)}.", soft_wrap=True)
    out.print("What stays: ids, times, decisions and receipts; cards in Slack are drawn anew once the bot runs.", soft_wrap=True)
    if done.elsewhere:
        where = ", ".join(one or "the house's own records" for one in done.elsewhere)
        console.print(foreign(f"Their id or address still stands in what is others': {where}. Look at it."), soft_wrap=True)
    if traces.unclear:
        console.print(foreign(f"Look yourself at what can't be read and names them: {', '.join(traces.unclear)}"), soft_wrap=True)
    out.print(_BEYOND, soft_wrap=True)


async def _look(settings: Settings, wanted: str) -> tuple[Customer, str]:
    async with Store(settings.database.url) as store:
        found = await erasure.find(store, wanted)
        return found, await erasure.hindrance(store, found)


async def _erase_rows(settings: Settings, wanted: str) -> Erasure | NotErased:
    async with Store(settings.database.url) as store:
        return await erasure.erase(store, SystemClock(), wanted, _who())


async def _clean(settings: Settings) -> str:
    async with Store(settings.database.url) as store:
        if not store.single_process:
            return (
                "PostgreSQL keeps deleted rows in its files, log and backups until its administrator cleans them (VACUUM FULL)."
            )
        for tries in range(_TRIES):
            why = await clean_files(store)
            if not why:
                return "The database's files were written anew: nothing that was erased stands in them."
            await anyio.sleep(_PAUSE if tries < _TRIES - 1 else 0)
    raise fail(
        f"what was erased may still stand in the database's files: {why}. Stop the bot, then run deskhand erase --clean", 1
    )


def _who() -> str:
    try:
        return f"{getpass.getuser()}, at the terminal"
    except (OSError, KeyError):  # a container's user may have no name
        return "somebody at the terminal"


def _with_database(settings: Settings) -> Settings:
    """A command that reads must not make an empty database and tell of that."""
    _, sqlite, path = settings.database.url.partition("sqlite:///")
    if sqlite and not Path(path).is_file():
        raise fail(f"there is no database at {path}: give --state with the folder that the bot uses")
    return settings
