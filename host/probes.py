"""What a probe learned of a server, kept over restarts (spec H2): read back as the way to connect, dropped when it misleads.

Stands under `connection`. Refuses to know how a connection is held.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from mcp import Client, MCPError, types
from mcp.types import CONNECTION_CLOSED
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from host.config import ServerConfig
from host.replies import root

AUTO: dict[str, Any] = {"mode": "auto"}
LEGACY: dict[str, Any] = {"mode": "legacy"}


class DiscoverMemory(Protocol):
    """What a probe learned, kept over restarts (spec H2). Implemented by `host.store`."""

    async def load_discovered(self, prefix: str, config_digest: str) -> str | None:
        """JSON of a DiscoverResult, or {"protocol": "2025-11-25", "claims": …} for a server of the older handshake."""
        ...

    async def save_discovered(self, prefix: str, config_digest: str, value: str | None) -> None:
        """None forgets."""
        ...


@dataclass(slots=True)
class Known:
    """One server's part of the memory. `modes` are the Client's `mode` and `prior_discover` for the current connection."""

    prefix: str
    memory: DiscoverMemory
    digest: str
    modes: dict[str, Any] = field(default_factory=lambda: AUTO)

    async def recalled(self) -> dict[str, Any]:
        """How to connect without a probe; AUTO when nothing usable is remembered."""
        kept = await self.memory.load_discovered(self.prefix, self.digest)
        try:
            if kept is None:
                return AUTO
            if "protocol" in json.loads(kept):
                return LEGACY
            prior = types.DiscoverResult.model_validate_json(kept, by_name=False)
            mutual = [version for version in MODERN_PROTOCOL_VERSIONS if version in prior.supported_versions]
            return {"mode": mutual[-1], "prior_discover": prior} if mutual else AUTO
        except (ValueError, TypeError):
            return AUTO

    async def learn(self, client: Client, claims: str) -> None:
        """Kept in step with what is connected. An older server that changed its name or version is forgotten, so that it is
        asked once more what it speaks."""
        discovered = client.session.discover_result
        if discovered is not None:
            self.modes = {"mode": client.protocol_version, "prior_discover": discovered}
            value = discovered.model_dump_json(by_alias=True)
        else:
            self.modes = LEGACY
            value = json.dumps({"protocol": client.protocol_version, "claims": claims})
        kept = await self.memory.load_discovered(self.prefix, self.digest)
        if kept == value:
            return
        renamed = kept is not None and self.modes is LEGACY
        await self.memory.save_discovered(self.prefix, self.digest, None if renamed else value)

    async def forget(self) -> None:
        await self.memory.save_discovered(self.prefix, self.digest, None)


def config_digest(config: ServerConfig) -> str:
    """Over what decides which server is met: a changed one is asked anew what it speaks (spec H2)."""
    reached = config.model_dump(mode="json", include={"command", "url", "env", "oauth", "token_env", "token_file"})
    return sha256(json.dumps(reached, sort_keys=True).encode()).hexdigest()


def misled(error: BaseException) -> bool:
    """Whether a failure may come from a wrong memory of the server, rather than from its absence."""
    cause = root(error)
    if isinstance(cause, MCPError):
        return cause.code != CONNECTION_CLOSED
    return isinstance(cause, ValidationError | RuntimeError | TimeoutError)
