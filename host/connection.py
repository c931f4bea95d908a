"""Everything that is asked of one server: calls, listings, resources; each bounded, each failure in our words (spec H4, H12).

Stands between `sessions` (all servers) and `link`, which owns the connection. Refuses to know other servers, pins, policies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from mcp import Client, MCPError, types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from host.config import ServerConfig
from host.errors import BadResult, Gone, ServerError, Unavailable
from host.link import CONNECT_SECONDS, Link
from host.listings import offered, resources
from host.midcall import AskDuring, Inbox, Patience
from host.probes import DiscoverMemory
from host.replies import ANSWER, FOREIGN, MARK, MAX_TEXT, Mark, mapped, reply_of, url_consent
from host.tap import Tap
from host.types import SERVICE, ListedResource, ListedTool, NeedsInput, ServerReply

#: The SDK's own clock of a call: ours is shorter, and stands still while a person is asked.
NEVER = 10.0**9
T = TypeVar("T")
_ANSWER: TypeAdapter[ANSWER] = TypeAdapter(ANSWER)


class Connection:
    """What is asked over one link. Every method raises ServerError alone, unless it says otherwise."""

    def __init__(self, prefix: str, config: ServerConfig, memory: DiscoverMemory) -> None:
        self.prefix, self.config = prefix, config
        self.link = Link(prefix, config, memory)

    async def call(
        self,
        parameters: types.CallToolRequestParams,
        subject: str,
        timeout: float,
        ask: AskDuring | None = None,
        retry: bool = False,
    ) -> ServerReply:
        """`retry` sends a read once more after a lost connection (spec H4), unless it can't help or a person was asked in it.

        What can't be sent a second time was sent the first time all the same, where it was: that error stands.
        """
        mark = Mark("tools/call")
        try:
            return await self._asking(parameters, subject, timeout, ask, mark)
        except (Gone, Unavailable) as error:
            if not retry or not mark.once_more:
                raise
            first = error
        try:
            return await self._asking(parameters, subject, timeout, ask, Mark("tools/call"))
        except Unavailable:
            if isinstance(first, Gone):
                raise first from None
            raise

    async def _asking(
        self,
        parameters: types.CallToolRequestParams,
        subject: str,
        timeout: float,
        ask: AskDuring | None,
        mark: Mark,
    ) -> ServerReply:
        """`ask` runs in the caller's task group, and never outlives the call. What it raises ends the call and leaves here."""
        patience = Patience(timeout)
        if ask is None:
            return await self._call(parameters, subject, patience, None, mark)
        try:
            with Inbox(ask, patience) as inbox:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(inbox.serve)
                    try:
                        reply = await self._call(parameters, subject, patience, inbox, mark)
                    finally:
                        mark.settled |= bool(inbox.asked)
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise _most_telling(group) from None
        return reply

    async def _call(
        self, parameters: types.CallToolRequestParams, subject: str, patience: Patience, inbox: Inbox | None, mark: Mark
    ) -> ServerReply:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001  the SDK's names
            mark.progress += 1  # that it lives is all that is heeded: the words are a server's

        async def send(client: Client, _tap: Tap) -> ANSWER | NeedsInput:
            if self.link.offer.mirrors_headers and self.config.url:
                await client.list_tools()  # through the cache: a fresh client learns Mcp-Param headers from a listing alone
            try:
                request = types.CallToolRequest(params=parameters)
                return await client.session.send_request(request, _ANSWER, NEVER, progress_callback=progressed)
            except MCPError as error:
                asked = url_consent(error) if client.protocol_version not in MODERN_PROTOCOL_VERSIONS else None
                if asked is None:
                    raise
                return asked

        result = await self._ask(send, mark, patience, subject, parameters.request_state is not None, inbox)
        if isinstance(result, NeedsInput):
            return result
        return reply_of(result, prefix=self.prefix, output_schema=self.link.offer.output_schemas.get(parameters.name))

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """The listing made while connecting is handed out once, if nothing changed since: what is met is what is pinned."""
        if (met := self.link.first_listing()) is not None:
            return met
        return await self._listed(CONNECT_SECONDS)

    async def list_anew(self) -> tuple[ListedTool, ...]:
        """Asked on the wire, whatever is remembered or cached, and no longer than a call may take."""
        return await self._listed(self.config.timeout_seconds)

    async def _listed(self, seconds: float) -> tuple[ListedTool, ...]:
        offer = self.link.offer = await self._ask(offered, Mark("tools/list"), Patience(seconds))
        return offer.tools

    async def list_resources(self) -> tuple[ListedResource, ...]:
        return await self._ask(resources, Mark("resources/list"), Patience(CONNECT_SECONDS))

    async def read_resource(self, uri: str) -> str:
        async def read(client: Client, _tap: Tap) -> types.ReadResourceResult:
            return await client.read_resource(uri)

        result = await self._ask(read, Mark("resources/read"), Patience(self.config.timeout_seconds))
        texts = [content.text for content in result.contents if isinstance(content, types.TextResourceContents)]
        if not texts or sum(map(len, texts)) > MAX_TEXT:
            raise BadResult(f"{self.prefix}: {uri} holds no text, or more than {MAX_TEXT:,} characters")
        return "\n".join(texts)

    async def _ask(
        self,
        send: Callable[[Client, Tap], Awaitable[T]],
        mark: Mark,
        patience: Patience,
        subject: str = SERVICE.subject,
        state_given: bool = False,
        inbox: Inbox | None = None,
    ) -> T:
        """One request. After a 401 it is sent once more where a fresh token can be had: the door-keeper's, it did not run."""
        try:
            return await self._once(send, mark, patience, subject, state_given, inbox)
        except Unavailable:
            if mark.status != 401 or not self.link.renewed_token(mark.token):
                raise
        mark.sent, mark.status = False, None
        return await self._once(send, mark, patience, subject, state_given, inbox)

    async def _once(
        self,
        send: Callable[[Client, Tap], Awaitable[T]],
        mark: Mark,
        patience: Patience,
        subject: str,
        state_given: bool,
        inbox: Inbox | None,
    ) -> T:
        """Bounded as a whole: the SDK's own clock starts only after the write. Raises ServerError alone."""
        got: list[T] = []
        tap: Tap | None = None
        token = MARK.set(mark)
        try:
            with patience.running():
                async with self.link.using(subject, mark, patience, inbox) as (client, tap):
                    before = tap.unreadable
                    try:
                        got.append(await send(client, tap))
                    finally:
                        mark.noise = tap.unreadable > before
        except FOREIGN as error:
            if not got:  # with an answer in hand, a connection that closes badly is no matter
                failed = mapped(error, prefix=self.prefix, mark=mark, state_given=state_given)
                await self.link.heed(failed, error, mark)
                raise failed from None
        finally:
            MARK.reset(token)
        if not got:
            raise Gone(f"the connection to {self.prefix} was lost during the call")
        return got[0]


def _most_telling(group: ExceptionGroup[Exception]) -> Exception:
    """What the caller's own `ask` raised comes before what became of the call for it."""
    found: list[Exception] = []
    for error in group.exceptions:
        found.append(_most_telling(error) if isinstance(error, ExceptionGroup) else error)
    return next((error for error in found if not isinstance(error, ServerError)), found[0])
