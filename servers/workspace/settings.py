"""What the workspace is started with, and who lives in it. Reads files once; knows no sockets."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
HERE = Path(__file__).parent


class BadSettings(Exception):
    """A setting that cannot be used; the message is one line and says what to do."""


@dataclass(frozen=True)
class Settings:
    """Start options. Times in seconds; the defaults are the platform's own (retries at once, 1 min, 5 min)."""

    port: int = 0
    bot_token: str = "xoxb-local"
    app_token: str = "xapp-local"
    state: Path | None = None
    customer_intake: Path | None = None
    mail: Path | None = None
    shop: str | None = None
    supervisor: str | None = None
    manifest: Path | None = None
    trigger_seconds: float = 3.0
    ack_seconds: float = 3.0
    retry_delays: tuple[float, ...] = (0.0, 60.0, 300.0)


@dataclass(frozen=True)
class Seed:
    """The people, channels and groups of the workspace, and what the app's manifest says about the app."""

    team: Json
    other_teams: tuple[Json, ...]
    app: Json
    people: dict[str, Json]
    channels: dict[str, Json]
    usergroups: dict[str, Json]
    commands: tuple[Json, ...]
    shortcuts: tuple[Json, ...]
    bot_events: frozenset[str]
    scopes: frozenset[str] | None  # None: no manifest was given, scopes are not checked

    def team_of(self, user_id: str) -> Json:
        """The team a person belongs to; a stranger's is another one."""
        team_id = self.people.get(user_id, {}).get("team_id", self.team["id"])
        return next((team for team in self.other_teams if team["id"] == team_id), self.team)


def load_seed(manifest: Path | None) -> Seed:
    """The shipped seed, with the app's commands, shortcuts, events and scopes from its manifest when there is one."""
    raw = json.loads((HERE / "seed.json").read_text("utf-8"))
    app = _read_manifest(manifest) if manifest else {}
    features, settings = app.get("features", {}), app.get("settings", {})
    return Seed(
        team=raw["team"],
        other_teams=tuple(raw["other_teams"]),
        app=raw["app"] | _app_names(app),
        people={person["id"]: person for person in raw["people"]},
        channels={channel["id"]: channel for channel in raw["channels"]},
        usergroups={group["id"]: group for group in raw["usergroups"]},
        commands=tuple(features.get("slash_commands") or raw["commands"]),
        shortcuts=tuple(features.get("shortcuts") or raw["shortcuts"]),
        bot_events=frozenset((settings.get("event_subscriptions") or {}).get("bot_events") or ()),
        scopes=frozenset(app["oauth_config"]["scopes"]["bot"]) if manifest else None,
    )


def _app_names(manifest: Json) -> Json:
    shown = (manifest.get("features", {}).get("bot_user") or {}).get("display_name")
    real = (manifest.get("display_information") or {}).get("name") or shown
    return {**({"name": shown} if shown else {}), **({"real_name": real} if real else {})}


def _read_manifest(path: Path) -> Json:
    try:
        loaded = yaml.safe_load(path.read_text("utf-8"))
        loaded["oauth_config"]["scopes"]["bot"]
    except OSError as error:
        raise BadSettings(f"--manifest {path}: {error.strerror}; give the path of the app's manifest.yml") from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise BadSettings(f"--manifest {path} is not an app manifest with oauth_config.scopes.bot") from error
    return dict(loaded)
