"""One Web API call: its arguments, and the helpers all families of methods need. Knows no transport."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from servers.workspace.blocks import (
    MOST_CHARACTERS,
    MOST_IN_MESSAGE,
    block_problems,
    characters,
    messages,
    with_action_ids,
    with_ids,
)
from servers.workspace.errors import ApiError
from servers.workspace.settings import Json
from servers.workspace.tickets import Tickets
from servers.workspace.workspace import Workspace

_MOST_METADATA = 8_000  # undocumented; big enough for keys, too small for texts


@dataclass(frozen=True)
class Call:
    """Arguments merged from body and query; `base` is the server's own address without a slash at the end."""

    workspace: Workspace
    tickets: Tickets
    args: Json
    base: str

    def text(self, name: str) -> str:
        """A required string argument."""
        value = self.args.get(name)
        if value in (None, ""):
            raise ApiError("invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required field: {name}"]})
        return str(value)

    def flag(self, name: str) -> bool:
        """An optional boolean; query strings say 1, true or t."""
        return str(self.args.get(name, "")).lower() in ("1", "true", "t")

    def structure(self, name: str) -> object:
        """An argument that may come as JSON or as a string of JSON."""
        value = self.args.get(name)
        if isinstance(value, str) and value:
            try:
                return json.loads(value)
            except ValueError as error:
                raise ApiError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {name} is not JSON"]}) from error
        return value

    def channel(self, name: str = "channel", member: bool = True) -> Json:
        """The channel an argument names (a user id means the direct message with them)."""
        channel_id = self.text(name)
        if channel_id in self.workspace.seed.people:
            return self.workspace.open_dm(channel_id)
        channel = self.workspace.channels.get(channel_id)
        me = self.workspace.seed.app["user_id"]
        if channel is None or (channel.get("is_private") and me not in channel["members"]):
            raise ApiError("channel_not_found")
        if member and channel.get("is_archived"):
            raise ApiError("is_archived")
        if member and me not in channel["members"]:
            raise ApiError("not_in_channel")
        return channel

    def blocks(self) -> list[Json]:
        """Checked blocks, with ids where none were given."""
        blocks = self.structure("blocks")
        if not blocks:
            return []
        problems = list(block_problems(blocks, MOST_IN_MESSAGE))
        if problems or not isinstance(blocks, list):
            raise ApiError("invalid_blocks", response_metadata={"messages": messages(problems)})
        if characters(blocks) > MOST_CHARACTERS:
            raise ApiError("msg_blocks_too_long")
        return with_action_ids(with_ids(blocks))

    def metadata(self) -> Json | None:
        """Checked message metadata; `{}` is kept (an update uses it to remove), None means none was given."""
        metadata = self.structure("metadata")
        if metadata is None or metadata == {}:
            return metadata
        if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
            raise ApiError("invalid_metadata_format")
        if not isinstance(metadata.get("event_payload"), dict):
            raise ApiError("invalid_metadata_format")
        if len(json.dumps(metadata)) > _MOST_METADATA:
            raise ApiError("metadata_too_large")
        return {"event_type": metadata["event_type"], "event_payload": metadata["event_payload"]}

    def own_words(self) -> Json:
        """The fields every message of the app carries."""
        app, team = self.workspace.seed.app, self.workspace.seed.team["id"]
        return {"user": app["user_id"], "bot_id": app["bot_id"], "app_id": app["id"], "team": team}


Method = Callable[[Call], Json]
