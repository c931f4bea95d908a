"""The choice of listed resources that a person adds for one ticket (spec H23): as an input block, and read back from it.

An option carries a digest of its address, since addresses may be longer than an option's value; the form is read against the
resources listed at the submit. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from bot.cards import ids
from bot.cards.elements import Block, Part, plain
from host.types import Json

_MOST = 100
_MOST_BOXES = 10
_TITLE = 75


def choice(listed: Mapping[str, str], *, optional: bool) -> list[Block]:
    """Boxes to tick, or a select where there are many; nothing where no server lists anything. `listed` is address → server."""
    options = [_option(uri, server) for uri, server in sorted(listed.items(), key=lambda one: (one[1], one[0]))][:_MOST]
    if not options:
        return []
    element: Part = {"type": "checkboxes", "action_id": ids.RESOURCES, "options": options}
    if len(options) > _MOST_BOXES:
        element |= {"type": "multi_static_select", "placeholder": plain("Choose documents", 150)}
    hint = "The model reads it with this ticket, as data and not as instructions."
    if len(listed) > _MOST:
        hint += f" {len(listed) - _MOST} more can be named in the command: run T-0009 with ADDRESS."
    return [
        {
            "type": "input",
            "block_id": ids.RESOURCES,
            "label": plain("Documents for this ticket alone", 200),
            "hint": plain(hint, 1900),
            "element": element,
            "optional": optional,
        }
    ]


def chosen(listed: Mapping[str, str], values: Mapping[str, Mapping[str, Json]]) -> tuple[str, ...]:
    """The chosen addresses. Raises ValueError in words when one is no longer listed."""
    entry = (values.get(ids.RESOURCES) or {}).get(ids.RESOURCES) or {}
    known = {_digest(uri): uri for uri in listed}
    picked = [str(option.get("value")) for option in entry.get("selected_options") or ()]
    if any(one not in known for one in picked):
        raise ValueError("A chosen document is no longer listed by its server, so nothing was done. Please open the form again.")
    return tuple(known[one] for one in picked)


def _option(uri: str, server: str) -> Part:
    """The end of an address tells more than its beginning."""
    text = f"{server}: {uri}"
    shown = text if len(text) <= _TITLE else f"{server}: …{uri[-(_TITLE - len(server) - 3) :]}"
    return {"text": plain(shown, _TITLE), "value": _digest(uri)}


def _digest(uri: str) -> str:
    return hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:32]
