"""A queue run's one message: counts and a Stop button (spec B6)."""

from __future__ import annotations

from bot.cards import ids
from bot.cards.elements import Block, actions, bullets, button, confirm, line, rich, t
from bot.cards.rendered import Rendered
from bot.cards.text import escaped
from bot.cards.words import Mentions
from host.views import ProgressView

_STOPPING = "Every run ends now, also those that wait for people: their questions are closed, nothing more runs."


def render(view: ProgressView, *, mentions: Mentions) -> Rendered:
    del mentions
    words = f"{view.worked} of {view.total} tickets worked, {view.waiting} waiting for people"
    state = (
        "Queue run" if view.running else f"Queue run stopped by {view.stopped_by}" if view.stopped_by else "Queue run finished"
    )
    elements = [line(t(f"{state} ", 200, bold=True), t(f"(started by {view.started_by}): {words}.", 300))]
    if view.outcomes:
        counted = sorted(view.outcomes.items(), key=lambda item: (-item[1], item[0]))
        elements.append(bullets([[t(f"{outcome.replace('_', ' ')}: {count}", 100)] for outcome, count in counted[:15]]))
    blocks: list[Block] = [rich(*elements)]
    if view.running:
        asked = confirm(
            "Stop the queue run?",
            _STOPPING,
            "Stop",
        )
        blocks.append(actions(button("Stop", ids.PROGRESS_STOP, view.id, style="danger", confirm=asked)))
    return Rendered(escaped(f"{state}: {words}.", 600), tuple(blocks))
