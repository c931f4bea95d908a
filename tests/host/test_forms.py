"""Which of a server's input requests can be shown, and which are refused (spec H22)."""

from __future__ import annotations

from typing import Any

import pytest

from host.forms import InputRequest, read_requests

KINDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 40},
    "mail": {"type": "string", "format": "email"},
    "day": {"type": "string", "format": "date"},
    "amount": {"type": "number", "minimum": 0},
    "pieces": {"type": "integer", "default": 1},
    "release": {"type": "boolean", "title": "Release the refund"},
    "plain": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    "several_titled": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
}


def pending(properties: Any, **params: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    request = {"method": "elicitation/create", "params": {"message": "Please.", "requestedSchema": schema, **params}}
    return {"resultType": "input_required", "inputRequests": {"a": request}, "requestState": "sealed"}


def test_every_kind_of_field_of_the_specification_can_be_shown() -> None:
    (request,) = expect_forms(pending(KINDS))
    assert (request.key, request.message) == ("a", "Please.")
    assert set(request.schema["properties"]) == set(KINDS)


def expect_forms(of: dict[str, Any]) -> tuple[InputRequest, ...]:
    found = read_requests(of)
    assert not isinstance(found, str), found
    return found


@pytest.mark.parametrize(
    "field",
    [
        {"password": {"type": "string"}},
        {"api_key": {"type": "string"}},
        {"access_token": {"type": "string"}},
        {"x": {"type": "string", "title": "Your PIN"}},
        {"x": {"type": "string", "description": "The card number on the front"}},
        {"x": {"type": "string", "title": "CVC"}},
    ],
    ids=str,
)
def test_a_field_that_asks_for_a_secret_is_refused_in_words(field: dict[str, Any]) -> None:
    words = read_requests(pending(field))
    assert isinstance(words, str)
    assert "secret" in words


@pytest.mark.parametrize(
    "properties",
    [
        {"x": {"type": "object", "properties": {"y": {"type": "string"}}}},
        {"x": {"type": "array", "items": {"type": "object"}}},
        {"x": {"type": "array", "items": [1]}},
        {"x": {"type": "null"}},
        {"x": "string"},
        {"x": {"type": "string", "minLength": "three"}},
        {"x": {"type": "string", "pattern": "("}},
        {"x": {"type": "string", "$ref": "https://elsewhere.example.com/schema"}},
        {"x": {"type": "string", "allOf": [{"$dynamicRef": "https://elsewhere.example.com/schema"}]}},
        [],
        None,
    ],
    ids=str,
)
def test_what_is_no_flat_form_is_refused_in_words(properties: Any) -> None:
    assert isinstance(read_requests(pending(properties)), str)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": None},
        {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}},
        pending({}, mode="url", url="https://pay.example.com/a"),
    ],
    ids=str,
)
def test_what_is_no_form_is_refused_in_words(asked: dict[str, Any]) -> None:
    assert isinstance(read_requests(asked), str)


def test_one_bad_request_among_several_refuses_them_all() -> None:
    both = pending({"release": {"type": "boolean"}})
    both["inputRequests"]["b"] = pending({"pin": {"type": "string"}})["inputRequests"]["a"]
    assert isinstance(read_requests(both), str)
