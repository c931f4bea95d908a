"""A server's form: every kind of field drawn so that Slack takes it, read back, and judged in words."""

from typing import Any

import pytest
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot.cards import forms, modals
from host.types import QuestionKind
from servers.workspace.blocks import block_problems

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "release": {"type": "boolean", "title": "Release?", "default": False},
        "note": {"type": "string", "title": "Note", "minLength": 3, "maxLength": 50, "description": "For the shop."},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date", "default": "2026-06-02"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "amount": {"type": "number", "minimum": 0.5, "default": 12.5},
        "why": {"type": "string", "enum": ["broken", "late"], "enumNames": ["It broke", "It was late"], "default": "late"},
        "where": {"type": "string", "oneOf": [{"const": "nl", "title": "Netherlands"}, {"const": "de", "title": "Germany"}]},
        "parts": {"type": "array", "items": {"type": "string", "enum": ["lid", "jar"]}, "maxItems": 1, "default": ["lid"]},
        "many": {"type": "string", "enum": [f"option {n}" for n in range(40)]},
        "page": {"type": "string", "format": "uri", "default": "https://example.com/"},
        "moment": {"type": "string", "format": "date-time"},
        "several": {"type": "array", "items": {"anyOf": [{"const": f"c{n}", "title": f"Choice {n}"} for n in range(130)]}},
        "gift": {"type": "boolean"},
    },
    "required": ["release", "count", "several"],
}
FULL = {
    "f0": {"field": {"type": "radio_buttons", "selected_option": {"value": "true"}}},
    "f1": {"field": {"type": "plain_text_input", "value": "as agreed"}},
    "f2": {"field": {"type": "email_text_input", "value": "lea@example.com"}},
    "f3": {"field": {"type": "datepicker", "selected_date": "2026-06-01"}},
    "f4": {"field": {"type": "number_input", "value": "3"}},
    "f5": {"field": {"type": "plain_text_input", "value": "2,614.50"}},
    "f6": {"field": {"type": "radio_buttons", "selected_option": {"value": "0"}}},
    "f7": {"field": {"type": "radio_buttons", "selected_option": {"value": "1"}}},
    "f8": {"field": {"type": "checkboxes", "selected_options": [{"value": "1"}]}},
    "f9": {"field": {"type": "static_select", "selected_option": {"value": "39"}}},
    "f10": {"field": {"type": "url_text_input", "value": "https://example.com/a"}},
    "f11": {"field": {"type": "plain_text_input", "value": "2026-06-01T09:30:00+02:00"}},
    "f12": {"field": {"type": "multi_static_select", "selected_options": [{"value": "0"}, {"value": "129"}]}},
    "f13": {"field": {"type": "radio_buttons", "selected_option": {"value": "-"}}},
}
EMPTY = {
    block: {"field": {key: [] if key == "selected_options" else None for key in entry["field"]}} for block, entry in FULL.items()
}


def typed(name: str, value: str) -> dict[str, Any]:
    number = list(SCHEMA["properties"]).index(name)
    key = "selected_date" if name == "day" else "value"
    return {**FULL, f"f{number}": {"field": {key: value}}}


def element(spec: dict[str, Any], required: bool = True) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"x": spec}, "required": ["x"] if required else []}
    (block,) = forms.input_blocks(schema)
    assert list(block_problems([block], 100)) == []
    return dict(block["element"])


def test_every_kind_of_field_is_drawn_so_that_slack_takes_it():
    blocks = forms.input_blocks(SCHEMA)
    assert list(block_problems(blocks, 100)) == []
    for block in blocks:
        assert Block.parse(block).to_dict() == block
    assert [block["element"]["type"] for block in blocks] == [
        "radio_buttons",
        "plain_text_input",
        "email_text_input",
        "datepicker",
        "number_input",
        "plain_text_input",
        "radio_buttons",
        "radio_buttons",
        "checkboxes",
        "static_select",
        "url_text_input",
        "plain_text_input",
        "multi_static_select",
        "radio_buttons",
    ]


def test_defaults_are_filled_in_and_optional_fields_may_stay_empty():
    blocks = dict(zip(SCHEMA["properties"], forms.input_blocks(SCHEMA), strict=True))
    assert blocks["release"]["element"]["initial_option"]["value"] == "false"
    assert blocks["day"]["element"]["initial_date"] == "2026-06-02"
    assert blocks["count"]["element"]["initial_value"] == "2"
    assert blocks["amount"]["element"]["initial_value"] == "12.5"
    assert blocks["why"]["element"]["initial_option"]["text"]["text"] == "It was late"
    assert [option["text"]["text"] for option in blocks["parts"]["element"]["initial_options"]] == ["lid"]
    assert blocks["page"]["element"]["initial_value"] == "https://example.com/"
    assert "initial_value" not in blocks["note"]["element"]
    assert [name for name, block in blocks.items() if not block["optional"]] == ["release", "count"]


def test_what_was_given_before_goes_before_the_defaults():
    blocks = forms.input_blocks(SCHEMA, {"release": True, "count": 7, "parts": ["jar"], "note": "x" * 60})
    assert blocks[0]["element"]["initial_option"]["value"] == "true"
    assert blocks[4]["element"]["initial_value"] == "7"
    assert [option["value"] for option in blocks[8]["element"]["initial_options"]] == ["1"]
    assert len(blocks[1]["element"]["initial_value"]) == 50


def test_what_a_field_takes_is_said_below_it():
    hints = {n: block["hint"]["text"] for n, block in enumerate(forms.input_blocks(SCHEMA)) if "hint" in block}
    assert hints == {
        1: "For the shop. At least 3 and at most 50 characters.",
        4: "At least 1 and at most 9.",
        5: "At least 0.5.",
        8: "At most 1 choices.",
    }
    assert element({"type": "integer", "minimum": 1.5, "maximum": 9.5})["min_value"] == "2"
    assert element({"type": "integer", "minimum": 1.5, "maximum": 9.5})["max_value"] == "9"


def test_an_optional_choice_has_a_way_back_to_no_answer():
    choice = {"type": "string", "enum": ["a", "b"], "default": "b"}
    assert [option["value"] for option in element(choice, required=False)["options"]] == ["0", "1", "-"]
    assert [option["value"] for option in element(choice)["options"]] == ["0", "1"]
    assert [option["value"] for option in element({"type": "boolean"}, required=False)["options"]] == ["true", "false", "-"]


def test_long_lists_go_into_groups_and_long_titles_can_be_told_apart():
    groups = element({"type": "string", "enum": [f"c{n}" for n in range(250)], "default": "c249"})
    assert [len(group["options"]) for group in groups["option_groups"]] == [100, 100, 50]
    assert groups["initial_option"]["text"]["text"] == "c249"
    alike = {"type": "string", "enum": ["w" * 80 + "a", "w" * 80 + "b"], "title": "Which"}
    (block,) = forms.input_blocks({"properties": {"x": alike}})
    shown = [option["text"]["text"] for option in block["element"]["options"][:2]]
    assert [text[:4] for text in shown] == ["1. w", "2. w"]
    assert all(f"{'w' * 80}{end}" in block["hint"]["text"] for end in "ab")
    assert list(block_problems([block], 100)) == []


def test_words_of_any_length_and_kind_fit_into_their_places():
    nasty = "<!channel> & <https://evil.example|x> \u202e" * 60
    spec = {"title": nasty, "description": nasty}
    kinds = [
        {"type": "string", "default": nasty[:2000]},
        {"type": "string", "enum": [nasty[:150], nasty[:149]]},
        {"type": "array", "items": {"anyOf": [{"const": str(n), "title": nasty[:900]} for n in range(30)]}},
        {"type": "boolean"},
        {"type": "number"},
    ]
    schema = {"type": "object", "properties": {f"{nasty}{n}": {**kind, **spec} for n, kind in enumerate(kinds)}}
    blocks = forms.input_blocks(schema)
    assert list(block_problems(blocks, 100)) == []
    assert len(blocks) == 5


@pytest.mark.parametrize(
    "properties",
    [
        {"x": {"type": "string", "minLength": 3001}},
        {"x": {"type": "string", "default": "y" * 3001}},
        {"x": {"type": "object"}},
        {f"x{n}": {"type": "string"} for n in range(41)},
        {f"x{n}": {"type": "string", "enum": [f"a choice of some length {m}" for m in range(480)]} for n in range(5)},
    ],
    ids=lambda properties: str(properties)[:60],
)
def test_a_form_that_slack_can_not_hold_says_so_in_its_place(properties):
    schema = {"type": "object", "properties": properties}
    assert forms.problem(schema).startswith("This form can't be shown: ")
    (block,) = forms.input_blocks(schema)
    assert forms.problem(schema) in str(block)
    if not forms.fields(schema):
        assert forms.read(schema, {}).errors == {"": forms.problem(schema)}
    assert forms.errors_by_block({"properties": {}}, {"": "off"}) == {}


def test_a_filled_form_is_read_by_its_schema():
    read = forms.read(SCHEMA, FULL)
    assert read.errors == {}
    assert read.content == {
        "release": True,
        "note": "as agreed",
        "mail": "lea@example.com",
        "day": "2026-06-01",
        "count": 3,
        "amount": 2614.5,
        "why": "broken",
        "where": "de",
        "parts": ["jar"],
        "many": "option 39",
        "page": "https://example.com/a",
        "moment": "2026-06-01T09:30:00+02:00",
        "several": ["c0", "c129"],
    }


def test_an_emptied_form_lacks_only_what_is_needed():
    read = forms.read(SCHEMA, EMPTY)
    assert read.content == {"several": []}
    assert set(read.errors) == {"release", "count"}


def test_an_untouched_form_is_answered_with_its_defaults():
    blocks = forms.input_blocks(SCHEMA)
    values = {
        block["block_id"]: {
            "field": {
                "value": block["element"].get("initial_value"),
                **({"selected_option": block["element"].get("initial_option")} if "initial_option" in block["element"] else {}),
                **({"selected_options": block["element"]["initial_options"]} if "initial_options" in block["element"] else {}),
                **({"selected_date": block["element"]["initial_date"]} if "initial_date" in block["element"] else {}),
            }
        }
        for block in blocks
        if block["element"]["type"] != "multi_static_select"
    }
    defaults = {name: spec["default"] for name, spec in SCHEMA["properties"].items() if "default" in spec}
    read = forms.read(SCHEMA, {**values, "f12": {"field": {"selected_options": [{"value": "1"}]}}})
    assert read.content == {**defaults, "several": ["c1"]}
    assert read.errors == {}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("note", "ab", "At least 3 characters"),
        ("note", "x" * 51, "At most 50 characters"),
        ("mail", "lea", "mail address"),
        ("day", "1.6.2026", "2026-06-01"),
        ("moment", "tomorrow", "2026-06-01T09:30:00+02:00"),
        ("page", "example.com", "https://"),
        ("count", "2.5", "whole number"),
        ("count", "0", "at least 1"),
        ("count", "10", "at most 9"),
        ("amount", "0.1", "at least 0.5"),
        ("amount", "2.614", "two ways"),
        ("amount", "6,95", "two ways"),
        ("amount", "79,00", "two ways"),
        ("amount", "1.250,5", "two ways"),
        ("amount", "twelve", "not a number"),
        ("amount", "1e9", "not a number"),
        ("amount", "NaN", "not a number"),
    ],
)
def test_what_can_not_be_taken_is_said_beside_its_field(name, value, words):
    read = forms.read(SCHEMA, typed(name, value))
    assert list(read.errors) == [name]
    assert words in read.errors[name]


@pytest.mark.parametrize(
    ("block", "entry", "name"),
    [
        ("f6", {"selected_option": {"value": "7"}}, "why"),
        ("f0", {"selected_option": {"value": "1"}}, "release"),
        ("f8", {"selected_options": [{"value": "0"}, {"value": "9"}]}, "parts"),
        ("f1", {"selected_option": {"value": "1"}}, "note"),
    ],
)
def test_a_choice_that_was_never_offered_is_refused(block, entry, name):
    read = forms.read(SCHEMA, {**FULL, block: {"field": entry}})
    assert "no longer offered" in read.errors[name]
    assert name not in read.content


def test_an_error_that_belongs_to_no_field_stands_at_the_first():
    found = forms.errors_by_block(SCHEMA, {"": "something is off", "count": "too small"})
    assert found == {"f0": "something is off", "f4": "too small"}


def test_a_reply_of_any_length_comes_back_from_its_form_as_it_was():
    for text in ("short", "a\n\nb", "\n\n".join(f"paragraph {n} " + "x" * 400 for n in range(20)), "y" * 7000):
        view = modals.edit_reply("q1", text)
        values = {b["block_id"]: {"field": {"value": b["element"].get("initial_value")}} for b in view["blocks"]}
        assert modals.joined(values).replace("\n\n", "") == text.replace("\n\n", "")
        assert all(len(b["element"]["initial_value"]) <= 3000 for b in view["blocks"])


def test_every_modal_is_one_that_slack_takes(views):
    made = [
        modals.loading("Answer", "q1"),
        modals.words("Answer", "Taken.", kept="what I wrote " * 900),
        modals.reason("Decline", "c", "q1", "Why not?", "hint", "Decline"),
        modals.input_form(views.question_view(QuestionKind.INPUT_REQUEST), {"release": True}, "Please correct"),
        modals.edit_reply("q1", "Dear Tom", "It says what nothing supports", may_confirm=True),
        modals.edit_arguments("q1", {"quote_id": "Q-0a1b2c3d4e"}, ["quote_id"]),
        modals.details(views.question_view()),
        modals.details(views.question_view(QuestionKind.CHANGED_TOOL)),
        modals.call_log(views.draft().calls),
        modals.call_log(()),
        modals.whole("Whole text", "word " * 9000),
    ]
    for view in made:
        parsed = View(**view).to_dict()
        assert parsed["type"] == "modal"
        assert len(view["blocks"]) <= 100
        assert ("submit" in view) == any(block["type"] == "input" for block in view["blocks"])
