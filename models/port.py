"""The one port to a language model (spec M1): messages and tools in, a reply out.

Everything here is frozen data without behaviour, so that a request can be digested, recorded and replayed.
This module refuses to know how a reply is made; `llama`, `remote`, `recorded` and `scripted` stand behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the prompt shows it: stable bytes within a run (spec H24)."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool the model may name in *this* reply, with its schema narrowed to grounded values (spec M4).

    `schema` is an ordinary JSON Schema; an identifier argument carries `enum` with the values it may hold.
    """

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as the model wrote it. `arguments` is None when the arguments could not be read."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `content` is plain text: no template token can come out of it, whatever it contains.

    `calls` belongs to an assistant turn that called tools. A `tool` turn's content is one result; neighbouring `tool`
    turns are rendered as the template wants them.
    """

    role: Role
    content: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """Greedy by default (spec M1)."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 512


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `tools` are what the prompt lists, `offers` what the grammar admits now."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    offers: tuple[Offer, ...]
    sampling: Sampling = Sampling()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one call; `seconds` is wall time from request to reply.

    `prompt_tokens` were in the prompt, `evaluated_tokens` of them had to be evaluated (the rest came from the kept prefix),
    `sampled_tokens` were chosen, `forced_tokens` were dictated by the grammar.
    """

    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. `raw` is every character the model wrote; `text` is prose outside any call.

    When the reply cannot be read strictly (spec H8, M4), `unreadable` says why in words and `calls` is empty.
    """

    raw: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    unreadable: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a run's figures say about the model (spec H29): `file` is a name, never a path."""

    name: str
    file: str = ""
    sha256: str = ""
    kind: Literal["llama", "remote", "recorded", "scripted"] = "scripted"


class Model(Protocol):
    """Anything that answers a `Request`. Raises `models.errors.ModelError` subclasses, and nothing else."""

    @property
    def info(self) -> ModelInfo: ...

    async def reply(self, request: Request) -> Reply:
        """Answer once. Cancelling the awaiting task stops the work within a second (spec M6)."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
