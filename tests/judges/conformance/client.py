"""One scenario of the MCP conformance suite through a whole host: `python client.py URL`, as the suite starts it.

The suite's server is the one server of a deskhand.toml in a folder of its own. For each call that the scenario wants there is a
ticket; a scripted model writes the call, the policy asks (no rule names it), scripted staff approve, a scripted lead fills in
what the server asks, and the dispatcher alone sends. All tickets are worked before anybody answers, so that one call's question
is open while others run. Prints what became of each call; ends with 1 when one of them came to no result.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2

from bot import settings as settings_file
from bot import wiring
from bot.headless import ADMIN, STAFF, HeadlessDesk, Rules, filled
from host.types import Ticket, Tool
from models import scripted
from models.port import Reply, Request

PREFIX, SECRET_ENV = "judge", "JUDGE_CLIENT_SECRET"
SECONDS = 55
#: Read as attached resources, so that reading shows its headers too.
RESOURCES = {"http-standard-headers": ("file:///path/to/file%20name.txt", "https://example.com/resource?id=123")}
ECHO, FOCAL = "json_schema_echo", "json_schema_2020_12_tool"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a scenario waits for. `shown` names a tool whose schema, as the model is shown it, becomes `schema`."""

    tool: str
    arguments: Mapping[str, Any]
    shown: str = ""


def configuration(url: str, scenario: str, context: Mapping[str, Any], folder: Path) -> str:
    """What an operator would write for this server, and set beside it: a secret in the environment, a key in a file."""
    server = {"url": url, "trusted": True, "resources": list(RESOURCES.get(scenario, ()))}
    oauth = {"client_id": context["client_id"], "issuer": issuer_of(url)} if "client_id" in context else {}
    if "client_secret" in context:
        os.environ[SECRET_ENV] = context["client_secret"]
        oauth["secret_env"] = SECRET_ENV
    if "private_key_pem" in context:
        (folder / "key.pem").write_text(context["private_key_pem"], "utf-8")
        oauth |= {"method": "private_key_jwt", "key_file": str(folder / "key.pem")}
    tables = {f"servers.{PREFIX}": server, f"servers.{PREFIX}.oauth": oauth}
    return "\n".join(_table(name, values) for name, values in tables.items() if values)


def issuer_of(url: str) -> str:
    """What an operator reads in the server's documents, before the host has to be led to the same."""
    asked = httpx2.post(url, json={})
    place = re.search(r'resource_metadata="([^"]+)"', asked.headers["WWW-Authenticate"])
    assert place is not None, "a guarded server says where its documents are"
    return str(httpx2.get(place[1]).json()["authorization_servers"][0])


def _table(name: str, values: Mapping[str, Any]) -> str:
    """TOML; its texts, lists and yes or no are written as in JSON."""
    return "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""])


def wanted(context: Mapping[str, Any], tools: Sequence[Tool]) -> list[Wanted]:
    """What the scenario names, else one call of each tool with the least that its schema takes."""
    if named := context.get("toolCalls"):
        return [Wanted(f"{PREFIX}.{one['name']}", one["arguments"]) for one in named]
    if any(tool.remote_name == ECHO for tool in tools):
        return [Wanted(f"{PREFIX}.{ECHO}", {}, shown=f"{PREFIX}.{FOCAL}")]
    return [Wanted(tool.name, filled(tool.schema)) for tool in tools if not tool.off]


def script(calls: Sequence[Wanted]) -> Callable[[Request], Reply]:
    """Writes the call that the ticket's subject numbers, then replies."""

    def reply(request: Request) -> Reply:
        start = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
        own = request.messages[start:]
        if any(message.role == "tool" for message in own):
            return scripted.call("desk.reply", text="That is done.")
        one = next(call for number, call in enumerate(calls) if f"Call {number}." in own[0].content)
        arguments = dict(one.arguments)
        if one.shown:
            arguments["schema"] = next(spec.schema for spec in request.tools if spec.name == one.shown)
        return scripted.call(one.tool, **arguments)

    return reply


def ticket(number: int) -> Ticket:
    return Ticket(
        id=f"T-{number:04}",
        intake_key=f"conformance:{number}",
        subject=f"Call {number}.",
        body="Please.",
        sender_mail="nora.vance@example.com",
        sender_name="Nora Vance",
        sender_verified=True,
        customer_id="C-1001",
        received_at=datetime(2026, 6, 2, 9, 0, tzinfo=UTC),
    )


async def settle(running: wiring.Running) -> None:
    """Every run as far as it comes, then people's answers; until nothing moves."""
    moved = 1
    while moved:
        moved = 0
        while await running.queue.work_one():
            moved += 1
        moved += await running.outbox.deliver_due()


async def run(url: str, scenario: str, context: Mapping[str, Any], folder: Path) -> bool:
    """Whether every call came to a result."""
    file = folder / "deskhand.toml"
    file.write_text(configuration(url, scenario, context, folder), "utf-8")
    settings = settings_file.load(file, folder)
    calls: list[Wanted] = []
    async with (
        scripted.ScriptedModel(lambda request: script(calls)(request)) as model,
        wiring.running(settings, model, lambda host: HeadlessDesk(host, Rules("approve", "accept"))) as running,
    ):
        for line in running.report:
            print(line)
        for change in await running.host.changed_tools():
            print((await running.host.accept_tool(change, ADMIN)).words)
        calls += wanted(context, await running.host.tools())
        for number in range(len(calls)):
            await running.host.intake(ticket(number))
            await running.host.work(f"T-{number:04}", STAFF)
        await settle(running)
        return all([await told(running, number, one) for number, one in enumerate(calls)])


async def told(running: wiring.Running, number: int, one: Wanted) -> bool:
    (result,) = await running.host.results((f"T-{number:04}",))
    outcomes = [f"{call.outcome.value} {call.note}".strip() for call in result.calls]
    print(f"{one.tool}: {', '.join(outcomes) or 'no outcome'}; the run: {result.stop_reason}")
    return outcomes == ["result"]


async def main() -> int:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory(prefix="deskhand-judge-") as folder, anyio.fail_after(SECONDS):
        return 0 if await run(sys.argv[-1], scenario, context, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
