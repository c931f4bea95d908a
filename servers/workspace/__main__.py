"""`python -m servers.workspace`: reads the options, serves until it is told to stop, says where it is."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from servers.workspace.app import serve
from servers.workspace.settings import BadSettings, Settings


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 after SIGINT or SIGTERM, 2 when it cannot start."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="workspace: %(message)s")
    try:
        asyncio.run(_run(_settings(options)))
    except BadSettings as error:
        print(f"workspace: {error}", file=sys.stderr)
        return 2
    return 0


async def _run(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve(settings) as running:
        print(f"workspace ready at {running.url}/", flush=True)
        await stop.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m servers.workspace", description="A local Slack-compatible workspace.")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one (printed)")
    parser.add_argument("--bot-token", default="xoxb-local")
    parser.add_argument("--app-token", default="xapp-local")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep messages and modals over a restart")
    parser.add_argument(
        "--manifest", type=Path, metavar="FILE", help="the app's manifest: its commands, shortcuts, events and scopes"
    )
    parser.add_argument(
        "--customer-intake", type=Path, metavar="FILE", help="append tickets written on the page to this JSONL file"
    )
    parser.add_argument("--mail", type=Path, metavar="DIR", help="show sent replies from this folder, one JSON file each")
    parser.add_argument("--shop", metavar="URL", help="the shop's HTTP API, for the customer's side and the books")
    parser.add_argument("--supervisor", metavar="URL", help="who can kill the bot and reset everything")
    parser.add_argument("--trigger-seconds", type=float, default=3.0, help="how long a trigger id lives (Slack: 3)")
    parser.add_argument("--ack-seconds", type=float, default=3.0, help="how long to wait for an acknowledgement (Slack: 3)")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(**vars(options))


if __name__ == "__main__":
    sys.exit(main())
