"""Checks one interactive element (button, select, input) against the platform's limits. Pure; knows no message and no view."""

from collections.abc import Iterator

from servers.workspace.settings import Json
from servers.workspace.texts import counted

Problem = tuple[str, str]  # (what is wrong, JSON pointer)

BUTTONS = frozenset({"button", "workflow_button"})
CHOICES = frozenset({"static_select", "multi_static_select", "radio_buttons", "checkboxes", "overflow"})
DIRECTORY = frozenset(
    f"{many}{what}_select" for many in ("", "multi_") for what in ("users", "conversations", "channels", "external")
)
TYPED = frozenset({"plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input"})
PICKED = frozenset({"datepicker", "timepicker", "datetimepicker", "file_input"})
IN_ACTIONS = BUTTONS | CHOICES | DIRECTORY | frozenset({"datepicker", "timepicker", "datetimepicker"})
IN_INPUT = (CHOICES - {"overflow"}) | DIRECTORY | TYPED | PICKED
IN_SECTION = IN_ACTIONS | {"image"}

_MOST_OPTIONS = {"overflow": 5, "radio_buttons": 10, "checkboxes": 10}
_CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}


def text_problems(value: object, at: str, most: int, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")) -> Iterator[Problem]:
    """A text object: its kind, that it isn't empty, and its length after escaping."""
    if not isinstance(value, dict) or value.get("type") not in kinds:
        yield f"must be a text object of type {' or '.join(kinds)}", at
        return
    text = value.get("text")
    if not isinstance(text, str) or not text:
        yield "must be more than 0 characters", f"{at}/text"
    elif counted(text, value["type"]) > most:
        yield f"must be less than {most + 1} characters", f"{at}/text"


def string_problems(holder: Json, key: str, at: str, most: int) -> Iterator[Problem]:
    """An optional string and its length as it is."""
    value = holder.get(key)
    if value is not None and (not isinstance(value, str) or len(value) > most):
        yield f"must be a string of less than {most + 1} characters", f"{at}/{key}"


def element_problems(element: object, at: str, allowed: frozenset[str]) -> Iterator[Problem]:
    """An element in a place that allows certain types."""
    if not isinstance(element, dict) or element.get("type") not in allowed:
        yield f"unsupported element type {_type(element)!r} here", f"{at}/type"
        return
    kind = element["type"]
    yield from string_problems(element, "action_id", at, 255)
    if element.get("placeholder") is not None:
        yield from text_problems(element["placeholder"], f"{at}/placeholder", 150, ("plain_text",))
    if element.get("confirm") is not None:
        yield from _confirm_problems(element["confirm"], f"{at}/confirm")
    if kind in BUTTONS:
        yield from _button_problems(element, at)
    elif kind in CHOICES:
        yield from _choice_problems(element, at)
    elif kind == "plain_text_input":
        yield from _typed_problems(element, at)
    elif kind == "number_input" and not isinstance(element.get("is_decimal_allowed"), bool):
        yield "missing required field: is_decimal_allowed", at
    elif kind == "image":
        yield from string_problems({"alt_text": element.get("alt_text", 0)}, "alt_text", at, 2000)


def _type(element: object) -> str:
    return str(element.get("type")) if isinstance(element, dict) else type(element).__name__


def _button_problems(element: Json, at: str) -> Iterator[Problem]:
    yield from text_problems(element.get("text"), f"{at}/text", 75, ("plain_text",))
    yield from string_problems(element, "value", at, 2000)
    yield from string_problems(element, "url", at, 3000)
    yield from string_problems(element, "accessibility_label", at, 75)
    if element.get("style") not in (None, "primary", "danger"):
        yield "style must be primary or danger", f"{at}/style"


def _confirm_problems(confirm: object, at: str) -> Iterator[Problem]:
    if not isinstance(confirm, dict):
        yield "must be a confirmation dialog object", at
        return
    for key, most in _CONFIRM.items():
        kinds = ("plain_text", "mrkdwn") if key == "text" else ("plain_text",)
        yield from text_problems(confirm.get(key), f"{at}/{key}", most, kinds)


def _choice_problems(element: Json, at: str) -> Iterator[Problem]:
    groups = element.get("option_groups")
    lists = [(f"{at}/options", element.get("options"))]
    if isinstance(groups, list) and groups:
        if len(groups) > 100:
            yield "no more than 100 items allowed", f"{at}/option_groups"
        lists = [(f"{at}/option_groups/{n}/options", group.get("options")) for n, group in enumerate(groups)]
    most = _MOST_OPTIONS.get(element["type"], 100)
    for where, options in lists:
        if not isinstance(options, list) or not 1 <= len(options) <= most:
            yield f"must have 1 to {most} options", where
            continue
        for n, option in enumerate(options):
            yield from _option_problems(option, f"{where}/{n}")
    offered = offered_options(element)
    initial = element.get("initial_options") or [element.get("initial_option")]
    for option in initial:
        if option is not None and option not in offered:
            yield "initial option must be one of the options, exactly", f"{at}/initial_option"


def _option_problems(option: object, at: str) -> Iterator[Problem]:
    if not isinstance(option, dict):
        yield "must be an option object", at
        return
    yield from text_problems(option.get("text"), f"{at}/text", 75)
    if not isinstance(option.get("value"), str) or len(option["value"]) > 150:
        yield "value must be a string of less than 151 characters", f"{at}/value"
    if option.get("description") is not None:
        yield from text_problems(option["description"], f"{at}/description", 75)


def _typed_problems(element: Json, at: str) -> Iterator[Problem]:
    least, most = element.get("min_length", 0), element.get("max_length", 3000)
    if not isinstance(least, int) or not 0 <= least <= 3000:
        yield "min_length must be 0 to 3000", f"{at}/min_length"
    if not isinstance(most, int) or not 1 <= most <= 3000:
        yield "max_length must be 1 to 3000", f"{at}/max_length"
    yield from string_problems(element, "initial_value", at, most if isinstance(most, int) else 3000)


def offered_options(element: Json) -> list[Json]:
    """Every option of a choice element, those in groups included."""
    options = [option for option in element.get("options") or [] if isinstance(option, dict)]
    for group in element.get("option_groups") or []:
        options += group.get("options") or []
    return options
