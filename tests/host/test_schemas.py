"""Data beside a schema, both of which a stranger may have written: right, in words, and in bounded time (spec H8, H12, H22)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from host.checks import invalid_arguments
from host.formats import has_format
from host.schemas import Problem, first_problem, problems, schema_problem
from host.types import Tool

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": r"^O-\d{4}$"},
        "pieces": {"type": "integer", "minimum": 1, "maximum": 9},
        "why": {"enum": ["broken", "late"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "mail": {"type": "string", "format": "email", "maxLength": 40},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "uniqueItems": True, "maxItems": 3},
    },
    "required": ["order_id", "why"],
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}},
}
FITS: dict[str, Any] = {"order_id": "O-1145", "why": "late"}


@pytest.mark.parametrize(
    "value",
    [
        FITS,
        {**FITS, "pieces": 3, "note": None, "mail": "lea@example.com", "lines": [{"sku": "a"}, {"sku": "b"}]},
        {**FITS, "pieces": 3.0, "lines": ()},
    ],
)
def test_what_fits_has_no_problem(value: Any) -> None:
    assert problems(value, ORDER) == ()
    assert first_problem(value, ORDER) == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"why": "late"}, "order_id is missing"),
        ({**FITS, "order_id": "hush-1"}, r"order_id does not match the pattern ^O-\d{4}$"),
        ({**FITS, "order_id": 7144}, "order_id must be text"),
        ({**FITS, "pieces": 0}, "pieces must be at least 1"),
        ({**FITS, "pieces": 10}, "pieces must be at most 9"),
        ({**FITS, "pieces": 2.5}, "pieces must be a whole number"),
        ({**FITS, "pieces": True}, "pieces must be a whole number"),
        ({**FITS, "why": "hush"}, "why must be one of: broken, late"),
        ({**FITS, "note": 4}, "note must be text or null"),
        ({**FITS, "mail": "hush"}, "mail is no email"),
        ({**FITS, "mail": "a" * 60 + "@example.com"}, "mail may have at most 40 characters"),
        ({**FITS, "lines": [{"sku": "a"}, {}]}, "lines.1.sku is missing"),
        ({**FITS, "lines": [{"sku": "a"}, {"sku": "a"}]}, "lines names something twice"),
        ({**FITS, "lines": [{"sku": str(n)} for n in range(4)]}, "lines may have at most 3 items"),
        ({**FITS, "colour": "hush"}, "colour is not a known field"),
        ([], "the whole must be an object"),
        ("hush", "the whole must be an object"),
    ],
)
def test_what_breaks_a_schema_is_said_without_the_value(value: Any, words: str) -> None:
    assert first_problem(value, ORDER) == words
    assert "hush" not in first_problem(value, ORDER)


def test_every_place_is_named_with_its_path() -> None:
    found = problems({"order_id": "O-1145", "pieces": 0, "lines": [3]}, ORDER)
    assert {(problem.path, problem.words) for problem in found} == {
        (("why",), "is missing"),
        (("pieces",), "must be at least 1"),
        (("lines", 0), "must be an object"),
    }
    assert {problem.field for problem in found} == {"why", "pieces", "lines"}
    assert len(problems({f"x{n}": 1 for n in range(500)}, ORDER)) == 20


def test_strange_names_are_cut_and_shown_on_one_line() -> None:
    words = first_problem({**FITS, "x\n\u202e" + "y" * 500: 1}, ORDER)
    assert len(words) < 100
    assert words.isprintable()


@pytest.mark.parametrize(
    ("draft", "keyword"),
    [
        ("http://json-schema.org/draft-07/schema#", "definitions"),
        ("http://json-schema.org/draft-04/schema#", "definitions"),
        ("https://json-schema.org/draft/2019-09/schema", "$defs"),
    ],
)
def test_a_schema_that_names_its_draft_is_read_by_it(draft: str, keyword: str) -> None:
    schema = {"$schema": draft, "items": [{"type": "string"}, {"$ref": f"#/{keyword}/n"}], keyword: {"n": {"type": "integer"}}}
    assert problems(["a", 1, {}], schema) == ()
    assert first_problem(["a", "b"], schema) == "1 must be a whole number"


CATASTROPHES = [r"^(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"(.*a){25}", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(x+x+)+y|^(a*)*$"]


@pytest.mark.parametrize("pattern", CATASTROPHES)
@pytest.mark.parametrize(
    "place",
    [
        lambda pattern: {"properties": {"x": {"type": "string", "pattern": pattern}}},
        lambda pattern: {"patternProperties": {pattern: {}}},
        lambda pattern: {"propertyNames": {"pattern": pattern}},
        lambda pattern: {"patternProperties": {pattern: {}}, "additionalProperties": False},
        lambda pattern: {"anyOf": [{"properties": {"x": {"pattern": pattern}}}] * 50},
        lambda pattern: {"not": {"properties": {"x": {"pattern": pattern}}}},
    ],
    ids=["pattern", "patternProperties", "propertyNames", "additionalProperties", "anyOf", "not"],
)
def test_a_pattern_made_to_take_for_ever_costs_a_moment_and_is_a_problem(pattern: str, place: Any) -> None:
    long = "a" * 4000 + "!"
    begun = perf_counter()
    found = problems({"x": long, long: "x"}, place(pattern))
    assert perf_counter() - begun < 2  # 0.1 s of matching on an idle machine
    # An engine that is clever enough to answer at once may do so: then what it answers stands.
    assert all("in time" in problem.words or long not in str(problem) for problem in found)


def test_what_can_not_be_matched_in_time_is_never_a_pass() -> None:
    value = {"x": "a" * 4000 + "!"}
    for schema in ({"properties": {"x": {"pattern": "^(a|aa)+$"}}}, {"not": {"properties": {"x": {"pattern": "^(a|aa)+$"}}}}):
        assert first_problem(value, schema) == "the whole can't be checked: its patterns can't be matched in time"


def _wide(count: int) -> list[Any]:
    return [n if n % 2 else {"n": n} for n in range(count)]


def _doubling() -> dict[str, Any]:
    """Each of forty definitions asks twice for the next: 2^40 checks."""
    defs: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, "d40": {"type": "string"}}}


HARMFUL: dict[str, tuple[Any, Any]] = {
    "endless reference": ("x", {"$ref": "#"}),
    "endless reference in a circle": ("x", {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
    "doubling": ("x", _doubling()),
    "deep schema": ("x", json.loads('{"not":' * 500 + "{}" + "}" * 500)),
    "deep value": (json.loads("[" * 500 + "]" * 500), {}),
    "large schema": ("x", {"enum": ["y" * 100_001]}),
    "large value": ("x" * 1_000_001, {}),
    "many times many": (_wide(20_000), {"items": {"enum": _wide(2000)}}),
    "unhashable twins": (_wide(20_000), {"uniqueItems": True, "contains": {"const": 3}, "maxContains": 0}),
    "required of everything": ({}, {"required": _wide(8000)}),
    "not a number": (float("nan"), {}),
    "no end": ([float("inf")], {}),
    "a schema without end": (1, {"maximum": float("inf")}),
    "huge whole number": (10**5000, {"type": "string"}),
    "remote reference": ("x", {"$ref": "https://elsewhere.example.com/schema"}),
    "remote dynamic reference": ("x", {"$dynamicRef": "https://elsewhere.example.com/schema"}),
    "remote draft that nobody knows": (1, {"$schema": "https://elsewhere.example.com/draft", "type": "string"}),
    "a draft that is no name": (1, {"$schema": ["x"], "type": "string"}),
    "broken id": ("x", {"$id": "http://[", "$ref": "y"}),
    "no schema": ("x", "string"),
    "no type": ("x", {"type": "sting"}),
    "keyword of the wrong kind": ("x", {"minLength": "three"}),
    "broken pattern": ("x", {"pattern": "("}),
    "long pattern": ("x", {"pattern": "x" * 1001}),
    "pattern that calls itself": ("x", {"pattern": "(?R)"}),
    "pattern with a verb": ("x", {"pattern": "a(*SKIP)b"}),
    "half a surrogate": ("\ud800", {"type": "integer"}),
    "bytes": (b"x", {}),
}


@pytest.mark.parametrize("name", list(HARMFUL))
def test_whatever_the_two_hold_a_problem_comes_in_bounded_time(name: str) -> None:
    value, schema = HARMFUL[name]
    begun = perf_counter()
    found = problems(value, schema)
    assert perf_counter() - begun < 5
    assert found, "fails closed"
    assert len(str(found[0])) < 200


def test_patterns_of_other_languages_letters_are_read() -> None:
    assert problems("Łódź", {"pattern": r"^\p{L}+$"}) == ()
    assert problems("a1", {"pattern": r"^\p{L}+$"}) != ()


def test_a_bad_schema_is_told_before_anything_is_checked() -> None:
    assert schema_problem({"type": "sting"}) == "its schema is not valid at type"
    assert "not valid" in schema_problem({"properties": {"x": {"pattern": "["}}})
    assert schema_problem(ORDER) == ""


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2026-06-01", "2024-02-29"], ["2026-6-1", "2026-02-30", "01.06.2026", "2026-06-01T00:00:00Z", "20260601", ""]),
        (
            "date-time",
            ["2026-06-01T09:30:00Z", "2026-06-01T09:30:00.123456789+02:00", "2026-06-01t09:30:00z", "2016-12-31T23:59:60Z"],
            [
                "2026-06-01T09:30:00",
                "2026-06-01",
                "2026-06-01T25:00:00Z",
                "yesterday",
                "2026-06-01T09:30Z",
                "2026-02-30T09:30:00Z",
            ],
        ),
        (
            "email",
            ["lea@example.com", "l.e+a@mail.example.co.uk", "løa@bücher.example"],
            [
                "lea",
                "lea@",
                "@example.com",
                "a b@example.com",
                "a@b@example.com",
                "lea@example",
                "a..b@example.com",
                ".a@example.com",
            ],
        ),
        (
            "uri",
            ["https://example.com/a?b=c#d", "mailto:lea@example.com", "urn:isbn:0451450523", "http://[::1]:80/"],
            ["example.com", "/a/b", "https://exa mple.com", "http://[", "http://x:99999/", "1x:y", ":", "x:"],
        ),
    ],
)
def test_the_four_formats_are_checked(name: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not has_format(text, name)] == []
    assert [text for text in bad if has_format(text, name)] == []
    assert all(problems(text, {"format": name}) for text in bad)
    assert not any(problems(text, {"format": "hostname"}) for text in bad)
    assert problems(7, {"format": name}) == ()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "ab", "O-1145"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "object", "array", "boolean", "null", ["string", "null"]]),
        "minLength": st.integers(0, 2),
        "minimum": st.integers(-2, 2),
        "enum": st.lists(_VALUES, min_size=1, max_size=3),
        "pattern": st.sampled_from(["^a", "b$", "-"]),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
    },
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "not": inner,
        },
    ),
    max_leaves=6,
)


@given(_VALUES, _SCHEMAS)
def test_the_bounds_change_no_verdict(value: Any, schema: Any) -> None:
    assert (problems(value, schema) == ()) == Draft202012Validator(schema).is_valid(value)


class _Schemas(BaseHTTPRequestHandler):
    """Answers every address with a schema that takes everything."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.fixture
def elsewhere() -> Iterator[str]:
    _Schemas.asked = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), _Schemas) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/schema"
        server.shutdown()


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef", "$schema", "$id"])
def test_no_address_that_a_schema_names_is_asked(elsewhere: str, key: str) -> None:
    problems({"x": "y"}, {"type": "object", "properties": {"x": {key: elsewhere}}, key: elsewhere})
    assert _Schemas.asked == 0


RING = {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}}
CHAIN = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(500)}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#"}, "its schema refers to itself without an end"),
        ({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": RING}, "its schema refers to itself without an end"),
        ({"$defs": RING}, "its schema refers to itself without an end"),
        ({"properties": {"x": {"not": {"$ref": "#/properties/x"}}}}, "its schema refers to itself without an end"),
        ({"items": {"$ref": "#/$defs/gone"}}, "its schema refers to something that it does not hold"),
        ({"$ref": "#/$defs/d0", "$defs": {**CHAIN, "d500": True}}, "the references in its schema lead on too far"),
        ({"properties": {"below": {"$ref": "#"}}}, ""),
        ({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "string"}]}, ""),
        ({"properties": {"$ref": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": "string"}}}, ""),
        ({"properties": {"default": {"type": "string"}}, "default": {"$ref": "#"}}, ""),
    ],
)
def test_references_without_an_end_are_found_before_anything_is_checked(schema: Any, words: str) -> None:
    assert schema_problem(schema) == words


def test_a_value_of_many_records_may_take_more_steps() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
    assert problems([{"name": f"a line of an order, number {number}"} for number in range(4000)], schema) == ()


def _tool(schema: dict[str, Any]) -> Tool:
    return Tool("far.act", "far", "act", "", schema, schema, "d", "read")


def test_a_call_is_judged_by_its_tools_schema_in_words() -> None:
    assert invalid_arguments(_tool(ORDER), FITS) == ""
    assert invalid_arguments(_tool(ORDER), {"order_id": 3}) == "order_id must be text; why is missing"
    assert invalid_arguments(_tool({"type": "object", "properties": {}}), {"colour": 1}) == "there is no parameter 'colour'"
    remote = {"type": "object", "properties": {"x": {"$ref": "https://elsewhere.example.com/schema"}}}
    assert "refers to something outside itself" in invalid_arguments(_tool(remote), {"x": 1})


def test_a_problem_reads_as_a_sentence() -> None:
    assert str(Problem(("lines", 0, "sku"), "is missing")) == "lines.0.sku is missing"
