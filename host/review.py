"""The reply is a claim; the call log is what happened (spec H25, H26).  Refuses to know what the business is: which words name an
act, and which tool does it, comes from the configuration.

Each sentence that claims or promises an act, an amount, a date, an identifier, a state or a hand-over needs its support, else it
is flagged. Tags: "action" (nothing did it), "amount", "identifier", "handle", "date", "period", "number", "state", "source" (only
an untrusted server says so), "handover", "denied" (it did happen), "empty" (nothing of it can be seen).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from host.amounts import Amount, Seen, find_amounts, plain
from host.claim_words import HAND_OVER
from host.claims import Said, Saying, Sentence, attributed, promises, said, sentences
from host.config import ActionClaim, GroundingRule, ReviewConfig, ServerConfig
from host.dates import Term, find_terms, weekday, weekday_of
from host.evidence import Evidence, Sources, gather, lines, of_call, server_of, succeeded
from host.grounding import Mention, facts_from_result, mentions, normal_form, says_nothing
from host.spans import Spans
from host.types import Attached, Flag, Ticket, ToolCallRecord

_CLAIMED = (Saying.DONE, Saying.PROMISED)
_LIKE_AN_ID = re.compile(r"(?<![\w-])[A-Z]{1,4}-[0-9A-Za-z]*\d{3,}[0-9A-Za-z]*(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:[.,]\d+)?(?![\w/]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class _Case:
    """What every check looks at. `calls` is the whole log, failures included, so that a flag can say what became of a call."""

    sources: Sources
    calls: Sequence[ToolCallRecord]
    servers: Mapping[str, ServerConfig]
    grounding: Mapping[str, GroundingRule]


def review(
    text: str,
    ticket: Ticket,
    calls: Sequence[ToolCallRecord],
    attached: Sequence[Attached],
    config: ReviewConfig,
    servers: Mapping[str, ServerConfig],
    grounding: Mapping[str, GroundingRule],
    *,
    handed_over: bool = False,
) -> tuple[Flag, ...]:
    """The sentences of a draft that nothing supports, in the draft's order.

    `calls` are those of every run of the ticket. `handed_over` says that the ticket goes to a person, which alone supports a
    sentence that promises one.
    """
    if says_nothing(text):
        return (Flag("(the whole reply)", "it holds nothing that a customer could read", "empty"),)
    case = _Case(gather(ticket, calls, attached, servers, grounding), calls, servers, grounding)
    flags: dict[Flag, None] = {}
    before: Sentence | None = None
    for sentence in sentences(text):
        for action in config.actions:
            flags.update(dict.fromkeys(_action(sentence, before, action, case)))
        flags.update(dict.fromkeys(_identifiers(sentence, case)))
        flags.update(dict.fromkeys(_figures(sentence, case)))
        if not handed_over and any(s.saying in _CLAIMED for s in said(sentence, HAND_OVER)):
            why = "it says that a person takes this up, and nobody was asked to"
            flags[Flag(sentence.text, why, "handover")] = None
        before = sentence
    return tuple(flags)


# Acts and states


def _action(sentence: Sentence, before: Sentence | None, action: ActionClaim, case: _Case) -> Iterator[Flag]:
    words = re.compile(action.words, re.IGNORECASE)
    named = before is not None and bool(said(before, words)) and not _only_read(action, case)
    claims = said(sentence, words, named_before=named)
    if not claims:
        return
    if _only_read(action, case):
        yield from _state(sentence, claims, action, words, case)
        return
    claimed = [c for c in claims if c.saying in _CLAIMED]
    did = [c for c in case.sources.calls if c.name in action.tools]
    if not claimed:
        if did and any(c.saying is Saying.DENIED and c.past for c in claims):
            yield Flag(sentence.text, f"it denies {action.name}, but {_calls(did)} succeeded", "denied")
    elif did:
        yield from _same_act(sentence, claimed, action, did, case)
    elif not _on_record(sentence, claimed, action, case):
        verb = "says that it is done" if any(c.saying is Saying.DONE for c in claimed) else "promises it"
        doubtful = any(c.name in action.tools for c in case.sources.doubtful)
        yield Flag(
            sentence.text,
            f"{action.name}: the sentence {verb}, and {_attempts(action, case)}",
            "source" if doubtful else "action",
        )


def _on_record(sentence: Sentence, claimed: Sequence[Said], action: ActionClaim, case: _Case) -> bool:
    """Whether the system of record lists such an act, done before, with every amount that the sentence names."""
    if action.on_record is None or any(claim.saying is not Saying.DONE for claim in claimed):
        return False
    money = _money(sentence.plain)
    for call in case.sources.calls:
        if not case.servers[server_of(call)].record or not isinstance(call.data, Mapping):
            continue
        for item in call.data.get(action.on_record.items) or ():
            done = isinstance(item, Mapping) and item.get(action.on_record.state_field) in action.on_record.states
            if done and all(amount in of_call(replace(call, data=item), case.servers).amounts for amount in money):
                return True
    return False


def _only_read(action: ActionClaim, case: _Case) -> bool:
    """An act whose tools all only read is no act of ours: the words name a state of things."""
    return bool(action.tools) and all(_effect(name, case.servers) == "read" for name in action.tools)


def _effect(name: str, servers: Mapping[str, ServerConfig]) -> str:
    prefix, _, tool = name.partition(".")
    configured = servers[prefix].tools.get(tool) if prefix in servers else None
    return configured.effect if configured else "effect"


def _attempts(action: ActionClaim, case: _Case) -> str:
    tried = [c for c in case.calls if c.name in action.tools]
    if not action.tools:
        return "no tool does that"
    if not tried:
        return f"{' or '.join(action.tools)} was never called"
    if all(succeeded(c) for c in tried):
        return f"only {_names(tried)} says so"
    return ", ".join(f"{c.name} ended as {c.outcome.value.replace('_', ' ')}" for c in tried if not succeeded(c))


def _same_act(
    sentence: Sentence, claimed: Sequence[Said], action: ActionClaim, did: Sequence[ToolCallRecord], case: _Case
) -> Iterator[Flag]:
    """The act was done; amounts and identifiers said in one breath with it must be those of that call."""
    held = Evidence()
    for call in did:
        held = held | of_call(call, case.servers)
    clauses = [a for claim in claimed for a in _money(claim.clause)]
    wrong = [a for a in clauses if a not in held.amounts]
    whole = _money(sentence.plain)
    if not clauses and whole and not any(a in held.amounts for a in whole):
        wrong = list(whole)
    for amount in dict.fromkeys(wrong):
        theirs = ", ".join(sorted(str(a) for a in held.amounts)) or "no amount"
        yield Flag(sentence.text, f"{action.name}: the sentence says {_with_currency(amount)}, the call says {theirs}", "amount")
    held_ids = _held_identifiers(did, case)
    for mention in mentions(" ".join(c.clause for c in claimed), case.grounding):
        known = held_ids.get(mention.param, set())
        if known and mention.value not in known and not case.grounding[mention.param].handle:
            why = f"{action.name}: the sentence says {mention.value}, the call was for {', '.join(sorted(known))}"
            yield Flag(sentence.text, why, "identifier")


def _held_identifiers(calls: Sequence[ToolCallRecord], case: _Case) -> dict[str, set[str]]:
    held: dict[str, set[str]] = {}
    for call in calls:
        for fact in facts_from_result(call, True, case.grounding):
            held.setdefault(fact.param, set()).add(fact.value)
        for param, value in call.arguments.items():
            normal = normal_form(value, case.grounding[param]) if param in case.grounding else None
            if normal is not None:
                held.setdefault(param, set()).add(normal)
    return held


def _state(
    sentence: Sentence, claims: Sequence[Said], action: ActionClaim, words: re.Pattern[str], case: _Case
) -> Iterator[Flag]:
    """A state ("delivered") needs a result that names it; that it will be so, or is not, needs one that looked."""
    strictest = max(c.saying for c in claims)
    if strictest not in (*_CLAIMED, Saying.DENIED) or attributed(sentence):
        return

    def shows(call: ToolCallRecord) -> bool:
        if call.name not in action.tools:
            return False
        held = "\n".join(lines(call.data)) if call.data is not None else call.text
        return strictest is not Saying.DONE or words.search(held) is not None

    if any(shows(c) for c in case.sources.calls):
        return
    doubtful = [c for c in case.sources.doubtful if shows(c)]
    if doubtful:
        yield Flag(sentence.text, f"only {_names(doubtful)} says so", "source")
    else:
        yield Flag(sentence.text, f"{action.name}: no result says so", "state")


def _calls(calls: Sequence[ToolCallRecord]) -> str:
    return ", ".join(dict.fromkeys(c.name for c in calls))


def _names(calls: Sequence[ToolCallRecord]) -> str:
    return ", ".join(dict.fromkeys(c.server or c.name.partition(".")[0] for c in calls))


# Identifiers


def _identifiers(sentence: Sentence, case: _Case) -> Iterator[Flag]:
    known = case.sources.facts | case.sources.customer
    text = sentence.plain
    mentioned = tuple(_mentioned(text, case))
    spans = Spans((m.start, m.end) for m in mentioned)
    for mention in mentioned:
        if case.grounding[mention.param].handle:
            yield _handle(sentence, mention.value, mention.param)
        elif (mention.param, mention.value) not in case.sources.grounded:
            yield _unknown(sentence, mention.value, case)
    for match in _LIKE_AN_ID.finditer(text):
        if not spans.touch(match.span()) and not known.holds(match[0]):
            yield _unknown(sentence, match[0], case)
    for param, value in _handles(case):
        if value.lower() in text.lower() and not any(value.lower() in text[m.start : m.end].lower() for m in mentioned):
            yield _handle(sentence, value, param)


def _mentioned(text: str, case: _Case) -> Iterator[Mention]:
    """Identifiers of the configured kinds. A bare number counts unless it is part of a figure, or a year that nothing grounds."""
    figures = Spans([*((s.start, s.end) for s in find_amounts(text)), *((t.start, t.end) for t in find_terms(text))])
    for mention in mentions(text, case.grounding):
        written = text[mention.start : mention.end]
        grounded = (mention.param, mention.value) in case.sources.grounded
        unlikely = figures.touch((mention.start, mention.end)) or (
            not grounded and re.fullmatch(r"(?:19|20)\d\d|\d{1,3}", written)
        )
        if not (written.isdigit() and unlikely):
            yield mention


def _handle(sentence: Sentence, value: str, param: str) -> Flag:
    return Flag(sentence.text, f"{value} is an internal handle ({param}) and never goes to a customer", "handle")


def _unknown(sentence: Sentence, value: str, case: _Case) -> Flag:
    for server, evidence in case.sources.hearsay.items():
        if evidence.holds(value):
            return Flag(sentence.text, f"{value}: only {server} says so", "source")
    return Flag(sentence.text, f"{value}: neither the ticket nor a result holds it", "identifier")


def _handles(case: _Case) -> Iterator[tuple[str, str]]:
    """Values that results or calls hold under a handle's name, whatever they look like."""
    for param in (p for p, rule in case.grounding.items() if rule.handle):
        for call in case.calls:
            for source in (call.data, call.arguments):
                value = source.get(param) if isinstance(source, Mapping) else None
                if isinstance(value, str) and len(value) > 3:
                    yield param, value


# Amounts, dates, periods, numbers


def _money(text: str) -> tuple[Amount, ...]:
    terms = Spans((t.start, t.end) for t in find_terms(text))
    seen = (s for s in find_amounts(text) if s.amount is None or s.amount.currency or not terms.touch((s.start, s.end)))
    return tuple(s.amount for s in seen if s.amount)


def _with_currency(amount: Amount) -> str:
    return str(amount) if amount.currency else f"{amount} without a currency"


def _figures(sentence: Sentence, case: _Case) -> Iterator[Flag]:
    text = sentence.plain
    ids = [(m.start, m.end) for m in _mentioned(text, case)]
    ids += [m.span() for m in _LIKE_AN_ID.finditer(text)]
    named = Spans(ids)
    money = [s for s in find_amounts(text) if not named.touch((s.start, s.end))]
    sure = [(s.start, s.end) for s in money if s.amount is None or s.amount.currency]
    counted = Spans([*ids, *sure])
    terms = [t for t in find_terms(text) if not counted.touch((t.start, t.end))]
    dated = [(t.start, t.end) for t in terms]
    days = Spans(dated)
    theirs = attributed(sentence)
    for seen in money:
        if not (seen.amount and not seen.amount.currency and days.touch((seen.start, seen.end))):
            yield from _amount(sentence, seen, theirs, case.sources)
    dateless = not any(t.day for t in terms) and any(t.word for t in terms) and promises(sentence)
    for term in terms:
        if term.word and not dateless:
            continue  # a weekday beside its date, or a word that promises nothing ("thank you for writing today")
        yield from _term(sentence, term, theirs, case.sources)
    yield from _numbers(sentence, [*ids, *dated, *((s.start, s.end) for s in money)], case)


def _amount(sentence: Sentence, seen: Seen, theirs: bool, sources: Sources) -> Iterator[Flag]:
    amount = seen.amount
    if amount is None:
        words = sentence.plain[seen.start : seen.end]
        yield Flag(sentence.text, f"“{words}” is written in words and can't be compared: write it in digits", "amount")
        return
    same = {a for a in sources.facts.amounts if a.value == amount.value}
    if amount in same and amount.currency:
        return
    said_so = {
        a
        for a in sources.customer.amounts
        if a.value == amount.value and (a.currency in ("", amount.currency) or not amount.currency)
    }
    if theirs and said_so:
        return
    if same:
        yield Flag(sentence.text, f"{_with_currency(amount)}: the results say {', '.join(sorted(map(str, same)))}", "amount")
        return
    for server, evidence in sources.hearsay.items():
        if any(a.value == amount.value for a in evidence.amounts):
            yield Flag(sentence.text, f"{amount}: only {server} says so", "source")
            return
    why = "only the customer says so" if said_so else "no result holds it"
    yield Flag(sentence.text, f"{_with_currency(amount)}: {why}", "amount")


def _term(sentence: Sentence, term: Term, theirs: bool, sources: Sources) -> Iterator[Flag]:
    if _known(term, sources.facts) or (theirs and _known(term, sources.customer)):
        return
    tag = "date" if term.day or term.word else "period" if term.bounds else "number"
    for server, evidence in sources.hearsay.items():
        if _known(term, evidence):
            yield Flag(sentence.text, f"“{term.text}”: only {server} says so", "source")
            return
    why = "only the customer says so" if _known(term, sources.customer) else "no result and no attached text holds it"
    yield Flag(sentence.text, f"“{term.text}”: {why}", tag)


def _known(term: Term, evidence: Evidence) -> bool:
    if term.day:
        return any(term.day.fits(day) for day in evidence.days)
    if term.bounds:
        return all(bound in evidence.bounds for bound in term.bounds)
    if term.share:
        return term.share in evidence.shares
    number = weekday(term.word)
    return term.word in evidence.text or (number is not None and any(weekday_of(day) == number for day in evidence.days))


def _numbers(sentence: Sentence, spans: Sequence[tuple[int, int]], case: _Case) -> Iterator[Flag]:
    """A bare count ("14 left") must stand somewhere; a list's own numbering and a lone 1 say nothing."""
    known = {k.replace(",", ".") for k in case.sources.facts.numbers | case.sources.customer.numbers}
    figures = Spans(spans)
    for match in _NUMBER.finditer(sentence.plain):
        listed = match.start() == 0 and re.match(r"\d+[.)]", sentence.plain) is not None
        if listed or match[0] == "1" or figures.touch(match.span()) or match[0].replace(",", ".") in known:
            continue
        yield Flag(sentence.text, f"“{match[0]}”: no result and no attached text holds it", "number")


# What follows from it


def unmet(ticket: Ticket, calls: Sequence[ToolCallRecord], config: ReviewConfig) -> str:
    """In words, what the ticket asked for and no successful call did; "" when nothing is missing. Quoted mail asks nothing."""
    text = _own_words(ticket, "")
    for action in config.actions:
        if not _asked(action, text):
            continue
        if not any(c.name in action.tools and succeeded(c) for c in calls):
            return f"the customer asked for {action.name}, and no successful call did it"
    return ""


def unasked(ticket: Ticket, hint: str, config: ReviewConfig) -> frozenset[str]:
    """Tools of acts that neither the ticket's own words nor a person's hint ask for: not offered to the model (spec M4)."""
    text = _own_words(ticket, hint)
    known = [action for action in config.actions if action.asked is not None]
    return frozenset(tool for action in known if not _asked(action, text) for tool in action.tools)


def _own_words(ticket: Ticket, hint: str) -> str:
    own = "\n".join(line for line in ticket.body.splitlines() if not line.lstrip().startswith(">"))
    return plain(f"{ticket.subject}\n{own}\n{hint}")


def _asked(action: ActionClaim, text: str) -> bool:
    return action.asked is not None and re.search(action.asked, text, re.IGNORECASE) is not None


def correction(flags: Sequence[Flag]) -> str:
    """What the model is told, once, about its draft (spec H25)."""
    listed = "\n".join(f'- "{flag.sentence}" ({flag.why})' for flag in flags)
    return (
        "This reply was not sent. These sentences say what no result shows:\n"
        f"{listed}\n"
        "Either call the tool that does it, or write the reply again and leave out what no result shows. "
        "What was not done must not be promised."
    )
