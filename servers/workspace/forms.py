"""What the client does with a form: initial values, what was typed, and the checks it makes before it lets anything go.

Pure. State entries have the platform's shape (`{"type": "plain_text_input", "value": "…"}`); a "simple" value is what a
test or the page sends: a string, or a list of strings for several choices.
"""

import datetime as dt
import re

from servers.workspace.blocks import interactive
from servers.workspace.elements import CHOICES, offered_options
from servers.workspace.settings import Json

_MANY = frozenset({"checkboxes", "multi_static_select"})
_TEXTS = frozenset({"plain_text_input", "number_input", "email_text_input", "url_text_input"})
_DATES = {"datepicker": "selected_date", "timepicker": "selected_time"}
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")


class BadValue(Exception):
    """A simple value that this element cannot take; the message says what it offers."""


def stateful(element: Json) -> bool:
    """Whether the element has a value of its own (a button has none)."""
    return element.get("type") in CHOICES - {"overflow"} or element.get("type") in _TEXTS or element.get("type") in _DATES


def initial(element: Json) -> Json:
    """The state entry of an untouched element."""
    kind = element["type"]
    if kind in _MANY:
        return {"type": kind, "selected_options": element.get("initial_options") or []}
    if kind in CHOICES:
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind in _DATES:
        return {"type": kind, _DATES[kind]: element.get(_DATES[kind].replace("selected", "initial"))}
    return {"type": kind, "value": element.get("initial_value")}


def entry(element: Json, value: object) -> Json:
    """The state entry of an element that holds this simple value; None and "" mean empty."""
    kind = element["type"]
    if kind in _MANY:
        wanted = [str(item) for item in value] if isinstance(value, list) else [str(value)] if value else []
        return {"type": kind, "selected_options": [_option(element, item) for item in wanted]}
    if kind in CHOICES:
        return {"type": kind, "selected_option": _option(element, str(value)) if value not in (None, "") else None}
    text = None if value in (None, "") else str(value)
    return {"type": kind, _DATES.get(kind, "value"): text}


def values(blocks: list[Json], typed: Json, before: Json) -> Json:
    """State values of all inputs: what was typed now, else what was there before under the same ids, else the initial value.

    `typed` is `{block_id: {action_id: simple}}`, or `{action_id: simple}` as a shorthand.
    """
    state: Json = {}
    for block, element in interactive(blocks):
        if not stateful(element):
            continue
        block_id, action_id = block["block_id"], element["action_id"]
        given = typed.get(block_id)
        if isinstance(given, dict) and action_id in given:
            held = entry(element, given[action_id])
        elif action_id in typed and not isinstance(typed[action_id], dict):
            held = entry(element, typed[action_id])
        else:
            held = before.get(block_id, {}).get(action_id) or initial(element)
        state.setdefault(block_id, {})[action_id] = held
    return state


def complaints(blocks: list[Json], state: Json) -> dict[str, str]:
    """What the client says beside each field before it would submit, by block_id; empty when the form may go."""
    found = {}
    for block in blocks:
        if block.get("type") == "input" and stateful(block["element"]):
            held = state.get(block["block_id"], {}).get(block["element"]["action_id"], {})
            if words := _complaint(block, block["element"], held):
                found[block["block_id"]] = words
    return found


def _option(element: Json, value: str) -> Json:
    for option in offered_options(element):
        if option.get("value") == value:
            return option
    offers = ", ".join(repr(option.get("value")) for option in offered_options(element))
    raise BadValue(f"{value!r} is not an option of {element.get('action_id')!r}; it offers {offers}")


def _complaint(block: Json, element: Json, held: Json) -> str | None:
    content = next((held[key] for key in held if key != "type"), None)
    if content in (None, "", []):
        return None if block.get("optional") else "Please complete this required field."
    match element["type"]:
        case "plain_text_input":
            return _length_complaint(element, str(content))
        case "number_input":
            return _number_complaint(element, str(content))
        case "email_text_input":
            return None if _EMAIL.fullmatch(content) else "Please enter a valid email address."
        case "url_text_input":
            return None if _URL.fullmatch(content) else "Please enter a valid URL, with https:// in front."
        case "datepicker":
            return _date_complaint(str(content))
        case _:
            return None


def _length_complaint(element: Json, text: str) -> str | None:
    if len(text) < element.get("min_length", 0):
        return f"Please use at least {element['min_length']} characters."
    if len(text) > element.get("max_length", 3000):
        return f"Please use at most {element.get('max_length', 3000)} characters."
    return None


def _number_complaint(element: Json, text: str) -> str | None:
    whole = not element.get("is_decimal_allowed")
    if not re.fullmatch(r"-?\d+" if whole else r"-?\d+(\.\d+)?", text):
        return "Please enter a whole number." if whole else "Please enter a number, such as 12.50."
    least, most = element.get("min_value"), element.get("max_value")
    if least is not None and float(text) < float(least):
        return f"Please enter a number of at least {least}."
    if most is not None and float(text) > float(most):
        return f"Please enter a number of at most {most}."
    return None


def _date_complaint(text: str) -> str | None:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return "Please enter a date, such as 2026-12-01."
    return None
