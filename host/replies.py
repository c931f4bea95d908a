"""What a server said, in the host's own words: foreign errors and results, each mapped once, here (spec H4, H12).

Stands between `sessions`, which sends, and everyone who reads an answer. Refuses to know connections, policies and people.
Texts carry the server's configured prefix and never an argument's value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

import anyio
import httpx2
from mcp import MCPError, UrlElicitationRequiredError, types
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
)
from pydantic import ValidationError

from host.errors import Answered, BadResult, Gone, ServerError, StateRefused, TimedOut, Unavailable
from host.schemas import first_problem
from host.types import Finished, Json, NeedsInput, ServerReply

MAX_TEXT = 200_000
MAX_WORDS = 500
#: The most bytes of one message that are ever kept: it is bounded before it is parsed.
MAX_MESSAGE = 4 * 1024 * 1024
TOO_LONG = f"answered with more than {MAX_MESSAGE // 1024 // 1024} MiB"
#: A result's parts are validated one by one: it is not done for more of them than anybody reads.
MAX_BLOCKS = 1_000
TOO_MANY = f"answered with more than {MAX_BLOCKS:,} parts"
GARBLED = "answered with a message that can't be read"

#: Everything that the SDK, its HTTP client and the operating system may raise at a request. Cancellation is not in it.
FOREIGN: tuple[type[Exception], ...] = (
    MCPError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    TimeoutError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    ExceptionGroup,
)
_NEVER_REACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL)
#: HTTP answers of a door-keeper in front of the server: the call did not run.
_TURNED_AWAY = {
    401: "check its token",
    403: "check its token",
    404: "check its url",
    429: "it has too many requests; wait a little",
}
#: Texts that the SDK's transport makes itself when an answer can't be used.
_MADE_BY_TRANSPORT = ("Unexpected content type", "server answered a request with 202", "Failed to parse", "SSE stream failed")
#: What the tap, the bounded HTTP body and the SDK's event stream say of a message that was too long.
_TOO_LONG_TEXTS = (TOO_LONG, f"exceeded the {MAX_MESSAGE} byte limit")


#: The method of a mark that follows no request: the connection itself is being made.
CONNECT = "connect"


@dataclass(slots=True)
class Mark:
    """Follows one request through the SDK: whether it was handed to the transport, with which token, and the HTTP status that
    came back; whether an error came over the wire; how often progress was reported; whether messages came meanwhile that could
    not be read; and whether the same request once more would be in vain, or one too many: a person has been asked in it."""

    method: str
    sent: bool = False
    status: int | None = None
    token: str = field(default="", repr=False)
    noise: bool = False
    settled: bool = False
    progress: int = 0
    answered: bool = False

    @property
    def once_more(self) -> bool:
        return not self.settled and self.status not in _TURNED_AWAY


MARK: ContextVar[Mark | None] = ContextVar("deskhand_mark", default=None)


class Unreadable(Exception):
    """A message that was not, or could not be, read. `request_id`: what it seems to answer; None when that can't be told."""

    def __init__(self, words: str, request_id: int | None) -> None:
        super().__init__(words)
        self.request_id = request_id

    @property
    def too_long(self) -> bool:
        return str(self) == TOO_LONG


class BodyRefused(httpx2.StreamError):
    """An HTTP body that was not read, or not to its end. Its text says why."""


def leaves(error: BaseException) -> Iterable[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def root(error: BaseException) -> BaseException:
    """The error that tells most: an HTTP error stands behind the SDK's "Connection closed" of the same moment."""
    found = list(leaves(error))
    for kind in (httpx2.HTTPError, MCPError, OSError):
        for leaf in found:
            if isinstance(leaf, kind):
                return leaf
    return found[0] if found else error


def mapped(error: BaseException, *, prefix: str, mark: Mark, state_given: bool = False) -> ServerError:
    """The one place where a foreign error becomes ours (spec H4): what is known decides, never a guess in the call's favour."""
    cause = root(error)
    if isinstance(cause, ServerError):
        return cause
    if isinstance(cause, MCPError):
        return _answered(cause, prefix, mark, state_given)
    if isinstance(cause, BodyRefused):
        return BadResult(f"{prefix} {cause}; nothing of it was read")
    if isinstance(cause, _NEVER_REACHED) and mark.status is None:
        return Unavailable(f"{prefix} can't be reached ({type(cause).__name__}); check that it runs and its url")
    if not mark.sent:
        words = f"{prefix} can't be started" if mark.method == CONNECT else f"nothing was sent to {prefix}"
        return Unavailable(f"{words} ({type(cause).__name__}); {_advice(cause)}")
    if isinstance(cause, TimeoutError | httpx2.TimeoutException):
        return _timed_out(prefix, mark)
    if isinstance(cause, ValueError | RuntimeError | TypeError | LookupError | AttributeError | AssertionError):
        return BadResult(f"{prefix} answered with something that can't be read ({type(cause).__name__})")
    return Gone(f"the connection to {prefix} was lost during the call ({type(cause).__name__})")


def _timed_out(prefix: str, mark: Mark) -> TimedOut:
    words = f"{prefix} gave no answer in time"
    if mark.progress:
        words += f"; it reported progress ({mark.progress} times) and may still be at work"
    return TimedOut(words + ("; what it sent could not be read" if mark.noise else ""))


def _answered(cause: MCPError, prefix: str, mark: Mark, state_given: bool) -> ServerError:
    match cause.code:
        case code if code in (PARSE_ERROR, CONNECTION_CLOSED) and any(text in cause.message for text in _TOO_LONG_TEXTS):
            return BadResult(f"{prefix} {TOO_LONG}; nothing of it was read")
        case code if code == PARSE_ERROR and cause.message == TOO_MANY:
            return BadResult(f"{prefix} {TOO_MANY}; nothing of it was read")
        case _ if cause.message.startswith(_MADE_BY_TRANSPORT) or cause.code == PARSE_ERROR:
            return BadResult(f"{prefix} answered with something that can't be read (code {cause.code})")
        case _ if mark.status is not None and mark.status >= 300 and cause.message in _STATUS_TEXTS:
            return _refused_by_http(prefix, mark.status)
        case code if code in (CONNECTION_CLOSED, REQUEST_TIMEOUT) and _own_answer(cause, mark):
            return Answered(f"{prefix} answered with error {code}: {cause.message[:MAX_WORDS]}")
        case code if code == CONNECTION_CLOSED and mark.method == CONNECT:
            return Unavailable(f"{prefix} ended before it answered; run its command by hand to see why")
        case code if code == CONNECTION_CLOSED:
            words = f"the connection to {prefix} was lost"
            return Gone(f"{words} during the call") if mark.sent else Unavailable(f"{words} before the call was sent")
        case code if code == REQUEST_TIMEOUT:
            return _timed_out(prefix, mark)
        case code if code == UNSUPPORTED_PROTOCOL_VERSION:
            return Unavailable(f"{prefix} no longer speaks the protocol version it spoke; it is asked anew")
        case code if code == INVALID_PARAMS and (state_given or _reason(cause) == "invalid_request_state"):
            return StateRefused(f"{prefix} refused or no longer knows the state of this call: it did not run")
        case code if code == INTERNAL_ERROR and mark.sent:  # it broke off somewhere: nobody knows how far it had come
            return BadResult(f"{prefix} failed while it worked on the call: {cause.message[:MAX_WORDS]}")
        case _:
            return Answered(f"{prefix} answered with error {cause.code}: {cause.message[:MAX_WORDS]}")


def _own_answer(cause: MCPError, mark: Mark) -> bool:
    """The codes that the SDK makes itself of a lost connection and of a timeout are servers' too: it is theirs when it came over
    the wire, and isn't the HTTP transport's word for an answer that never came."""
    return mark.answered and not cause.message.startswith(_NEVER_CAME)


_NEVER_CAME = "SSE stream "
_STATUS_TEXTS = ("Server returned an error response", "Not Found", "Session terminated")


def _refused_by_http(prefix: str, status: int) -> ServerError:
    if status >= 500 or status == 408:
        return Gone(f"{prefix} answered with HTTP {status}")
    if status == 413:
        return Answered(f"the call is too large for {prefix} (HTTP 413)")
    return Unavailable(f"{prefix} turned the call away (HTTP {status}); {_TURNED_AWAY.get(status, 'check its url')}")


def _reason(cause: MCPError) -> Json:
    return cause.data.get("reason") if isinstance(cause.data, dict) else None


def _advice(cause: BaseException) -> str:
    match cause:
        case FileNotFoundError():
            named = f" {cause.filename!r}" if cause.filename else ""
            return f"its command{named} was not found; check the first word of its command"
        case PermissionError():
            return "its command may not be run; check its file's permissions"
        case TimeoutError():
            return "it took too long to get ready"
        case _:
            return "check its command or url"


ANSWER = types.CallToolResult | types.InputRequiredResult


def reply_of(result: ANSWER, *, prefix: str, output_schema: Mapping[str, Json] | None) -> ServerReply:
    """A server's answer as ours. `isError` beats `structuredContent`, whatever the latter says (spec H12).

    Raises BadResult for a text over 200,000 characters, for content that is no JSON, and for what breaks the tool's own output
    schema.
    """
    if isinstance(result, types.InputRequiredResult):
        return NeedsInput(pending=result.model_dump(mode="json", by_alias=True, exclude_none=True))
    text = "\n".join(words for block in result.content if (words := block_text(block)))
    size = len(text) + (_size(result.structured_content, prefix) if result.structured_content is not None else 0)
    if size > MAX_TEXT:
        raise BadResult(f"{prefix} answered with {size:,} characters; at most {MAX_TEXT:,} are read")
    if result.is_error:
        return Finished(text=text, data=None, is_error=True)
    if output_schema is not None:
        _check(result, prefix, output_schema)
    return Finished(text=text, data=result.structured_content, is_error=False)


def _size(data: Json, prefix: str) -> int:
    try:
        return len(json.dumps(data, allow_nan=False))
    except (ValueError, RecursionError):
        raise BadResult(f"{prefix} answered with a number or a depth that no JSON has") from None


def url_consent(error: MCPError) -> NeedsInput | None:
    """-32042 of a 2025-11-25 server: addresses to be opened before the call can run, in the shape of an input request. `retry`
    says that the call did not run and is sent anew, without answers. None when it is another error, or holds no addresses."""
    if error.code != URL_ELICITATION_REQUIRED:
        return None
    try:
        asked = UrlElicitationRequiredError.from_error(error.error).elicitations
    except (ValidationError, TypeError, AttributeError):
        return None
    requests = {
        f"url-{number}": {
            "method": "elicitation/create",
            "params": params.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        for number, params in enumerate(asked, 1)
    }
    return NeedsInput(pending={"inputRequests": requests, "retry": True}) if requests else None


def block_text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ResourceLink():
            return f"[a link to {block.uri}, not opened]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as inner):
            return inner.text
        case _:
            return f"[{block.type}: not shown]"


def _check(result: types.CallToolResult, prefix: str, schema: Mapping[str, Json]) -> None:
    if result.structured_content is None:
        raise BadResult(f"{prefix} promised structured content and sent none")
    if why := first_problem(result.structured_content, dict(schema)):
        raise BadResult(f"{prefix} answered with content that breaks its own output schema: {why}")


def outside_reference(schema: Json) -> str:
    """The first `$ref` that leaves its document, else empty."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
                return value
            if found := outside_reference(value):
                return found
    elif isinstance(schema, list):
        for value in schema:
            if found := outside_reference(value):
                return found
    return ""
