"""Reads a draft: sentences, their clauses, and what each clause says about a named act.  Refuses to know what the act is.

A clause that names an act says that it is done, promises it, offers it, denies it, or only mentions it; which one is told by
tense, negation and reservation (`claim_words`). Where two readings are possible the stricter one is taken: a person then looks at
a sentence that was fine, which costs less than a promise nobody keeps (spec H25).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from host.amounts import plain
from host.claim_words import IT_WAS, LANGUAGES, Lexicon
from host.dates import MONTH

#: Never the end of a sentence, and only before a number ("No. 5", but "The answer is no.").
_ABBREVIATION = re.compile(
    r"bzw|inkl|exkl|zzgl|evtl|ggf|usw|vgl|incl|excl|mr|mrs|ms|dr|prof|st|vs|dept|ref|bijv|resp|mme|mlle|env|sr|jr|approx|ca"
)
_NUMBERED = re.compile(r"no|nr|nos|tel|max|min|art|abs|abt|bestellnr|kd|str|fig|std")
_END = re.compile(r"(?:[.!?…]+[\"'”»)\]]*(?=\s|$)|(?<=[a-zäöüßéè]{2})[.!?](?=[A-ZÄÖÜÉ]['a-zäöü ]))")
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s)|(?<=[.!?:,])[ \t]*\n")
_PUNCTUATION = re.compile(r"[;:()\[\]\"“”„»«—]|(?<!\w)-(?!\w)|,(?!\d)|!(?=.)")
_JOIN_MOST = 160  # characters: nobody puts a longer list before its verb
_CLOSED = re.compile(r"[.;!?]\s*$|\w+\W+\w+\W+\w+.*:\s*$")
#: What stands under a condition is not said to be so ("Once it is approved").
_CONDITION = re.compile(
    r"\W*(?:if|once(?! again| more)|unless|until|as soon as|whenever|in case|falls|sobald|sofern|wenn|indien|"
    r"zodra|tenzij|totdat|si|"
    r"dès que|à moins)\b",
    re.IGNORECASE,
)
_THAT = re.compile(r"\W*(?:that|dass|dat|que|qu')\b", re.IGNORECASE)
_THEIRS = re.compile(
    r"\b(?:you (?:say|said|write|wrote|mention|mentioned|claim|claimed|believe|state|stated|report|were told)|"
    r"sie (?:schreiben|sagen|erwähnen|meinen)|"
    r"(?:schreiben|sagen|erwähnen) sie|u (?:schrijft|zegt|noemt|meldt)|vous (?:écrivez|dites|mentionnez|indiquez))\W*$",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\W*(?:(?:that|all|any|and|while|dass|alle|dat|que)\b)?\W*", re.IGNORECASE)
_PERFECT = re.compile(
    r"\b(?:has|have|had|was|were|wurden?|haben|hat|sind|worden|hebben|heeft|werd|werden|zijn|your|to you)\b", re.IGNORECASE
)


class Saying(IntEnum):
    """What a clause says about an act; a larger one is stricter."""

    NOTHING = 0
    MENTIONED = 1
    DENIED = 2
    OFFERED = 3
    PROMISED = 4
    DONE = 5


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` as the draft has it, `plain` as it is compared (`amounts.plain`)."""

    text: str
    plain: str


@dataclass(frozen=True, slots=True)
class Said:
    """One mention of an act: what is said, in which clause, and the words that name the act."""

    saying: Saying
    clause: str
    words: str
    past: bool = False


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split without stumbling over "No. 5", "z.B.", "17. Mai" and "2.614,50 €"; each sentence as it stands in the text."""
    found = []
    for block in _blocks(text):
        start = 0
        for match in _END.finditer(block):
            if _is_end(block, match):
                found.append(block[start : match.end()])
                start = match.end()
        found.append(block[start:])
    cut = (part.strip() for part in found)
    return tuple(Sentence(part, plain(part).replace("\n", " ")) for part in cut if part)


def _blocks(text: str) -> Iterator[str]:
    start = 0
    for match in _BREAK.finditer(text):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _is_end(block: str, match: re.Match[str]) -> bool:
    if match[0][0] != ".":
        return True
    before = re.search(r"[^\s(]*$", block[: match.start()])
    word = before[0].lower() if before else ""
    rest = block[match.end() :].lstrip()
    if word.isdigit() and re.match(rf"(?:{MONTH})\b", rest, re.IGNORECASE):
        return False
    if re.fullmatch(r"[^\W\d]|(?:[^\W\d]\.)+[^\W\d]", word):  # "z.", "e.g", "A."
        return word == "i" or not rest
    short = _ABBREVIATION.fullmatch(word) or (_NUMBERED.fullmatch(word) and rest[:1].isdigit())
    return not short or not rest


def languages_of(text: str) -> tuple[Lexicon, ...]:
    """The languages a text may be in, likeliest first; all of them where nothing tells."""
    score = {lexicon.code: len(lexicon.common.findall(text)) for lexicon in LANGUAGES}
    best = max(score.values())
    if best == 0:
        return LANGUAGES
    return tuple(x for x in LANGUAGES if score[x.code] == best)


def promises(sentence: Sentence) -> bool:
    """Whether the sentence speaks of what will be, whatever it is about."""
    return any(lexicon.promise.search(_blank(sentence.plain, lexicon)) for lexicon in languages_of(sentence.plain))


def attributed(sentence: Sentence) -> bool:
    """Whether the sentence gives its content to the customer: "you mention 400 EUR"."""
    return any(lexicon.attributed.search(sentence.plain) for lexicon in languages_of(sentence.plain))


def said(sentence: Sentence, words: re.Pattern[str], *, named_before: bool = False) -> tuple[Said, ...]:
    """Everything the sentence says about the act that `words` name, by the strictest of its possible languages.

    With `named_before` the sentence before named the act, so that "It has been issued" speaks of it.
    """
    readings = [tuple(_read(sentence.plain, words, lexicon, named_before)) for lexicon in languages_of(sentence.plain)]
    return max(readings, key=lambda found: max((s.saying for s in found), default=Saying.NOTHING))


def _blank(text: str, lexicon: Lexicon) -> str:
    return lexicon.idioms.sub(lambda m: " " * len(m[0]), text)


def _clauses(text: str, lexicon: Lexicon) -> Iterator[str]:
    marks = sorted(
        {0, len(text), *(m.end() for m in _PUNCTUATION.finditer(text)), *(m.start() for m in lexicon.split.finditer(text))}
    )
    for start, end in pairwise(marks):
        yield text[start:end]


def _read(text: str, words: re.Pattern[str], lexicon: Lexicon, named: bool) -> Iterator[Said]:
    blanked = _blank(text, lexicon)
    wished = lexicon.wish.search(text) is not None
    question = text.rstrip(" \"'”»)").endswith("?")
    asks = question and lexicon.asked.search(blanked) is not None
    pieces = list(_joined(list(_clauses(blanked, lexicon)), words, lexicon))
    perfect: Saying | None = None
    modal: Saying | None = None
    at, theirs = 0, False  # `theirs`: the piece before says "you write", so that a "that …" is the customer's
    for number, piece in enumerate(pieces, start=1):
        own, past = _own(piece, lexicon), _is_past(piece, lexicon)
        matches = list(words.finditer(piece)) or (list(IT_WAS.finditer(piece)) if named else [])
        named = named or bool(matches)
        for match in matches:
            saying = _saying(piece, match, lexicon, perfect, modal)
            if question and number == len(pieces) and (asks or lexicon.asked.search(piece)):
                saying = min(saying, Saying.OFFERED)
            elif wished and saying is Saying.PROMISED:
                saying = Saying.OFFERED
            elif saying > Saying.OFFERED and (_CONDITION.match(piece) or (theirs and _THAT.match(piece))):
                saying = Saying.MENTIONED
            yield Said(saying, piece.strip(), match[0], past)
        if own is not None:
            perfect, modal = (own, None) if past else (None, own)
        theirs = _THEIRS.search(text[at : at + len(piece)]) is not None
        at += len(piece)


def _joined(pieces: list[str], words: re.Pattern[str], lexicon: Lexicon) -> Iterator[str]:
    """Join a piece that only names the act ("your refund and the postage") to the verb that follows it."""
    held = ""
    for number, piece in enumerate(pieces, start=1):
        whole = held + piece
        named = words.search(whole) is not None
        if (
            number < len(pieces)
            and len(whole) < _JOIN_MOST
            and (not whole.strip() or (named and not _verbal(whole, lexicon) and not _CLOSED.search(whole)))
        ):
            held = whole
            continue
        yield whole
        held = ""


def _verbal(piece: str, lexicon: Lexicon) -> bool:
    cues = (lexicon.done, lexicon.promise, lexicon.offer, lexicon.negation, lexicon.participle)
    return any(cue.search(piece) for cue in cues)


def _own(piece: str, lexicon: Lexicon) -> Saying | None:
    """What the piece's own verb says, whatever it is about: inherited by a later piece that has none."""
    if lexicon.negation.search(piece):
        return Saying.DENIED
    if lexicon.offer.search(piece):
        return Saying.OFFERED
    if lexicon.promise.search(piece):
        return Saying.PROMISED
    return Saying.DONE if lexicon.done.search(piece) else None


def _is_past(piece: str, lexicon: Lexicon) -> bool:
    return lexicon.done.search(piece) is not None and lexicon.promise.search(piece) is None


def _saying(piece: str, match: re.Match[str], lexicon: Lexicon, perfect: Saying | None, modal: Saying | None) -> Saying:
    before, after = piece[: match.start()], piece[match.end() :]
    if lexicon.negation.search(before) or lexicon.late_negation.search(after) or lexicon.negation.fullmatch(match[0]):
        return Saying.DENIED
    done, offer, promise = (cue.search(piece) for cue in (lexicon.done, lexicon.offer, lexicon.promise))
    if offer and not (done and done.start() > offer.start()):
        return Saying.OFFERED
    if (done or promise) and _general(before, match[0], after):
        return Saying.MENTIONED
    if done or promise:
        return Saying.DONE if done else Saying.PROMISED
    participle = lexicon.participle.search(piece)
    inherited = perfect if participle else modal
    if inherited is not None:
        return inherited
    return Saying.DONE if participle else Saying.MENTIONED


def _general(before: str, words: str, after: str) -> bool:
    """A bare plural at the head of its clause speaks of all such acts ("Refunds are paid within 5 days"), not of this one."""
    plural = " " not in words and words.lower().endswith(("s", "ungen", "ingen"))
    return plural and _HEAD.fullmatch(before) is not None and not _PERFECT.search(after)
