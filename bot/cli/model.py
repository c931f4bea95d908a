"""`deskhand model list|fetch`: the models it knows, and how a file gets here (spec M2)."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from bot.cli.shared import console, out, told
from models import catalogue
from models.fetch import fetch as fetch_model

app = typer.Typer(help="The models on this machine.", no_args_is_help=True)


@app.command("list")
@told
def list_models() -> None:
    """The catalogue, and which files are here."""
    table = Table("name", "file", "size", "licence", "here", "what for", box=None)
    for entry in catalogue.load():
        here = "yes" if catalogue.is_here(entry) else "no"
        table.add_row(entry.name, entry.file, f"{entry.bytes / 1e9:.1f} GB", entry.licence, here, entry.note)
    out.print(table)
    out.print(f"Files are kept in {catalogue.cache_dir()}", style="dim")


@app.command()
@told
def fetch(
    name: Annotated[str, typer.Argument(help="A name from `deskhand model list`; left out, the embedded default.")] = "",
    source: Annotated[str, typer.Option("--from", help="A file or an address to take it from instead.")] = "",
) -> None:
    """Fetch a model file: resumes, tries the next source, checks disk space first and the digest last."""
    entry = catalogue.find(name, catalogue.load()) if name else catalogue.default(catalogue.load())
    if catalogue.is_here(entry) and not source:
        out.print(f"{entry.title} is here: {catalogue.cache_dir() / entry.file}")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(entry.name, total=entry.bytes)

        def show(done: int, total: int, words: str) -> None:
            progress.update(task, completed=done, total=total, description=words or entry.name)

        path = fetch_model(entry.name, source=source or None, progress=show)
    out.print(f"{entry.title} is here: {path}")
