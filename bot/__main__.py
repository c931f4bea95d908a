"""The `deskhand` command."""

from __future__ import annotations

import typer

from bot.cli import ask, demo, journal, model, policy, queue, servers, up

app = typer.Typer(
    help="Deskhand: a local model works support tickets, people consent, a journal remembers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(up.up)
app.command()(queue.queue)
app.command()(queue.record)
app.command()(ask.ask)
app.command()(journal.export)
app.command()(journal.verify)
app.command()(journal.erase)
app.add_typer(model.app, name="model")
app.add_typer(policy.app, name="policy")
app.add_typer(servers.app, name="servers")


def main() -> None:
    app()


if __name__ == "__main__":
    main()
