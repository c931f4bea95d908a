"""What the operator decides, as frozen data: the shapes of deskhand.toml's sections that concern the host.

`bot.settings` reads the file; this module refuses to know files and environment. Unknown keys are refused, so that a
misspelt rule can't be silently missing (spec H8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from host.types import Effect, Json, RoleName

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


class OAuthConfig(Frozen):
    """Client credentials (spec H3); the secret comes from an environment variable."""

    token_url: str
    client_id: str
    secret_env: str
    scope: str = ""


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
    timeout_seconds: float = 10.0
    #: Keys of the call's _meta: {"ticket": "shop.example/ticket_id", "acting": "shop.example/acting"} (spec H10).
    meta: Mapping[Literal["ticket", "acting"], str] = Field(default_factory=dict)
    #: Resources attached to every prompt, besides those marked for the assistant at priority >= 0.8 (spec H23).
    resources: tuple[str, ...] = ()
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
    resource_max_chars: int = 4000
    #: The day the model is told; left out means the clock's. Set where tickets of a fixed day are replayed (spec M7).
    today: date | None = None


class Templates(Frozen):
    """Per language: what stands around the model's words (spec H27). {name} is the customer's name."""

    greeting: str
    signature: str


class Limits(Frozen):
    """Spec H14, H22."""

    model_calls: int = 4
    model_calls_after_answer: int = 2
    tool_calls: int = 8
    same_call: int = 2
    input_rounds: int = 10
    deadline_seconds: float = 900.0
    question_hours: float = 24.0
    result_max_chars: int = 6000
    workers: int = 1


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
    pilot: bool = False
