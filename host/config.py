"""What the operator decides, as frozen data: the shapes of deskhand.toml's sections that concern the host.

`bot.settings` reads the file; this module refuses to know files and environment. Unknown keys are refused, so that a
misspelt rule can't be silently missing (spec H8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from host.types import Effect, Json, QuestionKind, RoleName

Decision = Literal["allow", "ask", "deny"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _regex(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


Regex = Annotated[str, BeforeValidator(_regex)]
#: How long a call, a run and a question may take. None is endless: "inf" in the file is refused, as is what is no time at all.
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Hours = Annotated[float, Field(gt=0, le=8_760, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000)]
Characters = Annotated[int, Field(ge=1, le=1_000_000)]


class ReadBack(Frozen):
    """How to find out whether a call ran (spec H13): ask `tool`, look for our key in the list named `items`.

    `arguments` values may be "$param.field": the field of the record that the call's argument came from (spec H9).
    An item whose `state_field` is in `settled` means that the call ran to its end; any other state means that it is still open
    at the server, and the same key may be sent again.
    """

    tool: str
    arguments: Mapping[str, str]
    items: str
    key_field: str = "idempotency_key"
    state_field: str = "status"
    settled: tuple[str, ...] = ()


class ToolConfig(Frozen):
    effect: Effect = "effect"
    idempotency_key: str | None = None
    read_back: ReadBack | None = None
    #: One line for the consent card; fields of the arguments' records in braces: "Refund {quote_id.amount} {quote_id.currency}".
    headline: str = ""
    #: Words added to it where a field is true: {"quote_id.needs_release": "over the limit: a lead has to release it"}.
    headline_notes: Mapping[str, str] = Field(default_factory=dict)
    may_edit: tuple[str, ...] = ()
    #: The money that a call moves, for limits and a day's total: a field of an argument's record, "quote_id.amount".
    amount: str = ""
    #: Over this amount, or when it can't be told, two different leads have to approve (spec H19).
    two_leads_over: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _an_amount_to_judge(self) -> ToolConfig:
        if self.two_leads_over is not None and not self.amount:
            raise ValueError('two_leads_over needs amount: name the field that holds it, such as "quote_id.amount"')
        return self


class OAuthConfig(Frozen):
    """Client credentials (spec H3). The secret comes from the environment variable `secret_env`; for "private_key_jwt" the key
    from the file `key_file`. An empty `token_url` is looked up in the server's own metadata, which has to lead to `issuer`: who
    gets the secret is the operator's word, never a server's."""

    client_id: str
    token_url: str = ""
    issuer: str = ""
    secret_env: str = ""
    scope: str = ""
    resource: str = ""
    method: Literal["client_secret_basic", "client_secret_post", "private_key_jwt"] = "client_secret_basic"
    key_file: str = ""

    @model_validator(mode="after")
    def _proves_itself(self) -> OAuthConfig:
        if not self.token_url and not self.issuer:
            raise ValueError("write token_url, or the issuer to whom the server's own metadata has to lead")
        if self.method == "private_key_jwt" and not self.key_file:
            raise ValueError("private_key_jwt needs key_file: the path of the private key")
        if self.method != "private_key_jwt" and not self.secret_env:
            raise ValueError("secret_env is missing: name the environment variable that holds the client's secret")
        return self


class ServerConfig(Frozen):
    """One server. Exactly one of `command` and `url`."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = Field(default_factory=dict)
    token_env: str = ""
    token_file: str = ""
    #: A JSON file {"staff-0007": "token", …}: one token per acting person (spec H3).
    staff_tokens_file: str = ""
    oauth: OAuthConfig | None = None
    trusted: bool = False
    #: The system of record: what customers' records are (spec H25).
    record: bool = False
    #: Its record survives a restart of its process (spec H13).
    durable: bool = False
    currency: str = ""
    timeout_seconds: Seconds = 10.0
    #: Keys of the call's _meta: {"ticket": "shop.example/ticket_id", "acting": "shop.example/acting"} (spec H10).
    meta: Mapping[Literal["ticket", "acting"], str] = Field(default_factory=dict)
    #: Resources attached to every prompt, besides those marked for the assistant at priority >= 0.8 (spec H23).
    resources: tuple[str, ...] = ()
    #: Whether the model may read this server's listed resources by itself, with desk.read_resource (spec H23).
    read_resources: bool = False
    tools: Mapping[str, ToolConfig] = Field(default_factory=dict)
    #: Who answers this server's input requests (spec B4).
    input_roles: tuple[RoleName, ...] = ("lead",)

    @model_validator(mode="after")
    def _one_way(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either command (stdio) or url (Streamable HTTP)")
        return self


class PolicyRule(Frozen):
    """`tool` may hold globs. The strictest matching rule wins; no rule means ask (spec H8)."""

    tool: str
    decision: Decision
    #: Conditions, all of which must hold: {"quote_id.amount": "> 150"}; left out means always.
    when: Mapping[str, str] = Field(default_factory=dict)
    why: str = ""


class GroundingRule(Frozen):
    """An identifier parameter (spec H9). `find` is searched in text and has one group; `normal` is the format of its value.

    `exact` must match a whole normalised value. A `handle` never reaches a customer (spec H26).
    """

    find: Regex
    normal: str = "{}"
    exact: Regex
    handle: bool = False


class LookupFirst(Frozen):
    """desk.reply is held back until a look-up ran, where `pattern` matches the ticket and `identifier` is grounded (spec M4)."""

    pattern: Regex
    identifier: str


class OnRecord(Frozen):
    """Where a result of a record server lists acts that were done before: the list's name, and the states that mean done."""

    items: str
    state_field: str = "status"
    states: tuple[str, ...]


class ActionClaim(Frozen):
    """Words that claim or promise an action, and the tools whose successful call supports it (spec H25)."""

    name: str
    words: Regex
    tools: tuple[str, ...]
    #: What was done before this ticket, as the system of record lists it; supports the past tense alone.
    on_record: OnRecord | None = None
    #: A ticket matching this asked for the action; without a successful call it ends as needs_person.
    asked: Regex | None = None


class ReviewConfig(Frozen):
    actions: tuple[ActionClaim, ...] = ()
    on_flag: Literal["refuse", "confirm"] = "refuse"


class Example(Frozen):
    """A worked example in the prompt, with fictional identifiers: a ticket and turns of (call, result)."""

    ticket: str
    turns: tuple[Mapping[str, Json], ...]


class PromptConfig(Frozen):
    business: str = ""
    rules: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    resource_max_chars: Characters = 4000
    #: How much of the model's context the tools may fill; over it the start is refused, or only said (spec H24).
    tools_share: float = Field(default=0.25, ge=0, le=1, allow_inf_nan=False)
    over_share: Literal["refuse", "say"] = "refuse"
    #: The day the model is told; left out means the clock's. Set where tickets of a fixed day are replayed (spec M7).
    today: date | None = None


class Templates(Frozen):
    """Per language: what stands around the model's words (spec H27). {name} is the customer's name."""

    greeting: str
    signature: str


class HoursConfig(Frozen):
    """When people work: a question's time runs only then (spec H20). Left out, it runs round the clock."""

    zone: str = "UTC"
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = ("mon", "tue", "wed", "thu", "fri")
    start: str = "09:00"
    end: str = "17:00"

    @model_validator(mode="after")
    def _a_day(self) -> HoursConfig:
        for name in (self.start, self.end):
            if not re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d|24:00", name):
                raise ValueError(f'{name!r} is no time of day: write it as "09:00"')
        if not self.days or self.start >= self.end:
            raise ValueError("the working day has no hours: give days, and a start before the end")
        if self.zone not in available_timezones():
            raise ValueError(f'{self.zone!r} is no time zone: write one such as "Europe/Berlin"')
        ZoneInfo(self.zone)  # read from disk now, and kept: nothing is read while people are served
        return self


class Limits(Frozen):
    """Spec H14, H22. `hours_for` sets other times than `question_hours` by kind of question: {"consent": 8}."""

    model_calls: Count = 4
    model_calls_after_answer: Count = 2
    tool_calls: Count = 8
    same_call: Count = 2
    input_rounds: Count = 10
    deadline_seconds: Seconds = 900.0
    question_hours: Hours = 24.0
    hours_for: Mapping[QuestionKind, Hours] = Field(default_factory=dict)
    result_max_chars: Characters = 6000
    workers: int = Field(default=1, ge=1, le=64)


class HostConfig(Frozen):
    servers: Mapping[str, ServerConfig]
    policy: tuple[PolicyRule, ...] = ()
    grounding: Mapping[str, GroundingRule] = Field(default_factory=dict)
    lookup_first: tuple[LookupFirst, ...] = ()
    review: ReviewConfig = ReviewConfig()
    prompt: PromptConfig = PromptConfig()
    templates: Mapping[str, Templates] = Field(default_factory=dict)
    limits: Limits = Limits()
    #: Nobody releases what they approved (spec H19).
    four_eyes: bool = True
    #: "manual": people start work; "on_arrival": each ticket is worked as it comes; "pilot": reads and drafts alone (spec H28).
    mode: Literal["manual", "on_arrival", "pilot"] = "manual"
    hours: HoursConfig | None = None

    @property
    def pilot(self) -> bool:
        return self.mode == "pilot"
