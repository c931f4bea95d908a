"""`deskhand queue`: works tickets headless, with scripted people through the same host, and prints the figures of spec H29."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bot import wiring
from bot.cli.alone import alone, apart, check_servers
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, out, told
from bot.headless import ADMIN, HeadlessDesk, LeadRule, Rules, StaffRule
from bot.mailroom.files import read_tickets
from bot.settings import Settings
from host import score
from host.types import Ticket
from models.port import Model, ModelInfo
from models.recorder import Recorder
from models.scripted import ScriptedModel

ModelKind = Literal["recorded", "local"]


@told
def queue(
    tickets: Annotated[str, typer.Option(help="Ticket ids, separated by commas.")] = "",
    file: Annotated[Path | None, typer.Option(help="A file of tickets, one JSON object a line.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All tickets that deskhand.toml names.")] = False,
    staff: Annotated[StaffRule, typer.Option(help="What scripted staff do with consent questions.")] = "approve",
    lead: Annotated[LeadRule, typer.Option(help="What the scripted lead does with releases.")] = "decline",
    model: Annotated[ModelKind | None, typer.Option(help="Replay recordings, or decode here.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write figures and tickets to this file.")] = None,
    config: Config = None,
    state: State = None,
    live: Annotated[bool, typer.Option("--on-live-servers", help="Also on servers that are reached by url.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every call.")] = False,
) -> None:
    """Work tickets with scripted people, on a new database, and with servers that are started anew for it."""
    log_to_stderr("INFO" if verbose else "WARNING")
    _check_folder(json_file)
    folder = state or Path(tempfile.mkdtemp(prefix="deskhand-queue-"))
    try:
        settings = apart(load(config, folder))
        check_servers(settings, live)
        if model is not None:
            settings = wiring.with_model(settings, model)
        chosen = _chosen(settings, tickets, file, everything)
        with alone(settings):
            report = anyio.run(_work, settings, chosen, Rules(staff, lead), wiring.build_model(settings))
    finally:
        if state is None:
            shutil.rmtree(folder, ignore_errors=True)
    _write(report, json_file)
    _print(report)


@told
def record(
    tickets: Annotated[str, typer.Option(help="Ticket ids, separated by commas.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All tickets that deskhand.toml names.")] = False,
    staff: Annotated[StaffRule, typer.Option(help="What scripted staff do with consent questions.")] = "approve",
    lead: Annotated[LeadRule, typer.Option(help="What the scripted lead does with releases.")] = "decline",
    into: Annotated[Path | None, typer.Option(help="The recordings' folder (default: the one in deskhand.toml).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write figures and tickets to this file.")] = None,
    config: Config = None,
    live: Annotated[bool, typer.Option("--on-live-servers", help="Also on servers that are reached by url.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every call.")] = False,
) -> None:
    """Work tickets on the real model and keep its replies, for `queue --model recorded`. Earlier recordings are kept."""
    log_to_stderr("INFO" if verbose else "WARNING")
    _check_folder(json_file)
    with tempfile.TemporaryDirectory(prefix="deskhand-record-") as folder:
        settings = wiring.with_model(apart(load(config, Path(folder))), "local")
        check_servers(settings, live)
        chosen = _chosen(settings, tickets, None, everything)
        target = into or Path(settings.model.recordings)
        report = anyio.run(_record, settings, chosen, Rules(staff, lead), target)
    _write(report, json_file)
    _print(report)
    out.print(f"Recorded into {target}")


async def _record(settings: Settings, chosen: Sequence[Ticket], rules: Rules, target: Path) -> dict[str, Any]:
    unasked = ScriptedModel([])
    async with wiring.running(settings, unasked, lambda host: HeadlessDesk(host, rules), extra_env=settings.queue.env) as dry:
        prompt_digest = dry.prompt_digest
    how = {"staff": rules.staff, "lead": rules.lead, "tickets": len(chosen), "limits": settings.host.limits.model_dump()}
    recorder = Recorder(wiring.build_model(settings), target, prompt_digest=prompt_digest, host=how, reuse=True)
    return await _work(settings, chosen, rules, recorder)


def _chosen(settings: Settings, ids: str, file: Path | None, everything: bool) -> list[Ticket]:
    source = file or (Path(settings.queue.tickets) if settings.queue.tickets else None)
    if source is None:
        raise fail("no tickets: give --file, or name a file at [queue] tickets in deskhand.toml")
    if not (ids or file or everything):
        raise fail("which tickets? Give --all, --tickets T-0001,T-0009 or --file FILE")
    try:
        read, problems = read_tickets(source)
    except ValueError as error:
        raise fail(str(error)) from error
    for problem in problems:
        console.print(f"[yellow]deskhand:[/yellow] {escape(str(problem))}", soft_wrap=True)
    wanted = [one.strip() for one in ids.split(",") if one.strip()]
    missing = [one for one in wanted if one not in {ticket.id for ticket in read}]
    if missing:
        raise fail(f"{source} holds no ticket {', '.join(missing)}")
    if not read:
        raise fail(f"{source} holds no ticket that can be worked: write one JSON object a line")
    return [ticket for ticket in read if not wanted or ticket.id in wanted]


async def _work(settings: Settings, chosen: Sequence[Ticket], rules: Rules, model: Model) -> dict[str, Any]:
    async with (
        model,
        wiring.running(settings, model, lambda host: HeadlessDesk(host, rules), extra_env=settings.queue.env) as running,
    ):
        for line in running.report:
            console.print(foreign(line), style="dim")
        for ticket in chosen:
            if not await running.host.intake(ticket):
                console.print(f"[yellow]deskhand:[/yellow] ticket {ticket.id} came twice; it is worked once")
        await running.host.run_queue(ADMIN, None)
        await _until_done(running, len({ticket.id for ticket in chosen}))
        results = await running.host.results(tuple(dict.fromkeys(ticket.id for ticket in chosen)))
        return _report(settings, model.info, running.prompt_digest, results)


async def _step(running: wiring.Running) -> bool:
    """One run's next steps, then whatever people have to be asked; False when nothing is left to do."""
    worked = await running.queue.work_one()
    return bool(await running.outbox.deliver_due()) or worked


async def _until_done(running: wiring.Running, total: int) -> None:
    """One step after the other, so that a run can be repeated exactly."""
    columns = (TextColumn("tickets"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("tickets", total=total)
        while await _step(running):
            status = await running.host.status()
            if status.running is not None:
                progress.update(task, completed=status.running.worked)
        await running.host.stop(ADMIN)  # what only a person could find out: it ends as cancelled, in words
        while await _step(running):
            pass


def _report(settings: Settings, info: ModelInfo, prompt_digest: str, results: Sequence[score.TicketResult]) -> dict[str, Any]:
    expected = score.read_expectations(Path(settings.queue.expectations)) if settings.queue.expectations else {}
    roles = score.ScoreConfig(quote_tool=settings.queue.quote_tool, issue_tool=settings.queue.issue_tool)
    sampling = {"temperature": settings.model.temperature, "max_tokens": settings.model.max_tokens, "seed": settings.model.seed}
    return {
        "model": {"name": info.name, "kind": info.kind, "file": info.file, "sha256": info.sha256},
        "prompt_digest": prompt_digest,
        "sampling": sampling,
        **score.figures(results, expected, roles),
        "tickets": [score.as_json(result) for result in results],
    }


def _check_folder(json_file: Path | None) -> None:
    """Before the work, not after it."""
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise fail(f"--json {json_file}: there is no folder {json_file.parent}; make it, or name another file")


def _write(report: dict[str, Any], json_file: Path | None) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _print(report: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None)
    for key, value in report.items():
        if key != "tickets":
            shown = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
            table.add_row(key, shown)
    out.print(table)
