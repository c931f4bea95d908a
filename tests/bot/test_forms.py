"""A server's form: every kind of field drawn so that Slack takes it, read back, and judged in words."""

import pytest
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot.cards import forms, modals
from host.types import QuestionKind

SCHEMA = {
    "type": "object",
    "properties": {
        "release": {"type": "boolean", "title": "Release?", "default": False},
        "note": {"type": "string", "title": "Note", "minLength": 3, "maxLength": 50, "description": "For the shop"},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "amount": {"type": "number", "minimum": 0.5},
        "why": {"type": "string", "enum": ["broken", "late"], "enumNames": ["It broke", "It was late"], "default": "late"},
        "where": {"type": "string", "oneOf": [{"const": "nl", "title": "Netherlands"}, {"const": "de", "title": "Germany"}]},
        "parts": {"type": "array", "items": {"type": "string", "enum": ["lid", "jar"]}, "maxItems": 1},
        "many": {"type": "string", "enum": [f"option {n}" for n in range(40)]},
    },
    "required": ["release", "count"],
}
FULL = {
    "f0": {"field": {"type": "radio_buttons", "selected_option": {"value": "true"}}},
    "f1": {"field": {"type": "plain_text_input", "value": "as agreed"}},
    "f2": {"field": {"type": "plain_text_input", "value": "lea@example.com"}},
    "f3": {"field": {"type": "plain_text_input", "value": "2026-06-01"}},
    "f4": {"field": {"type": "plain_text_input", "value": "3"}},
    "f5": {"field": {"type": "plain_text_input", "value": "12.5"}},
    "f6": {"field": {"type": "radio_buttons", "selected_option": {"value": "0"}}},
    "f7": {"field": {"type": "radio_buttons", "selected_option": {"value": "1"}}},
    "f8": {"field": {"type": "checkboxes", "selected_options": [{"value": "1"}]}},
    "f9": {"field": {"type": "static_select", "selected_option": {"value": "39"}}},
}


def typed(name: str, value: str) -> dict:
    number = list(SCHEMA["properties"]).index(name)
    return {**FULL, f"f{number}": {"field": {"type": "plain_text_input", "value": value}}}


def test_every_kind_of_field_is_drawn_so_that_slack_takes_it():
    for block in forms.input_blocks(SCHEMA):
        assert Block.parse(block).to_dict() == block


def test_defaults_are_filled_in_and_optional_fields_may_stay_empty():
    blocks = forms.input_blocks(SCHEMA)
    assert blocks[0]["element"]["initial_option"]["value"] == "false"
    assert blocks[4]["element"]["initial_value"] == "2"
    assert blocks[6]["element"]["initial_option"]["text"]["text"] == "It was late"
    assert [block["optional"] for block in blocks[:5]] == [False, True, True, True, False]


def test_a_filled_form_is_read_by_its_schema():
    read = forms.read(SCHEMA, FULL)
    assert read.errors == {}
    assert read.content == {
        "release": True,
        "note": "as agreed",
        "mail": "lea@example.com",
        "day": "2026-06-01",
        "count": 3,
        "amount": 12.5,
        "why": "broken",
        "where": "de",
        "parts": ["jar"],
        "many": "option 39",
    }


def test_an_empty_form_lacks_only_what_is_needed():
    read = forms.read(SCHEMA, {})
    assert read.content == {}
    assert set(read.errors) == {"release", "count"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("note", "ab", "At least 3 characters"),
        ("note", "x" * 51, "At most 50 characters"),
        ("mail", "lea", "mail address"),
        ("day", "1.6.2026", "2026-06-01"),
        ("count", "2.5", "whole number"),
        ("count", "0", "at least 1"),
        ("count", "10", "at most 9"),
        ("amount", "0.1", "at least 0.5"),
        ("amount", "2.614", "two ways"),
        ("amount", "6,95", "two ways"),
        ("amount", "79,00", "two ways"),
        ("amount", "1.250,50", "two ways"),
        ("amount", "twelve", "not a number"),
        ("amount", "1e9", "not a number"),
        ("amount", "NaN", "not a number"),
    ],
)
def test_what_can_not_be_taken_is_said_beside_its_field(name, value, words):
    read = forms.read(SCHEMA, typed(name, value))
    assert list(read.errors) == [name]
    assert words in read.errors[name]


def test_a_choice_that_was_never_offered_is_refused():
    values = {**FULL, "f6": {"field": {"type": "radio_buttons", "selected_option": {"value": "7"}}}}
    assert "no longer offered" in forms.read(SCHEMA, values).errors["why"]


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
