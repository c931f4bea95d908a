"""What of a server's input requests can be shown, what is refused, and how an answer is read (spec H22)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from host.forms import (
    Choice,
    ChoiceField,
    ChoicesField,
    FormAnswer,
    FormRequest,
    IntegerField,
    NumberField,
    TextField,
    UrlRequest,
    YesNoField,
    read_answer,
    read_fields,
    read_requests,
)

KINDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 2, "maxLength": 40, "title": "Your name", "description": "As on the parcel"},
    "mail": {"type": "string", "format": "email", "default": "lea@example.com"},
    "day": {"type": "string", "format": "date"},
    "moment": {"type": "string", "format": "date-time"},
    "page": {"type": "string", "format": "uri"},
    "amount": {"type": "number", "minimum": 0.5, "maximum": 5000},
    "pieces": {"type": "integer", "minimum": 1, "default": 1},
    "release": {"type": "boolean", "title": "Release the refund", "default": False},
    "plain": {"type": "string", "enum": ["a", "b"]},
    "named": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"},
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Bean"}]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
    "several_titled": {
        "type": "array",
        "items": {"anyOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Bean"}]},
        "minItems": 1,
        "default": ["a", "b"],
    },
}


def pending(properties: Any, required: Any = (), **params: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    request = {"method": "elicitation/create", "params": {"message": "Please.", "requestedSchema": schema, **params}}
    return {"resultType": "input_required", "inputRequests": {"a": request}, "requestState": "sealed"}


def form(properties: Any, required: Any = (), **params: Any) -> FormRequest:
    found = read_requests(pending(properties, required, **params))
    assert not isinstance(found, str), found
    (one,) = found
    assert isinstance(one, FormRequest)
    return one


def refused(properties: Any, required: Any = (), **params: Any) -> str:
    found = read_requests(pending(properties, required, **params))
    assert isinstance(found, str), found
    return found


# --- which forms ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_field_of_the_specification_is_read() -> None:
    request = form(KINDS, ["name", "release"])
    assert (request.key, request.message) == ("a", "Please.")
    assert set(request.schema["properties"]) == set(KINDS)
    ab, titled = (Choice("a", "a"), Choice("b", "b")), (Choice("a", "Apple"), Choice("b", "Bean"))

    def about(name: str, title: str = "", hint: str = "", required: bool = False) -> dict[str, Any]:
        return {"name": name, "title": title or name.replace("_", " "), "hint": hint, "required": required}

    assert request.fields == (
        TextField(**about("name", "Your name", "As on the parcel", True), least=2, most=40),
        TextField(**about("mail"), format="email", default="lea@example.com"),
        TextField(**about("day"), format="date"),
        TextField(**about("moment"), format="date-time"),
        TextField(**about("page"), format="uri"),
        NumberField(**about("amount"), least=0.5, most=5000),
        IntegerField(**about("pieces"), least=1, default=1),
        YesNoField(**about("release", "Release the refund", "", True), default=False),
        ChoiceField(**about("plain"), choices=ab),
        ChoiceField(**about("named"), choices=(Choice("a", "A"), Choice("b", "B")), default="b"),
        ChoiceField(**about("titled"), choices=titled),
        ChoicesField(**about("several"), choices=ab, most=1),
        ChoicesField(**about("several_titled"), choices=titled, least=1, default=("a", "b")),
    )


@pytest.mark.parametrize(
    "properties",
    [
        {"x": {"type": "object", "properties": {"y": {"type": "string"}}}},
        {"x": {"type": "array", "items": {"type": "object"}}},
        {"x": {"type": "array", "items": {"type": "string"}}},
        {"x": {"type": "array", "items": {"type": "integer", "enum": ["1"]}}},
        {"x": {"type": "array", "items": [1]}},
        {"x": {"type": "array"}},
        {"x": {"type": ["string", "null"]}},
        {"x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        {"x": {"type": "null"}},
        {"x": {}},
        {"x": "string"},
        {"x": True},
        {"x": {"type": "string", "enum": []}},
        {"x": {"type": "string", "enum": ["a", 1]}},
        {"x": {"type": "integer", "enum": [1, 2]}},
        {"x": {"type": "string", "enum": ["a", "a"]}},
        {"x": {"type": "string", "oneOf": [{"type": "integer"}]}},
        {"x": {"type": "string", "oneOf": ["a"]}},
        {"x": {"type": "string", "enum": [f"c{n}" for n in range(501)]}},
        {"x": {"type": "string", "minLength": "three"}},
        {"x": {"type": "string", "minLength": 5, "maxLength": 4}},
        {"x": {"type": "number", "minimum": 5, "maximum": 4}},
        {"x": {"type": "array", "items": {"enum": ["a"]}, "minItems": 2}},
        {"x": {"type": "string", "pattern": "("}},
        {"x": {"type": "string", "$ref": "https://elsewhere.example.com/schema"}},
        {"x": {"$ref": "#/$defs/x"}},
        {"x": {"type": "string", "allOf": [{"$dynamicRef": "https://elsewhere.example.com/schema"}]}},
        {f"x{n}": {"type": "string"} for n in range(41)},
        {"x": {"type": "string", "description": "y" * 100_000}},
        [],
        None,
    ],
    ids=lambda properties: str(properties)[:70],
)
def test_what_is_no_flat_form_is_refused_in_words(properties: Any) -> None:
    words = refused(properties)
    assert words.startswith("its ")
    assert len(words) < 200


def test_a_form_that_requires_what_it_does_not_have_is_refused() -> None:
    assert "none of its fields" in refused({"x": {"type": "string"}}, ["y"])


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": None},
        {"inputRequests": []},
        {"inputRequests": {"a": None}},
        {"inputRequests": {"a": {"method": "elicitation/create"}}},
        {"inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "x"}}}},
        {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}},
        {"inputRequests": {str(n): pending({})["inputRequests"]["a"] for n in range(21)}},
        pending({}, mode="telepathy"),
        pending({}, mode=["form"]),
    ],
    ids=lambda asked: str(asked)[:70],
)
def test_what_is_no_form_is_refused_in_words(asked: dict[str, Any]) -> None:
    assert isinstance(read_requests(asked), str)


def test_one_bad_request_among_several_refuses_them_all() -> None:
    both = pending({"release": {"type": "boolean"}})
    both["inputRequests"]["b"] = pending({"pin": {"type": "string"}})["inputRequests"]["a"]
    assert isinstance(read_requests(both), str)


def test_long_words_are_cut_visibly() -> None:
    request = form({"x": {"type": "string", "title": "t" * 900, "description": "d" * 3000}}, message="m" * 9000)
    (one,) = request.fields
    assert [len(text) for text in (request.message, one.title, one.hint)] == [4000, 200, 1000]
    assert {text[-1] for text in (request.message, one.title, one.hint)} == {"…"}


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "string", "maxLength": 3, "default": "four"},
        {"type": "string", "format": "date", "default": "tomorrow"},
        {"type": "string", "default": 4},
        {"type": "number", "default": "4"},
        {"type": "integer", "default": 2.5},
        {"type": "integer", "default": True},
        {"type": "integer", "minimum": 3, "default": 2},
        {"type": "boolean", "default": "yes"},
        {"type": "string", "enum": ["a"], "default": "b"},
        {"type": "array", "items": {"enum": ["a"]}, "default": ["b"]},
        {"type": "array", "items": {"enum": ["a"]}, "default": ["a", "a"]},
        {"type": "array", "items": {"enum": ["a"]}, "default": "a"},
    ],
    ids=str,
)
def test_a_default_that_breaks_its_own_field_is_none(spec: dict[str, Any]) -> None:
    assert form({"x": spec}).fields[0].default is None


# --- secrets --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "password", "passwd", "pwd", "db_passwd", "userPassword", "mypassword", "password2", "passphrase", "api_key", "apiKey",
        "access_token", "accesstoken", "authToken", "token", "clientSecret", "secret", "private_key", "pin", "PIN", "card_pin",
        "newPin", "pinCode", "tan", "otp", "cvv", "cvc2", "card_number", "cardNumber", "creditCard", "credentials", "ssn",
        "passwort", "kennwort", "kreditkarte", "wachtwoord", "passw0rd",
    ],
)  # fmt: skip
def test_a_field_that_is_named_after_a_secret_is_refused(name: str) -> None:
    assert "secret" in refused({name: {"type": "string"}})


@pytest.mark.parametrize(
    "words",
    [
        "Your PIN", "The card number on the front", "CVC", "API key", "Access token", "Token", "Paste the token here", "Secret",
        "Client secret", "One-time code", "Verification code", "Credit card", "Login details", "Seed phrase",
        "Mother's maiden name",
        "Passwort", "Bitte Ihr Passwort", "Benutzerpasswort", "Geheimzahl", "TAN", "Kreditkartennummer", "Sicherheitscode",
        "Zugangsdaten", "Mot de passe", "p a s s w o r d", "P@ssw0rd", "pass\u200bword", "p\u0430ssword", "\uff30\uff29\uff2e",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["title", "description"])
def test_a_field_whose_words_name_a_secret_is_refused(words: str, key: str) -> None:
    assert "secret" in refused({"x": {"type": "string", key: words}})


@pytest.mark.parametrize(
    "message",
    [
        "Please enter your password", "Enter your password to go on.", "What is your PIN?", "Password:", "Password",
        "Your password?",
        "Password required", "We need your card number to refund you", "Provide the API key", "Paste the access token below",
        "To continue, type the verification code we sent by SMS", "Do not worry and enter your password",
        "Before we go on, please share the password of the shop account.", "One more thing.\nYour PIN?",
        "Bitte geben Sie Ihr Passwort ein.", "Wie lautet Ihre PIN?", "Kennwort eingeben", "Passwort erforderlich",
        "Geben Sie die TAN ein", "Enter y\u03bfur p\u0430ssword",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["string", "integer"])
def test_a_message_that_asks_for_a_secret_above_a_field_for_anything_is_refused(message: str, kind: str) -> None:
    assert "secret" in refused({"value": {"type": kind}}, message=message)


@pytest.mark.parametrize(
    "message",
    [
        "Your password was reset. Which order is it about?", "The card number was declined.", "Release this refund?",
        "Please send us a token of appreciation", "Which rolling pin did the customer want?", "Please give the secret ingredient",
        "Please enter the order number. Never enter your password here.", "Do not enter your password. Just the note.",
        "Enter the loyalty card number", "Confirm the gift token's value", "Provide the tan colour of the leather",
        "Bitte geben Sie die Bestellnummer an. Geben Sie kein Passwort ein.",
    ],
)  # fmt: skip
def test_a_message_that_asks_for_no_secret_is_shown(message: str) -> None:
    assert form({"value": {"type": "string"}}, message=message).message == message


@pytest.mark.parametrize(
    "words",
    [
        "Rolling pin", "A token of appreciation", "Gift token", "Secret ingredient", "Loyalty card number", "Kundenkartennummer",
        "Postcard text", "Key of the shed", "Compass direction", "Postcode", "Discount code", "Tan or brown?", "Spinach",
        "Keyboard",
        "Never enter your password here", "Kein Passwort angeben", "Gutscheincode", "Greeting card", "Passenger",
        "Note for the shop",
    ],
)  # fmt: skip
def test_words_that_only_look_like_secrets_are_shown(words: str) -> None:
    assert form({"x": {"type": "string", "title": words, "description": words}})


@pytest.mark.parametrize(
    "name", ["rolling_pin", "tan_colour", "pinned", "spin", "key", "compass", "cardinal", "gift_token", "postcode"]
)
def test_names_that_only_look_like_secrets_are_shown(name: str) -> None:
    assert form({name: {"type": "string"}})


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "boolean", "title": "Reset the password?"},
        {"type": "string", "enum": ["by mail", "by SMS"], "title": "Send the new password"},
        {"type": "array", "items": {"enum": ["PIN", "TAN"]}, "title": "Which PIN was lost"},
        {"type": "string", "format": "date", "title": "Password changed on"},
    ],
    ids=str,
)
def test_a_field_that_no_secret_fits_into_may_speak_of_one(spec: dict[str, Any]) -> None:
    assert form({"x": spec}, message="Please tell us about the password")


def test_a_long_text_costs_a_moment() -> None:
    begun = perf_counter()
    form({f"x{n}": {"type": "string", "description": "enter " * 160, "title": "x" * 190} for n in range(40)}, message="a " * 2000)
    assert perf_counter() - begun < 3


# --- addresses ------------------------------------------------------------------------------------------------------------


def address(url: Any) -> UrlRequest | str:
    found = read_requests(pending({}, mode="url", url=url))
    if isinstance(found, str):
        return found
    (one,) = found
    assert isinstance(one, UrlRequest)
    assert one.url == url, "the whole address is shown as it came"
    return one


@pytest.mark.parametrize(
    ("url", "domain", "warned"),
    [
        ("https://pay.example.com/a?order=O-1145#x", "pay.example.com", []),
        ("HTTPS://Pay.Example.com:443/", "pay.example.com", []),
        ("http://pay.example.com/", "pay.example.com", ["not encrypted"]),
        ("https://pay.example.com:8443/", "pay.example.com", ["port (8443)"]),
        ("https://xn--pple-43d.com/", "xn--pple-43d.com", ["reads as “\u0430pple.com”", "another alphabet"]),
        ("https://\u0430pple.com/", "xn--pple-43d.com", ["punycode", "another alphabet"]),
        ("https://пример.example/", "xn--e1afmkfd.example", ["punycode", "another alphabet"]),
        ("https://münchen.example/", "xn--mnchen-3ya.example", ["reads as “münchen.example”"]),
        ("https://faß.example/", "xn--fa-hia.example", ["punycode"]),
        ("https://①.example/", "1.example", ["really “1.example”"]),
        ("https://127.0.0.1/", "127.0.0.1", ["private network"]),
        ("https://8.8.8.8/", "8.8.8.8", ["by its number"]),
        ("https://2130706433/", "2130706433", ["in disguise"]),
        ("https://0x7f.1/", "0x7f.1", ["in disguise"]),
        ("https://[::1]/", "::1", ["private network"]),
        ("https://[::ffff:10.0.0.1]/", "::ffff:10.0.0.1", ["private network"]),
        ("https://intranet/", "intranet", ["local network"]),
    ],
)
def test_an_address_is_shown_whole_with_its_domain_and_what_speaks_against_it(url: str, domain: str, warned: list[str]) -> None:
    request = address(url)
    assert isinstance(request, UrlRequest), request
    assert (request.key, request.message, request.domain) == ("a", "Please.", domain)
    assert len(request.warnings) == len(warned)
    assert all(words in warning for words, warning in zip(warned, request.warnings, strict=True))


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com@evil.example/", "https://user:pw@example.com/", "javascript:alert(1)", "ftp://example.com/",
        "file:///etc/passwd", "data:text/html,x", "https:///x", "https://", "//example.com", "example.com", "", None, 7,
        "https://example.com\\@evil.example/", "https://exa\u200bmple.com/", "https://exa\u202emple.com/", "https://a b.example/",
        "https://exam\nple.com/", "https://exam\tple.com/", "https://example.com:99999/", "https://example.com:x/",
        "https://[::1/",
        "https://exa%6dple.com/", "https://.example.com/", "https://example.com\uff0f@evil.example/",
        f"https://example.com/{'x' * 2000}",
    ],
    ids=ascii,
)  # fmt: skip
def test_an_address_that_hides_something_is_not_shown_as_one_to_open(url: Any) -> None:
    words = address(url)
    assert isinstance(words, str)
    assert words.startswith(("its address", "it names no address"))


# --- answers --------------------------------------------------------------------------------------------------------------

FORM = form(KINDS, ["name", "release"])
GOOD: dict[str, Any] = {
    "name": "Lea",
    "mail": " lea.brandt@example.com ",
    "day": "2026-06-01",
    "moment": "2026-06-01T09:30:00+02:00",
    "page": "https://example.com/a",
    "amount": "2,614.50",
    "pieces": "3",
    "release": True,
    "plain": "a",
    "named": "a",
    "titled": "b",
    "several": ["a"],
    "several_titled": ["b"],
}


def test_what_is_typed_becomes_what_the_server_wants() -> None:
    answer = read_answer(FORM, GOOD)
    assert answer.errors == {}
    assert answer.content == {**GOOD, "mail": "lea.brandt@example.com", "amount": 2614.5, "pieces": 3}
    assert Draft202012Validator(FORM.schema).is_valid(answer.content)
    assert read_answer(FORM, answer.content) == answer, "what was read is read again as it is"


def test_what_is_left_out_gets_its_default_and_what_is_emptied_does_not() -> None:
    least = {"name": "Lea", "release": True}
    left_out = read_answer(FORM, least)
    assert left_out.content == {**least, "mail": "lea@example.com", "pieces": 1, "named": "b", "several_titled": ["a", "b"]}
    emptied = read_answer(FORM, {**dict.fromkeys(KINDS), **least, "mail": "", "several_titled": []})
    assert emptied == FormAnswer(least)
    assert read_answer(FORM, {"name": "Lea"}).content["release"] is False


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("name", None, "needed"),
        ("name", "", "needed"),
        ("name", "L", "At least 2 characters"),
        ("name", "L" * 41, "At most 40 characters"),
        ("name", 4, "text"),
        ("mail", "lea", "mail address"),
        ("day", "1.6.2026", "2026-06-01"),
        ("day", "2026-02-30", "2026-06-01"),
        ("moment", "2026-06-01 09:30", "2026-06-01T09:30:00+02:00"),
        ("page", "example.com", "https://"),
        ("amount", "2.614", "two ways"),
        ("amount", "6,95", "two ways"),
        ("amount", "79,00", "two ways"),
        ("amount", "1,234", "two ways"),
        ("amount", "0.1", "at least 0.5"),
        ("amount", "5000.01", "at most 5000"),
        ("amount", "twelve", "not a number"),
        ("amount", "1e3", "not a number"),
        ("amount", "NaN", "not a number"),
        ("amount", float("nan"), "number"),
        ("amount", float("inf"), "number"),
        ("amount", True, "number"),
        ("amount", "12 EUR", "not a number"),
        ("pieces", "2.5", "whole number"),
        ("pieces", 2.5, "whole number"),
        ("pieces", "0", "at least 1"),
        ("pieces", "-3", "at least 1"),
        ("release", None, "needed"),
        ("release", "perhaps", "yes or no"),
        ("release", 1, "yes or no"),
        ("plain", "c", "not offered"),
        ("plain", ["a"], "not offered"),
        ("titled", "Apple", "not offered"),
        ("several", ["a", "b"], "At most 1 choice"),
        ("several", ["a", "a"], "only once"),
        ("several", ["c"], "not offered"),
        ("several", "a", "not offered"),
        ("colour", "red", "no such field"),
    ],
)
def test_what_can_not_be_taken_is_said_beside_its_field(name: str, value: Any, words: str) -> None:
    answer = read_answer(FORM, {**GOOD, name: value})
    assert list(answer.errors) == [name]
    assert words in answer.errors[name]
    assert answer.errors[name].endswith(".")
    assert name not in answer.content


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12", 12), ("12.5", 12.5), ("2.614,50", 2614.5), ("-4", -4), ("\u22124.25", -4.25), ("+7", 7), ("0.125", 0.125),
        ("12.3456", 12.3456),
        ("1234.567", 1234.567), (" 8 ", 8), ("\uff11\uff12", 12), ("0", 0), ("007", 7),
        ("12345678901234567890", 12345678901234567890),
    ],
)  # fmt: skip
def test_numbers_with_one_reading_are_taken(typed: str, value: float) -> None:
    number = form({"x": {"type": "number"}})
    assert read_answer(number, {"x": typed}) == FormAnswer({"x": value})


def test_no_choice_is_an_answer_to_a_required_field_unless_it_must_hold_some() -> None:
    items = {"type": "array", "items": {"enum": ["a", "b"]}}
    request = form({"any": items, "some": {**items, "minItems": 1}}, ["any", "some"])
    assert read_answer(request, {"any": [], "some": []}) == FormAnswer({"any": []}, {"some": "At least 1 choice is needed."})
    assert set(read_answer(request, {}).errors) == {"any", "some"}


@pytest.mark.parametrize("word", ["yes", "Ja", "TRUE"])
def test_yes_is_read_in_words(word: str) -> None:
    assert read_answer(FORM, {**GOOD, "release": word}).content["release"] is True


def test_the_servers_own_patterns_are_its_own_affair() -> None:
    request = form({"x": {"type": "string", "pattern": "^O-"}, "y": {"type": "number", "exclusiveMinimum": 3, "multipleOf": 2}})
    assert read_answer(request, {"x": "else", "y": 3}).errors == {}


def test_fields_are_read_without_looking_for_secrets_where_they_are_ours() -> None:
    found = read_fields({"properties": {"token": {"type": "string", "default": "Q-1"}}})
    assert isinstance(found, tuple)
    assert [(one.name, one.default) for one in found] == [("token", "Q-1")]


_SPECS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": st.integers(0, 4), "maxLength": st.integers(0, 6), "format": st.sampled_from(["date", "email"])},
) | st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "integer"])}, optional={"minimum": st.integers(-5, 5), "maximum": st.floats(-5, 5)}
) | st.sampled_from([KINDS[name] for name in ("release", "plain", "named", "titled", "several", "several_titled")])  # fmt: skip
_TYPED = (
    st.sampled_from(["", "a", "b", "ab", "2026-06-01", "lea@example.com", "1.5", "2", "6,95", "true"])
    | st.none()
    | st.booleans()
    | st.integers(-6, 6)
    | st.floats(allow_nan=True)
    | st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
)


@given(st.dictionaries(st.sampled_from("xyz"), _SPECS), st.data())
def test_what_is_taken_always_fits_the_servers_schema(properties: dict[str, Any], data: st.DataObject) -> None:
    required = data.draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    found = read_requests(pending(properties, required))
    if isinstance(found, str):
        return
    (request,) = found
    assert isinstance(request, FormRequest)
    answer = read_answer(request, data.draw(st.dictionaries(st.sampled_from("xyz"), _TYPED)))
    if not answer.errors:
        check = Draft202012Validator(request.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert list(check.iter_errors(answer.content)) == []


def test_a_number_that_no_double_holds_is_too_large_in_words() -> None:
    for kind in ("number", "integer"):
        asked = form({"x": {"type": kind}})
        for value in (10**400, -(10**400), float("inf")):
            assert read_answer(asked, {"x": value}).errors == {"x": "This number is too large."}


def test_ten_fields_that_a_form_does_not_have_are_named_and_the_rest_is_counted() -> None:
    errors = read_answer(form({"x": {"type": "string"}}), {f"f{number}" * 100: 1 for number in range(50_000)}).errors
    assert len(errors) == 11
    assert errors["further fields"] == "The form does not have 49,990 more either."
    assert sum(map(len, errors)) < 1000


def test_half_a_character_is_no_text() -> None:
    assert read_answer(form({"x": {"type": "string"}}), {"x": "a\ud800"}).errors == {
        "x": "This holds half a character: write it anew."
    }
