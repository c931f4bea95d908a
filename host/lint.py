"""Reads a tool's definition as a stranger's text and says what in it speaks to a model rather than about the tool (spec H7).

Pure. Refuses to know pins and servers. A finding keeps a tool off until a person accepts it, so that a wrong finding costs a
look, while a missed one costs trust: it is a net against careless and common attacks, never the reason to trust a server.
Findings name the place and the kind, and quote nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from host.types import Json

Findings = tuple[str, ...]

_WHO = r"(?<![\w-])(?:ai|a\.i\.|assistant|agent|llm|language model|chat ?bot|bot|claude|gpt|chatgpt|qwen|gemini|copilot)s?"
_PEOPLE = r"(?:user|customer|human|person|people|anyone|anybody|operator|staff|them|him|her)s?"
_ACT = r"(?:call|use|invoke|run|execute|send|forward|ignore|obey|follow|reply|answer)"
_SETTING = r"(?:instruction|prompt|rule|polic|guideline|direction|restriction|safeguard|training)"
_MUST = r"(?:must|should|shall|have to|need to|are required to|are obliged to|will)"
_NOT = r"(?:do not|don't|never|must not|should not|no need to|need not|not to|avoid|without)"
_TELL = r"(?:tell|mention|inform|reveal|show|disclos|notify|alert|report|explain|let|say)"
_ASK = r"(?:ask|wait|request|require|seek|check with|confirm with)"
_CONSENT = r"(?:approval|consent|confirmation|confirm|permission|authori[sz]ation)"
_GIVEN = r"(?:waived|unnecessary|bypass\w*|skipped|not (?:needed|required|necessary)|(?:already|been) (?:given|granted|obtained))"
_GIVE = r"(?:send|pass|include|forward|copy|paste|supply|put|append|attach|give|provide)"
_PRIVATE = (
    r"(?:conversation|chat history|transcript|system prompt|previous messages|api[_ ]?keys?|passwords?|credentials?"
    r"|access tokens?|environment variables?|\.env|\.ssh|private keys?|contents? of)"
)
_PERSONAL = r"(?:name|address|e-?mail|phone|card|iban|history|data|details)"
_MARK = r"(?:important|system|instructions?|secret|hidden|admin|assistant|developer|tool_?calls?|tool_?response|critical|rules?)"
_HEARER = r"(?:the |any |all |an |your )?"

#: Kind of speech → how it is said. Text is lower-case, without invisible characters, its white space single.
_SPEECH: Mapping[str, tuple[str, ...]] = {
    "sets instructions aside": (
        rf"\b(?:ignor|disregard|forget|overrid|bypass|supersed|discard|neglect)\w*\b.{{0,50}}\b{_SETTING}",
        rf"\b(?:replac\w+|take precedence over|overrul\w*|cancel\w*|void)\b.{{0,50}}\b(?:your|previous|earlier) {_SETTING}",
        rf"\bnew {_SETTING}s?\b\s*:",
        r"\b(?:ignorier|missacht|vergiss)\w*\b.{0,50}\b(?:anweisung|regel|vorgabe)",
        r"\b(?:ignore[rz]?|oublie[rz]?)\b.{0,50}\b(?:consigne|instruction|règle)",
        r"\b(?:negeer|vergeet)\b.{0,50}\b(?:instructie|regel|opdracht)",
        r"\b(?:ignora|olvida)\b.{0,50}\b(?:instruccion|regla|istruzion)",
    ),
    "speaks to a model": (
        rf"{_WHO}\s*[:!]",
        rf"^(?:dear |hey |hello |attention,? )?{_HEARER}{_WHO}\s*,",
        rf"\b(?:note|message|instruction|direction|guidance|reminder|order)s? (?:for|to) {_HEARER}{_WHO}\b",
        rf"\byou are (?:now )?(?:an? |the )?[^.]{{0,30}}{_WHO}\b",
        r"\byou are now\b",
        rf"\bas an? {_WHO},? you\b",
        rf"\b(?:the|every|any) {_WHO} (?:must|should|shall|has to|needs to|is required|will always)\b",
        rf"\b(?:the|this) model (?:must|should|shall|has to) (?:not |never |always |first )?{_ACT}\b",
        r"\b(?:from|of|by) your (?:operator|developer|creator|owner)\b",
        r"\b(?:treat|take|regard|consider)\b.{0,50}\bas (?:an? |your )?(?:order|instruction|command)",
    ),
    "orders other calls": (
        rf"\byou {_MUST}\b.{{0,25}}\b(?:{_ACT}|first|always|never)\b",
        r"\b(?:before|prior to|instead of|rather than|after|ahead of)\b.{0,40}\b(?:any|other|another|all|every)\b.{0,20}"
        r"\b(?:tool|function|action|call)",
        r"\b(?:always|must|immediately) (?:be )?(?:call|invok|execut)(?:ed|e)?\b",
        r"\b(?:always|only|must) use this\b",
        r"\bmust (?:be (?:called|used|invoked|run)|come) (?:first|before|after)\b",
        r"\b(?:call|invoke|run|execute|use)\b.{0,50}\b(?:at once|immediately|right away|straight away)\b",
        r"\b(?:do not|don't|never) (?:use|call|invoke|trust) (?:any |the )?other\b",
    ),
    "talks consent away": (
        r"\bwithout (?:any |first )?(?:asking|approval|confirm|consent|permission|review|authori[sz])",
        rf"\b{_NOT}\b.{{0,10}}\b{_ASK}\b.{{0,40}}\b(?:{_CONSENT}|{_PEOPLE})\b",
        rf"\b{_CONSENT}\b.{{0,30}}\b{_GIVEN}",
        rf"\bno {_CONSENT}\b.{{0,10}}\b(?:needed|required|necessary)\b",
        r"\bpre-?(?:approved|authori[sz]ed)\b",
    ),
    "hides from people": (
        rf"\b{_NOT}\b.{{0,15}}\b{_TELL}\w*\b.{{0,50}}\b{_PEOPLE}\b",
        rf"\bkeep (?:this|it|that)\b.{{0,15}}\b(?:secret|hidden|from (?:the )?{_PEOPLE})",
        r"\b(?:secretly|covertly|silently|quietly) (?:send|call|pass|add|include|forward|copy)",
    ),
    "imitates the prompt's own marks": (
        rf"<\s*/?\s*{_MARK}\b[^<>]{{0,40}}>",
        r"<\|[^|<>]{1,30}\|>",
        r"\[/?\s*(?:inst|system|important|assistant)\s*\]",
        r"\bsystem\s*(?:prompt|message|override|instruction|note)\b",
        r"(?:^|[\s>#*])system\s*:",
        r"\b(?:developer|operator|admin(?:istrator)?|god|debug) (?:mode|override)\b",
    ),
    "asks for what isn't its business": (
        rf"\b{_GIVE}\b.{{0,60}}\b{_PRIVATE}",
        rf"\b(?:send|forward|give)\b.{{0,30}}\b(?:customer|user|person)(?:'s|s)?\b.{{0,40}}\b{_PERSONAL}",
    ),
}
_RULES = tuple((kind, re.compile(pattern, re.MULTILINE)) for kind, patterns in _SPEECH.items() for pattern in patterns)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{80,}={0,2}|(?:\\x[0-9a-fA-F]{2}){10,}|(?:%[0-9a-fA-F]{2}){10,}")
#: Characters that show nothing and are no format or control characters by category.
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def lint(definition: Mapping[str, Json], others: Iterable[str], prefixes: Iterable[str]) -> Findings:
    """Everything suspicious in a definition's six fields, one line for each place and kind; empty when clean.

    `others` are names of other servers' tools, `prefixes` the other servers'. Every string counts: descriptions, titles, enum
    values, defaults, property names, nested and `$defs`.
    """
    strangers = _mentions(others, prefixes)
    found: dict[str, None] = {}
    for place, text in strings(definition):
        for kind in _kinds(text, None if place == "name" else strangers):
            found[f"{kind} ({place})"] = None
    return tuple(found)


def strings(value: Json, place: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a JSON value with its place; a key is a string too, its underscores read as spaces."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            here = f"{place}.{_plain(str(key))[:40]}" if place else _plain(str(key))[:40]
            yield here, str(key)
            yield here, re.sub(r"[_-]+", " ", str(key))
            yield from strings(inner, here)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner, place)


def _kinds(text: str, strangers: re.Pattern[str] | None) -> Iterator[str]:
    if any(character in _BIDIRECTIONAL for character in text):
        yield "bidirectional characters"
    if any(_invisible(text, at) for at in range(len(text))):
        yield "invisible characters"
    if _mixes_scripts(text):
        yield "look-alike letters"
    if _ENCODED.search(text):
        yield "encoded text"
    seen = _plain(text).lower()
    for kind, rule in _RULES:
        if rule.search(seen):
            yield kind
    if strangers is not None and strangers.search(seen):
        yield "mentions another server's tool"


def _plain(text: str) -> str:
    """As a reader takes it: compatibility forms folded, invisible characters gone, white space single."""
    folded = unicodedata.normalize("NFKC", text)
    shown = "".join(character for at, character in enumerate(folded) if not _invisible(folded, at))
    shown = "".join(character for character in shown if character not in _BIDIRECTIONAL)
    return re.sub(r"\s+", " ", shown).replace("\u2019", "'").strip()


def _invisible(text: str, at: int) -> bool:
    character = text[at]
    if character in "\n\t\r" or character in _BIDIRECTIONAL:
        return False
    if character in _BLANKS:
        return True
    number = ord(character)
    if 0xFE00 <= number <= 0xFE0F or character == "\u200d":  # part of an emoji when one stands before it
        return not (at and unicodedata.category(text[at - 1]) in ("So", "Sk", "Mn", "Po"))
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs") or 0xE0100 <= number <= 0xE01EF


def _mixes_scripts(text: str) -> bool:
    for word in re.findall(r"\w+", text):
        scripts = {_script(character) for character in word if character.isalpha()}
        if len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}) > 1:
            return True
    return False


def _script(character: str) -> str:
    return "LATIN" if character.isascii() else unicodedata.name(character, "?").split(" ")[0]


def _mentions(others: Iterable[str], prefixes: Iterable[str]) -> re.Pattern[str] | None:
    """Names that are plain words count only as a call or in code marks: "search" is English, `search(` is a tool."""
    parts = []
    for name in others:
        word = re.escape(name.lower())
        parts.append(rf"(?<![\w-]){word}(?![\w-])" if re.search(r"[_.-]|[a-z][A-Z]", name) else rf"`{word}`|(?<!\w){word}\(")
    for prefix in prefixes:
        word = re.escape(prefix.lower())
        parts.append(
            rf"(?<!\w){word}(?:\.(?!com\b|org\b|net\b|example\b)|__|::)[a-z_]\w*|`{word}`|\b{word} (?:mcp )?(?:server|tool)s?\b"
        )
    return re.compile("|".join(parts)) if parts else None
