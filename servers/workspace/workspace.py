"""The workspace's state: channels, messages, ephemerals, views, pins. Every change is stored and told to the bus; knows no HTTP.

Messages and views are kept in the platform's own wire shape, blocks exactly as sent (plus ids where none were given).
"""

import secrets
import time

from servers.workspace.bus import Bus
from servers.workspace.settings import Json, Seed, Settings
from servers.workspace.store import Store

_KEEP_EPHEMERALS = 300


class Workspace:
    """One team with its channels. `ts` values are unique and increasing over the whole workspace."""

    def __init__(self, settings: Settings, seed: Seed, store: Store) -> None:
        self.settings, self.seed, self._store, self.bus = settings, seed, store, Bus()
        self._last_micros = 0
        self._load()

    def _load(self) -> None:
        everything = self._store.all
        self.channels: dict[str, Json] = {**self.seed.channels, **everything("channel")}
        self.messages: dict[str, dict[str, Json]] = {channel_id: {} for channel_id in self.channels}
        for message in everything("message").values():
            self.messages.setdefault(message["channel"], {})[message["ts"]] = message
            self._last_micros = max(self._last_micros, int(message["ts"].replace(".", "")))
        self.ephemerals = everything("ephemeral")
        self.views = everything("view")
        self.homes = everything("home")
        self.pins = {channel_id: row["items"] for channel_id, row in everything("pins").items()}
        self.notices: list[Json] = []

    # people and channels

    def user(self, user_id: str) -> Json | None:
        """A person, or the app's own bot user."""
        app = self.seed.app
        if user_id == app["user_id"]:
            return {**app, "id": app["user_id"], "team_id": self.seed.team["id"], "is_bot": True, "kind": "app"}
        return self.seed.people.get(user_id)

    def open_dm(self, user_id: str) -> Json:
        """The direct message channel between the app and a person, made on first use."""
        channel_id = "D_" + user_id.removeprefix("U_")
        if channel_id not in self.channels:
            members = [self.seed.app["user_id"], user_id]
            channel = {"id": channel_id, "name": "", "is_im": True, "user": user_id, "members": members}
            self.channels[channel_id] = channel
            self.messages[channel_id] = {}
            self._store.put("channel", channel_id, channel)
            self.bus.publish("channel", channel=channel)
        return self.channels[channel_id]

    # messages

    def next_ts(self) -> str:
        """A new timestamp in the platform's form, seconds and six digits, later than every one before."""
        self._last_micros = max(int(time.time() * 1_000_000), self._last_micros + 1)
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06d}"

    def message(self, channel_id: str, ts: str) -> Json | None:
        """A stored message."""
        return self.messages.get(channel_id, {}).get(ts)

    def find_message(self, ts: str) -> Json | None:
        """A stored message or ephemeral by its ts alone (ts are unique over the workspace)."""
        found = next((messages[ts] for messages in self.messages.values() if ts in messages), None)
        return found or self.ephemerals.get(ts)

    def thread(self, channel_id: str, root_ts: str) -> list[Json]:
        """The replies to a message, oldest first."""
        messages = self.messages.get(channel_id, {})
        return sorted((m for m in messages.values() if m.get("thread_ts") == root_ts and m["ts"] != root_ts), key=_by_ts)

    def top_level(self, channel_id: str) -> list[Json]:
        """What the channel itself shows, oldest first: no replies, except those also sent to the channel."""
        messages = self.messages.get(channel_id, {}).values()
        return sorted((m for m in messages if not is_reply(m) or m.get("subtype") == "thread_broadcast"), key=_by_ts)

    def add(self, message: Json) -> Json:
        """Store a new message (`channel`, `user`, `text`, …; gets its ts) and show it."""
        message = {"type": "message", "team": self.seed.team["id"], **message, "ts": self.next_ts()}
        if root := message.get("thread_ts"):
            parent = self.message(message["channel"], root)
            message["parent_user_id"] = parent["user"] if parent else None
        self.put(message)
        return message

    def put(self, message: Json) -> None:
        """Store a changed message under its ts and show it."""
        self.messages[message["channel"]][message["ts"]] = message
        self.forget_notices(message["ts"])
        self._store.put("message", f"{message['channel']}/{message['ts']}", message)
        self.bus.publish("message", message=message)

    def remove(self, message: Json) -> None:
        """Delete a message; one with replies stays as a tombstone, as on the platform."""
        channel_id, ts = message["channel"], message["ts"]
        if self.thread(channel_id, ts):
            tombstone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "channel": channel_id, "ts": ts}
            self.put({**tombstone, "text": "This message was deleted.", "thread_ts": ts, "hidden": True})
        else:
            del self.messages[channel_id][ts]
            self._store.drop("message", f"{channel_id}/{ts}")
            self.bus.publish("message_gone", channel=channel_id, ts=ts)
        self.set_pins(channel_id, [pinned for pinned in self.pins.get(channel_id, []) if pinned != ts])

    def wire(self, message: Json, metadata: bool = False) -> Json:
        """A message as the Web API returns it: reply counts added, our own keys and (unless asked for) metadata left out."""
        hidden = {"channel", "to", "is_ephemeral", "parse"} | (set() if metadata else {"metadata"})
        shown = {key: value for key, value in message.items() if key not in hidden}
        replies = [] if is_reply(message) else self.thread(message["channel"], message["ts"])
        if replies:
            users = list(dict.fromkeys(reply["user"] for reply in replies))
            shown |= {"thread_ts": message["ts"], "reply_count": len(replies), "reply_users": users}
            shown |= {"reply_users_count": len(users), "latest_reply": replies[-1]["ts"]}
        return shown

    # for one person only

    def add_ephemeral(self, message: Json) -> Json:
        """Show a message to `message["to"]` alone."""
        message = {"type": "message", "team": self.seed.team["id"], **message, "is_ephemeral": True, "ts": self.next_ts()}
        self.put_ephemeral(message)
        for ts in list(self.ephemerals)[:-_KEEP_EPHEMERALS]:
            self.drop_ephemeral(ts)
        return message

    def put_ephemeral(self, message: Json) -> None:
        """Store a changed ephemeral under its ts."""
        self.ephemerals[message["ts"]] = message
        self._store.put("ephemeral", message["ts"], message)
        self.bus.publish("ephemeral", message=message)

    def drop_ephemeral(self, ts: str) -> None:
        """Dismiss an ephemeral."""
        gone = self.ephemerals.pop(ts, None)
        self._store.drop("ephemeral", ts)
        if gone:
            self.bus.publish("ephemeral_gone", ts=ts, to=gone["to"])

    def notice(self, user_id: str, about: str, words: str) -> None:
        """A warning of the client's own to one person, beside what it is about (a ts, a view id or a command)."""
        notice = {"user": user_id, "about": about, "text": words, "at": time.time()}
        self.notices = [*self.notices[-99:], notice]
        self.bus.publish("notice", notice=notice)

    def forget_notices(self, about: str, user_id: str | None = None) -> None:
        """Take warnings away once the app answered: it changed the message, or acknowledged this person's next try."""
        kept = [notice for notice in self.notices if notice["about"] != about or user_id not in (None, notice["user"])]
        if len(kept) != len(self.notices):
            self.notices = kept
            self.bus.publish("notices", notices=kept)

    def set_pins(self, channel_id: str, items: list[str]) -> None:
        """Replace the pinned ts of a channel, newest pin last."""
        if items != self.pins.get(channel_id, []):
            self.pins[channel_id] = items
            self._store.put("pins", channel_id, {"items": items})
            self.bus.publish("pins", channel=channel_id, items=items)

    # views

    def stack(self, user_id: str) -> list[Json]:
        """A person's open modals, the visible one last."""
        mine = [view for view in self.views.values() if view["_user"] == user_id and view["_open"]]
        return sorted(mine, key=lambda view: int(view["_depth"]))

    def put_view(self, view: Json) -> None:
        """Store a modal; closed ones stay known, so that a late submit can be told so."""
        self.views[view["id"]] = view
        self._store.put("view", view["id"], view)
        self.bus.publish("modals", user=view["_user"], stack=[public(v) for v in self.stack(view["_user"])])

    def put_home(self, user_id: str, view: Json) -> None:
        """Store a person's home tab."""
        self.homes[user_id] = view
        self._store.put("home", user_id, view)
        self.bus.publish("home", user=user_id, view=public(view))

    def reset(self) -> None:
        """Forget everything but the seed."""
        self._store.clear()
        self._load()
        self.bus.publish("reset")


def is_reply(message: Json) -> bool:
    """Whether a message stands in a thread under another one."""
    return bool(message.get("thread_ts")) and message["thread_ts"] != message["ts"]


def public(view: Json) -> Json:
    """A view as the Web API returns it, without our own keys."""
    return {key: value for key, value in view.items() if not key.startswith("_")}


def new_id(prefix: str) -> str:
    """An opaque id such as V3F9A01C2."""
    return prefix + secrets.token_hex(4).upper()


def _by_ts(message: Json) -> str:
    return str(message["ts"])
