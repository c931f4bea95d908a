"""`deskhand policy`: the rules as they stand, and `policy check`: a given call through the real ones (spec H8, B12).

Nothing is called and nothing is written: servers are asked what they offer, in a folder of this command's own, or with
`--offline` not even that. Where one is down, what deskhand.toml says of its tools counts.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, NoReturn

import anyio
import typer
from rich.table import Column, Table

from bot import wiring
from bot.cards.text import visible
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, out, told
from bot.clock import SystemClock
from bot.headless import HeadlessDesk, Rules
from bot.settings import Settings
from host import known as known_of
from host import policy
from host.asks import approvals_needed
from host.checks import invalid_arguments, unreadable_arguments
from host.config import ToolConfig
from host.grounding import Ungrounded, ground, normal_form
from host.known import Known
from host.policy import History, Judged
from host.prompt import READ_RESOURCE, REPLY
from host.store.engine import Store
from host.types import Fact, Json, Ticket, Tool
from models.scripted import ScriptedModel

app = typer.Typer(help="The policy: all its rules, or a given call through them.", invoke_without_command=True)
_GIVEN = "given with --record"
_NOW = SystemClock().now


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it reaches the policy."""

    tool: Tool
    arguments: Mapping[str, Json]
    provenance: Mapping[str, Fact]
    history: History
    ticket: Ticket


@app.callback()
@told
def show(context: typer.Context, config: Config = None) -> None:
    """Show every rule with its number and line."""
    context.obj = config
    if context.invoked_subcommand is None:
        _print_rules(load(config, None))


def _print_rules(settings: Settings) -> None:
    whole = [Column(name, overflow="fold") for name in ("rule", "line", "decision", "tool", "when", "why")]
    table = Table(*whole, box=None)
    for number, rule in enumerate(settings.host.policy, 1):
        when = " and ".join(f"{name} {text}" for name, text in rule.when.items()) or "always"
        line = _line(settings, number)
        table.add_row(str(number), line, rule.decision, *(foreign(text) for text in (rule.tool, when, rule.why)))
    out.print(table)
    out.print("The strictest rule that matches decides; what no rule speaks of is asked.", soft_wrap=True)


@app.command()
@told
def check(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="The tool's full name: shop.issue_refund.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments, a JSON object.")],
    ticket: Annotated[
        str, typer.Option(help="Judge it as this ticket's next call: what it holds, and what ran in it and today.")
    ] = "",
    record: Annotated[
        list[str] | None, typer.Option(help="""A record that an argument came from: quote_id='{"amount": 200}'.""")
    ] = None,
    ran: Annotated[list[str] | None, typer.Option(help="What ran in the ticket: shop.issue_refund=1,calls=4.")] = None,
    today: Annotated[list[str] | None, typer.Option(help="What ran today: shop.issue_refund=3,amount=900.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Don't ask the servers: their tools are as configured.")] = False,
    config: Config = None,
    state: State = None,
) -> None:
    """Say what the policy decides about a call, by which rule and line, and why the other rules do not."""
    log_to_stderr("ERROR")
    settings = load(config or context.obj, state)
    written = _json_object(arguments, "the arguments are")
    tools = _tools(settings, offline)
    _check_rules(settings, tools)
    known = _of_ticket(settings, ticket) if ticket else None
    chosen = _tool(tools, tool)
    call = _call(settings, tools, chosen, written, known, _records(settings, record or []), (ran or [], today or []))
    _print_verdict(settings, call)


# --- the call -------------------------------------------------------------------------------------------------------------


def _call(
    settings: Settings,
    tools: Mapping[str, Tool],
    tool: Tool,
    written: Mapping[str, Json],
    known: Known | None,
    records: Mapping[str, Mapping[str, Json]],
    counts: tuple[Sequence[str], Sequence[str]],
) -> Call:
    if tool.off:
        console.print(foreign(f"{tool.name} is off ({tool.off}): the call would be refused before the policy is asked"))
    if tool.full_schema and (invalid := invalid_arguments(tool, written)):
        raise fail(visible(f"the arguments of {tool.name} are not valid: {invalid}"))
    given, found = _grounded(settings, tool, written, known)
    for name, fields in records.items():
        if name not in given:
            raise fail(f"--record {name}: the call has no argument {name}; it has {_listed(given)}")
        found[name] = Fact(name, str(given[name]), _GIVEN, record=fields)
    history = known.history if known else History(today={"amount": 0})
    ran = {**history.ticket, **_counts(tools, counts[0], "calls", "--ran")}
    if known is None and "calls" not in ran:
        ran["calls"] = sum(int(number) for number in ran.values())
    today = {**history.today, **_counts(tools, counts[1], "amount", "--today")}
    counted = History({name: int(number) for name, number in ran.items()}, today)
    return Call(tool, given, found, counted, known.ticket if known else _nobodys())


def _nobodys() -> Ticket:
    return Ticket("", "", "", "", "", "", sender_verified=True, customer_id=None, received_at=_NOW())


def _grounded(
    settings: Settings, tool: Tool, written: Mapping[str, Json], known: Known | None
) -> tuple[Mapping[str, Json], dict[str, Fact]]:
    """Identifiers in their normal form; with a ticket, from what it holds, or the call never reaches the policy."""
    rules = settings.host.grounding
    if known is not None:
        grounded = ground(tool, written, known.facts, rules)
        if isinstance(grounded, Ungrounded):
            raise fail(visible(f"refused before the policy is asked: {grounded.why}"), 1)
        return grounded.arguments, dict(grounded.provenance)
    normal = dict(written)
    for name in written.keys() & rules.keys():
        value = normal_form(written[name], rules[name])
        if value is None:
            raise fail(visible(f"{json.dumps(written[name])} is no {name}: it would be refused before the policy is asked"), 1)
        normal[name] = value
    return normal, {}


def _tool(tools: Mapping[str, Tool], name: str) -> Tool:
    if name == REPLY:
        raise fail(f"{REPLY} is a draft that people sign off: no rule is asked about it")
    if name not in tools:
        raise fail(visible(f"there is no tool {name}; there are {_listed(tools)}"))
    return tools[name]


def _tools(settings: Settings, offline: bool) -> dict[str, Tool]:
    """What the servers offer, and what is configured of those that say nothing."""
    offered = {} if offline else {tool.name: tool for tool in _offered(settings)}
    for prefix, server in settings.host.servers.items():
        if any(tool.server == prefix for tool in offered.values()):
            continue
        if not offline:
            console.print(foreign(f"{prefix} can't be asked what it offers: its tools are taken as deskhand.toml has them"))
        for name, configured in server.tools.items():
            offered[f"{prefix}.{name}"] = Tool(f"{prefix}.{name}", prefix, name, "", {}, {}, "", configured.effect)
    return offered


def _check_rules(settings: Settings, tools: Mapping[str, Tool]) -> None:
    """As at the start: a rule that could not do what it says is named with its line (spec H8)."""
    parameters = {
        name: tuple(tool.full_schema.get("properties", {})) if tool.full_schema else None for name, tool in tools.items()
    }
    identifiers = tuple(settings.host.grounding)
    records = policy.record_fields(tools.values(), identifiers)
    try:
        policy.check(settings.host.policy, (*tools, REPLY), {**parameters, REPLY: ("text",)}, identifiers, records)
    except policy.BadRule as error:
        raise fail(visible(f"{settings.path}, line {_line(settings, error.number)}: {error}")) from error


def _offered(settings: Settings) -> tuple[Tool, ...]:
    """In a folder of its own: looking must not pin a tool, nor touch the bot's database."""
    with tempfile.TemporaryDirectory(prefix="deskhand-policy-") as folder:
        return anyio.run(_ask_servers, load(settings.path, Path(folder)))


async def _ask_servers(settings: Settings) -> tuple[Tool, ...]:
    async with wiring.running(settings, ScriptedModel([]), lambda host: HeadlessDesk(host, Rules())) as running:
        return await running.host.tools()


def _of_ticket(settings: Settings, ticket_id: str) -> Known:
    _, sqlite, path = settings.database.url.partition("sqlite:///")
    if sqlite and not Path(path).is_file():
        raise fail(f"there is no database at {path}, so no {ticket_id}: give --state with the folder that the bot uses")
    return anyio.run(_read_ticket, settings, ticket_id)


async def _read_ticket(settings: Settings, ticket_id: str) -> Known:
    async with Store(settings.database.url) as store:
        return await known_of.of_ticket(store, settings.host, _NOW(), ticket_id)


# --- what was typed -------------------------------------------------------------------------------------------------------


def _json_object(text: str, what: str) -> Mapping[str, Json]:
    try:
        read = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise fail(visible(f'{what} no JSON ({error}): write an object such as \'{{"order_id": "O-1145"}}\'')) from error
    if not isinstance(read, dict):
        raise fail(f'{what} no JSON object: write one such as \'{{"order_id": "O-1145"}}\'')
    if unreadable := unreadable_arguments(read):
        raise fail(visible(f"{what} unreadable: {unreadable}"))
    return read


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON value")


def _records(settings: Settings, given: Sequence[str]) -> dict[str, Mapping[str, Json]]:
    records = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in settings.host.grounding:
            known = _listed(settings.host.grounding)
            raise fail(visible(f"--record {one}: write NAME=JSON, with an identifier's name; there are {known}"))
        records[name] = _json_object(text, f"--record {name}: its record is")
    return records


def _counts(tools: Collection[str], given: Sequence[str], word: str, option: str) -> dict[str, int | Decimal]:
    """ "shop.issue_refund=1,calls=4" as numbers; only `amount` may have a part."""
    counts: dict[str, int | Decimal] = {}
    for one in (part.strip() for text in given for part in text.split(",") if part.strip()):
        name, _, text = one.partition("=")
        if name != word and name not in tools:
            raise fail(visible(f"{option} {one}: {name} is nothing that is counted; there are {word}, {_listed(tools)}"))
        counts[name] = _number(f"{option} {one}", text, whole=name != "amount")
    return counts


def _number(what: str, text: str, *, whole: bool) -> int | Decimal:
    try:
        number = Decimal(text) if text.isascii() else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number < 10**15 or (whole and number != number.to_integral_value()):
        raise fail(visible(f"{what}: write a {'whole ' if whole else ''}number that is not below zero, such as NAME=3"))
    return int(number) if whole else number


# --- what it comes to -----------------------------------------------------------------------------------------------------


def _print_verdict(settings: Settings, call: Call) -> None:
    judged = policy.judge(call.tool, call.arguments, call.provenance, call.history, settings.host.policy)
    verdict = policy.verdict(call.tool, judged)
    if call.tool.name == READ_RESOURCE and verdict.rule_number is None:
        verdict = policy.Verdict("allow", None, "no rule speaks of it, and its server's resources may be read by configuration")
    lines = [f"{verdict.decision}: {call.tool.name} {json.dumps(call.arguments, ensure_ascii=False)}", f"because {verdict.why}"]
    if verdict.rule_number is not None:
        lines.append(f"decided by rule {verdict.rule_number}, {settings.path}, line {_line(settings, verdict.rule_number)}")
    if verdict.decision != "deny":
        lines += _more(settings, call)
    lines += ["", *(f"rule {one.number}, line {_line(settings, one.number)}: {_beside(one)}" for one in judged)]
    for line in lines:
        out.print(foreign(line), soft_wrap=True)


def _more(settings: Settings, call: Call) -> list[str]:
    """What the checkpoint asks besides the policy (spec H19, H28, H32)."""
    server = settings.host.servers.get(call.tool.server)
    configured = (server.tools.get(call.tool.remote_name) if server else None) or ToolConfig()
    needed = approvals_needed(configured, call.ticket, call.tool, call.arguments, call.provenance)
    lines = [f"and whatever the policy says: {needed.why}"] if needed.why else []
    if settings.host.pilot and call.tool.effect == "effect":
        lines.append("and refused before the policy is asked, while mode is pilot: nothing with an effect runs")
    return lines


def _beside(one: Judged) -> str:
    if not one.matched:
        return f"{one.rule.decision} {one.rule.tool} does not match: {one.why}"
    unclear = f" (in doubt: {' and '.join(one.unclear)} can't be judged)" if one.unclear else ""
    return f"{one.why} matches{unclear}"


def _line(settings: Settings, number: int) -> str:
    return str(settings.line_of_rule(number) or "?")


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
