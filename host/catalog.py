"""Names, pins and what is offered: the host's own map from a name to a server's tool (spec H5-H7, H23).

Stands between `sessions`, which lists, and everyone who names a tool. Refuses to know calls, policies and people; a person's
word reaches it as `accept`. A listing changes nothing by itself: only through the pins, and only in `refresh`, between tickets.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from host.config import ServerConfig, ToolConfig
from host.errors import ConfigError, NotFound, ServerError
from host.lint import lint
from host.prompt import READ_RESOURCE, resource_tool
from host.schemas import schema_problem
from host.sessions import Sessions
from host.types import DEFINITION, Attached, Json, ListedTool, Pin, Tool

log = logging.getLogger(__name__)

RESERVED = "desk"
MAX_NAME = 64
MIN_PRIORITY = 0.8
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,30}")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
NOT_CONNECTED = "its server is not connected"
UNSEEN = "its definition can't be looked at"
NEW = "new since its server was first connected"


class PinStore(Protocol):
    """Pinned definitions by server prefix and remote tool name. Implemented by `host.store`."""

    async def load_pins(self, server: str) -> Mapping[str, Pin]: ...

    async def save_pins(self, server: str, made: Mapping[str, Pin]) -> None:
        """By tool; all of them or none."""
        ...


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool that waits for a person (spec H7). `before` is the accepted definition, empty when there never was one."""

    name: str
    server: str
    remote_name: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    digest: str
    why: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool with what its server says now and what was pinned. `pending`: a person can turn it on."""

    tool: Tool
    definition: Mapping[str, Json]
    pin: Pin | None
    pending: bool = False


class Catalog:
    """What every server offers and what of it is usable. Raises ConfigError for prefixes that can't be told apart."""

    def __init__(self, sessions: Sessions, pins: PinStore, servers: Mapping[str, ServerConfig]) -> None:
        check_prefixes(servers)
        self._sessions, self._pins, self._servers = sessions, pins, servers
        self._entries: dict[str, tuple[Entry, ...]] = dict.fromkeys(servers, ())
        self._by_name: dict[str, Entry] = {}
        self._attached: dict[str, tuple[Attached, ...]] = {}
        self._listed: dict[str, str] = {}  # every listed resource's address → its server
        self._seen: dict[str, int] = {}
        self._checked: dict[str, int] = {}

    async def refresh(self) -> tuple[str, ...]:
        """Lists every server, applies the pins, reads the attached resources; returns what to say about each (spec H5)."""
        return await self._refresh(tuple(self._servers))

    async def refresh_changed(self) -> tuple[str, ...]:
        """The same for servers that (re)connected or noted a change since; for between two tickets (spec H7). One that is not
        connected is looked at when it is: nobody waits for it here."""
        there = [prefix for prefix in self._servers if self._sessions.connected(prefix)]
        return await self._refresh([prefix for prefix in there if self._sessions.changes(prefix) != self._seen.get(prefix)])

    def tools(self) -> tuple[Tool, ...]:
        """All, off ones included: servers in the configuration's order, tools in the server's; then the desk's own."""
        return (*(entry.tool for entries in self._entries.values() for entry in entries), *self._reading())

    def find(self, name: str) -> Tool | None:
        """By offered name, or by the prefixed name that an alias stands for. Nothing is guessed (spec H6)."""
        if name == READ_RESOURCE:
            return next(iter(self._reading()), None)
        entry = self._by_name.get(name)
        return entry.tool if entry else None

    def _reading(self) -> tuple[Tool, ...]:
        uris = [uri for uri, server in self._listed.items() if self._servers[server].read_resources]
        return (resource_tool(uris),) if uris else ()

    def listed_resources(self) -> Mapping[str, str]:
        """Every resource that a server listed: its address and its server's prefix (spec H23)."""
        return dict(self._listed)

    def server_of(self, uri: str) -> str:
        """The server that lists a resource. Raises NotFound, with those there are."""
        if uri not in self._listed:
            raise NotFound(f"no server lists {uri!r}; there are: {', '.join(sorted(self._listed)) or 'none'}")
        return self._listed[uri]

    async def read_listed(self, uris: Sequence[str]) -> tuple[Attached, ...]:
        """Resources that a person added for one ticket, read now. Raises NotFound or ServerError in words."""
        found = []
        for uri in uris:
            server = self.server_of(uri)
            found.append(Attached(uri=uri, server=server, text=await self._sessions.read_resource(server, uri)))
        return tuple(found)

    async def why_not_pinned(self, tool: Tool) -> str:
        """The last look before a call: why this very definition may not be called now; empty when it may (spec H8).

        From memory, unless the server reconnected or noted a change since: then it is listed once more. Before an effect always,
        but for a trusted server that promises to tell of changes: a stranger may break that promise. In doubt it may not.
        """
        entry = self._by_name.get(tool.name)
        if entry is None or entry.tool.off or entry.tool.digest != tool.digest:
            return entry.tool.off if entry is not None and entry.tool.off else _changed_words(tool)
        now = self._sessions.changes(tool.server)
        told = tool.effect == "read" or (self._servers[tool.server].trusted and self._sessions.tells_changes(tool.server))
        if told and now in (self._seen.get(tool.server), self._checked.get(tool.name)):
            return ""
        try:
            listed = await self._sessions.list_anew(tool.server)
        except ServerError as error:
            return f"{UNSEEN} ({error}); nothing was sent"
        same = [one for one in listed if one.name == tool.remote_name]
        if len(same) != 1 or same[0].dropped or digest_of(same[0].definition) != tool.digest:
            return _changed_words(tool)
        self._checked[tool.name] = now
        return ""

    def attached(self) -> tuple[Attached, ...]:
        """Resources for every prompt, as read at the last refresh; size is the prompt's care (spec H23)."""
        return tuple(attached for prefix in self._servers for attached in self._attached.get(prefix, ()))

    def pending_changes(self) -> tuple[ChangedTool, ...]:
        """Tools that a person could turn on, for the card that shows both definitions (spec H7)."""
        return tuple(_changed(entry) for entries in self._entries.values() for entry in entries if entry.pending)

    async def accept(self, tool_name: str, digest: str | None = None) -> None:
        """A person accepted the definition as last listed. `digest`, when given, is that of the definition they were shown.

        Raises NotFound for a name that waits for nobody, and when the definition changed again since it was shown.
        """
        entry = self._by_name.get(tool_name)
        if entry is None or not entry.pending:
            raise NotFound(f"{tool_name} waits for nobody's word; nothing was accepted")
        if digest is not None and digest != entry.tool.digest:
            raise NotFound(f"{tool_name} changed again after it was shown; look at it once more")
        pin = Pin(digest=entry.tool.digest, definition=entry.definition, accepted=True, why="")
        await self._pins.save_pins(entry.tool.server, {entry.tool.remote_name: pin})
        accepted = Entry(replace(entry.tool, off=""), entry.definition, pin)
        old = self._entries[entry.tool.server]
        self._entries[entry.tool.server] = tuple(accepted if one is entry else one for one in old)
        self._index()

    # Listing

    async def _refresh(self, prefixes: Iterable[str]) -> tuple[str, ...]:
        listings: dict[str, tuple[ListedTool, ...]] = {}
        lines: list[str] = []
        for prefix in prefixes:
            changes = self._sessions.changes(prefix)
            try:
                listings[prefix] = await self._sessions.list_tools(prefix)
                self._seen[prefix] = changes
            except ServerError as error:
                await self._keep_without(prefix)
                lines.append(f"{prefix}: not connected: {error}")
        for prefix, listing in listings.items():
            self._entries[prefix] = await self._pinned(prefix, listing, listings)
            lines += self._report(prefix)
            lines += await self._attach(prefix)
        self._index()
        for line in lines:
            log.info("%s", line)
        return tuple(lines)

    async def _keep_without(self, prefix: str) -> None:
        """A server that is away keeps what was known of it; at a start that is its pins, as tools that are off."""
        if not self._entries[prefix]:
            pins = await self._pins.load_pins(prefix)
            self._entries[prefix] = tuple(
                Entry(self._tool(prefix, name, pin.definition, NOT_CONNECTED), pin.definition, pin) for name, pin in pins.items()
            )

    async def _pinned(
        self, prefix: str, listing: tuple[ListedTool, ...], listings: Mapping[str, tuple[ListedTool, ...]]
    ) -> tuple[Entry, ...]:
        pins = await self._pins.load_pins(prefix)
        times = Counter(listed.name for listed in listing)
        others = self._names_elsewhere(prefix, {listed.name for listed in listing}, listings)
        found: dict[str, Entry] = {}
        for listed in listing:
            if times[listed.name] > 1:
                off = "its server offers two tools of this name"
                found[listed.name] = Entry(self._tool(prefix, listed.name, listed.definition, off), listed.definition, None)
            elif listed.dropped:
                found[listed.name] = Entry(self._tool(prefix, listed.name, listed.definition, listed.dropped), {}, None)
            else:
                found[listed.name] = self._entry(prefix, listed, pins, others)
        made = {name: entry.pin for name, entry in found.items() if entry.pin is not None and name not in pins}
        if made:
            await self._pins.save_pins(prefix, made)
        for name, pin in pins.items():
            if name not in found:
                off = "its server no longer offers it"
                found[name] = Entry(self._tool(prefix, name, pin.definition, off), pin.definition, pin)
        return tuple(found.values())

    def _entry(self, prefix: str, listed: ListedTool, pins: Mapping[str, Pin], others: frozenset[str]) -> Entry:
        """One tool through its pin. A first connection pins what it sees; after that only a person does."""
        digest, pin = digest_of(listed.definition), pins.get(listed.name)
        if pin is None:
            findings = lint(listed.definition, others, [other for other in self._servers if other != prefix])
            reasons = [NEW] if pins else []
            reasons += ["lint: " + "; ".join(findings)] if findings else []
            pin = Pin(digest=digest, definition=listed.definition, accepted=not reasons, why="; ".join(reasons))
        if pin.digest != digest:
            parts = [key for key in DEFINITION if pin.definition.get(key) != listed.definition.get(key)]
            off = f"pin_mismatch: its {', '.join(parts) or 'definition'} changed since it was pinned"
        else:
            off = "" if pin.accepted else pin.why or "not accepted yet"
        unusable = _unusable(listed.definition, self._config(prefix, listed.name))
        tool = self._tool(prefix, listed.name, listed.definition, unusable or off)
        return Entry(tool, listed.definition, pin, pending=bool(off) and not unusable)

    def _tool(self, prefix: str, remote_name: str, definition: Mapping[str, Json], off: str) -> Tool:
        config = self._config(prefix, remote_name)
        notes = definition.get("annotations") or {}
        schema = definition.get("inputSchema") or {"type": "object", "properties": {}}
        return Tool(
            name=offered_name(prefix, remote_name),
            server=prefix,
            remote_name=remote_name,
            description=definition.get("description", ""),
            schema=without_parameter(schema, config.idempotency_key),
            full_schema=schema,
            digest=digest_of(definition),
            effect=config.effect,
            output_schema=definition.get("outputSchema"),
            title=definition.get("title") or notes.get("title") or "",
            read_only_hint=notes.get("readOnlyHint"),
            off=off,
            idempotency_param=config.idempotency_key,
        )

    def _config(self, prefix: str, remote_name: str) -> ToolConfig:
        return self._servers[prefix].tools.get(remote_name, ToolConfig())

    def _names_elsewhere(self, prefix: str, own: set[str], listings: Mapping[str, tuple[ListedTool, ...]]) -> frozenset[str]:
        """Other servers' tool names; a name that this server has too is its own when it says it."""
        listed = {one.name for other, listing in listings.items() if other != prefix for one in listing}
        known = {entry.tool.remote_name for other, entries in self._entries.items() if other != prefix for entry in entries}
        configured = {name for other, server in self._servers.items() if other != prefix for name in server.tools}
        return frozenset((listed | known | configured) - own)

    def _index(self) -> None:
        self._by_name = {}
        for prefix, entries in self._entries.items():
            for entry in entries:
                self._by_name.setdefault(f"{prefix}.{entry.tool.remote_name}", entry)
        for entries in self._entries.values():
            for entry in entries:
                self._by_name[entry.tool.name] = entry

    # Saying

    def _report(self, prefix: str) -> Iterator[str]:
        entries = self._entries[prefix]
        usable = sum(not entry.tool.off for entry in entries)
        yield f"{prefix}: {len(entries)} {'tool' if len(entries) == 1 else 'tools'}, {usable} usable"
        for entry in entries:
            if entry.tool.off:
                yield f"{prefix}: {entry.tool.name} is off: {entry.tool.off}"
        there = {entry.tool.remote_name for entry in entries}
        for name in self._servers[prefix].tools:
            if name not in there:
                offered = ", ".join(sorted(there)) or "nothing"
                yield f"{prefix}: {name} is configured but not offered; it offers {offered}"

    # Resources

    async def _attach(self, prefix: str) -> list[str]:
        """Reads what is attached. One that can't be read is left out, in words."""
        found: list[Attached] = []
        lines: list[str] = []
        try:
            for uri in await self._wanted(prefix):
                try:
                    text = await self._sessions.read_resource(prefix, uri)
                    found.append(Attached(uri=uri, server=prefix, text=text))
                except ServerError as error:
                    lines.append(f"{prefix}: {uri} is not attached: {error}")
        except ServerError as error:
            lines.append(f"{prefix}: its resources can't be listed: {error}")
        self._attached[prefix] = tuple(found)
        return lines

    async def _wanted(self, prefix: str) -> tuple[str, ...]:
        config = self._servers[prefix]
        wanted = dict.fromkeys(config.resources)
        listed = await self._sessions.list_resources(prefix)
        self._listed = {uri: server for uri, server in self._listed.items() if server != prefix}
        for resource in listed:  # an address that two servers list is the first one's, and a trusted one's before a stranger's
            holder = self._listed.get(resource.uri)
            if holder is None or (config.trusted and not self._servers[holder].trusted):
                self._listed[resource.uri] = prefix
        for resource in listed if config.trusted else ():
            if "assistant" in resource.audience and (resource.priority or 0.0) >= MIN_PRIORITY:
                wanted[resource.uri] = None
        return tuple(wanted)


def check_prefixes(prefixes: Iterable[str]) -> None:
    """Raises ConfigError for a prefix that is ours, can't stand in a tool's name, or can't be told from another (spec H6)."""
    seen: dict[str, str] = {}
    for prefix in prefixes:
        if prefix.lower() in seen:
            raise ConfigError(f"servers.{prefix}: clashes with servers.{seen[prefix.lower()]}; rename one of them")
        seen[prefix.lower()] = prefix
        if prefix.lower() == RESERVED:
            raise ConfigError(f"servers.{prefix}: the prefix {RESERVED!r} is Deskhand's own; choose another")
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError(f"servers.{prefix}: a prefix is a to z, then up to 30 of a to z, 0 to 9 and _; rename it")


def digest_of(definition: Mapping[str, Json]) -> str:
    """Over the six pinned fields alone, in canonical JSON (spec H7)."""
    pinned = {key: definition[key] for key in DEFINITION if key in definition}
    return hashlib.sha256(json.dumps(pinned, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def offered_name(prefix: str, remote_name: str) -> str:
    """`prefix.remote_name`, or a short alias that stays the same, where that name is too long or holds other characters."""
    full = f"{prefix}.{remote_name}"
    if len(full) <= MAX_NAME and _NAME.fullmatch(full):
        return full
    plain = unicodedata.normalize("NFKD", remote_name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")[: MAX_NAME - len(prefix) - 10]
    return f"{prefix}.{stem or 'tool'}_{hashlib.sha256(full.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def without_parameter(schema: Mapping[str, Json], parameter: str | None) -> Mapping[str, Json]:
    """The schema as the model sees it: a parameter that the host fills is taken out (spec H13)."""
    if parameter is None or parameter not in schema.get("properties", {}):
        return schema
    properties = {key: value for key, value in schema["properties"].items() if key != parameter}
    required = [key for key in schema.get("required", []) if key != parameter]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def _changed_words(tool: Tool) -> str:
    return f"pin_mismatch: the definition of {tool.name} changed; an admin has to accept it first"


def _unusable(definition: Mapping[str, Json], config: ToolConfig) -> str:
    """What no person's word can mend: schemas that can't check anything, a host-filled parameter that isn't there."""
    for key in ("inputSchema", "outputSchema"):
        schema = definition.get(key)
        if schema is not None and (why := schema_problem(schema)):
            return f"its {key} can't be used: {why}"
    if config.idempotency_key and config.idempotency_key not in definition["inputSchema"].get("properties", {}):
        return f"its configured idempotency_key {config.idempotency_key!r} is not one of its parameters"
    return ""


def _changed(entry: Entry) -> ChangedTool:
    pin, tool = entry.pin, entry.tool
    before = pin.definition if pin is not None and pin.accepted else {}
    return ChangedTool(tool.name, tool.server, tool.remote_name, before, entry.definition, tool.digest, tool.off)
