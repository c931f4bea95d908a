"""What `/deskhand status`, `tools` and `help` say, only to the one who asked (spec B6)."""

from __future__ import annotations

from collections.abc import Sequence

from bot.cards.deciding import decision_text, roles_in_words
from bot.cards.elements import Block, Part, bullets, code, line, rich, t, when
from bot.cards.rendered import Rendered
from bot.cards.text import escaped
from host.types import Question, Tool
from host.views import StatusView

HELP = (
    ("run [n | all | T-0009]", "work waiting tickets, or one ticket (a queue run: admins; one ticket: staff, leads, admins)"),
    ("run T-0009 with shop://policies/returns", "work one ticket with a document that a server lists, for this ticket alone"),
    ("status", "the queue, open questions, the servers' health"),
    ("stop [T-0009]", "stop every run, or one ticket's, also while it waits for people (admins)"),
    ("freeze SERVER", "let no call reach this server (admins)"),
    ("unfreeze SERVER", "let calls reach it again (admins)"),
    ("tools", "what the model is offered, and what is off and why"),
    ("help", "this list"),
)
_MOST = 25


def status(view: StatusView) -> Rendered:
    counts = " · ".join(f"{name.replace('_', ' ')}: {count}" for name, count in view.tickets.items()) or "no tickets yet"
    elements: list[Part] = [line(t("Tickets ", bold=True), t(counts, 600)), line(t("Model ", bold=True), t(view.model, 300))]
    if view.running is not None:
        run = view.running
        elements.append(line(t("Queue run ", bold=True), t(f"{run.worked} of {run.total} worked, {run.waiting} waiting", 200)))
    elements.append(
        line(t("Open questions ", bold=True), t("none" if not view.open_questions else str(len(view.open_questions))))
    )
    if view.open_questions:
        elements.append(bullets(_question(question) for question in view.open_questions[:_MOST]))
    elements.append(line(t("Servers", bold=True)))
    elements.append(bullets([_server(view, n) for n in range(min(len(view.servers), _MOST))] or [[t("none")]]))
    if view.off:
        elements += [line(t("Tools that are off", bold=True)), bullets(_tool(tool) for tool in view.off[:_MOST])]
    return Rendered(escaped(f"Tickets: {counts}", 600), _in_blocks(elements))


def tools(offered: Sequence[Tool]) -> Rendered:
    rows = [_tool(tool) for tool in offered[: 2 * _MOST]] or [[t("no server offers a tool just now")]]
    elements: list[Part] = [line(t("Tools", bold=True)), bullets(rows)]
    if len(offered) > 2 * _MOST:
        elements.append(line(t(f"and {len(offered) - 2 * _MOST} more: `deskhand servers check` says which are off.")))
    return Rendered(f"{len(offered)} tools", _in_blocks(elements))


def help_text(command: str) -> Rendered:
    rows = [[code(f"{command} {usage}"), t(f" {what}")] for usage, what in HELP]
    return Rendered(f"{command} help", _in_blocks([bullets(rows)]))


def said(words: str) -> Rendered:
    return Rendered(escaped(words, 3000) or "-", _in_blocks([line(t(words or "-", 2900))]))


def _in_blocks(elements: Sequence[Part]) -> tuple[Block, ...]:
    return (rich(*elements),)


def _question(question: Question) -> list[Part]:
    kind = question.kind.value.replace("_", " ")
    about = question.ticket_id or str(question.payload.get("tool", ""))
    so_far = f" · {decision_text(question)}" if question.needed > 1 else ""
    words = f" · {about} · {kind} · {roles_in_words(question.roles)}{so_far} · until "
    return [code(question.server or "desk", 60), t(words, 300), when(question.deadline)]


def _server(view: StatusView, n: int) -> list[Part]:
    server = view.servers[n]
    frozen = " · frozen" if server.prefix in view.frozen else ""
    claims = f" · calls itself {server.claims!r}" if server.claims else ""
    return [code(server.prefix, 60), t(f" {server.state}{frozen}", 80), t(f"{claims} {server.why}", 200)]


def _tool(tool: Tool) -> list[Part]:
    return [code(tool.name, 80), t(f" {tool.effect}", 20), t(f" · off: {tool.off}" if tool.off else "", 120)]
