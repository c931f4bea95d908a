"""deskhand.toml and every environment variable: read once, typed, frozen.

In the file's values `{python}` is this interpreter, `{state}` the state folder and `{here}` the file's own folder. Raises
`host.errors.ConfigError` with the file, the line and what to write there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from host.config import Frozen, HostConfig
from host.errors import ConfigError

HOST_SECTIONS = tuple(HostConfig.model_fields)


class Environment(BaseSettings):
    """Every environment variable that Deskhand reads, besides those that deskhand.toml names for servers' tokens."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    slack_bot_token: SecretStr = SecretStr("")
    slack_app_token: SecretStr = SecretStr("")
    deskhand_config: Path = Path("deskhand.toml")
    deskhand_state: Path | None = None
    deskhand_slack_url: str = ""


def _member(value: str) -> str:
    """A user group would be taken silently and match nobody."""
    if re.fullmatch(r"S[A-Z0-9]{6,}", value):
        raise ValueError(f"{value} is a user group, which is not supported yet: list its members' ids (U…) one by one")
    return value


Member = Annotated[str, AfterValidator(_member)]


class Person(Frozen):
    """Who a Slack user is to the servers ("staff-0007")."""

    subject: str
    name: str


class RolesSettings(Frozen):
    """Slack user ids; an empty list means nobody (spec H19)."""

    staff: tuple[Member, ...] = ()
    lead: tuple[Member, ...] = ()
    admin: tuple[Member, ...] = ()
    people: Mapping[str, Person] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_person_is_one(self) -> RolesSettings:
        """Two ids of one subject would be two people where two are needed (spec H19)."""
        seen: dict[str, str] = {}
        for user, person in self.people.items():
            if person.subject in seen:
                raise ValueError(
                    f"{seen[person.subject]} and {user} have the same subject {person.subject}: one person is one id"
                )
            seen[person.subject] = user
        return self


class SlackSettings(Frozen):
    channel: str = ""
    teams: tuple[str, ...] = ()
    base_url: str = "https://slack.com/api/"


class MailroomSettings(Frozen):
    """The file mailroom: tickets in as JSON lines, sent replies out as one file each."""

    inbox: str = "{state}/inbox.jsonl"
    sent: str = "{state}/sent"
    #: Who replies come from (spec H27): "Name <address>".
    sender: str = ""


class ModelSettings(Frozen):
    """`kind` "local" decodes here; "remote" asks the OpenAI-compatible server at `base_url` for `name`, with the key that the
    environment variable `api_key_env` holds; "recorded" replays `recordings`."""

    kind: Literal["local", "recorded", "remote"] = "local"
    base_url: str = ""
    api_key_env: str = ""
    name: str = "qwen2.5-coder-1.5b"
    recordings: str = "{here}/tests/recordings/ticket-runs"
    context: int = Field(default=8192, ge=256)
    threads: int = Field(default=2, ge=1, le=1_024)
    #: The engine's priority: 0 as other programs, 10 gives way to them, so that clicks are acknowledged in time (spec M3).
    niceness: int = Field(default=10, ge=0, le=19)
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False)
    seed: int = Field(default=0, ge=0, lt=2**32)
    max_tokens: int = Field(default=400, ge=1, le=100_000)


class DatabaseSettings(Frozen):
    url: str = "sqlite:///{state}/deskhand.db"


class QueueSettings(Frozen):
    """What `deskhand queue` works and scores by (spec H29).

    `expectations` is read after a run, never by prompt, grammar or policy. `env` is added to every server's environment there,
    so that a run can be replayed (spec M7).
    """

    tickets: str = ""
    expectations: str = ""
    quote_tool: str = ""
    issue_tool: str = ""
    env: Mapping[str, str] = Field(default_factory=dict)


class Sections(Frozen):
    slack: SlackSettings = SlackSettings()
    roles: RolesSettings = RolesSettings()
    mailroom: MailroomSettings = MailroomSettings()
    model: ModelSettings = ModelSettings()
    database: DatabaseSettings = DatabaseSettings()
    queue: QueueSettings = QueueSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was decided outside the program."""

    path: Path
    state: Path
    host: HostConfig
    slack: SlackSettings
    roles: RolesSettings
    mailroom: MailroomSettings
    model: ModelSettings
    database: DatabaseSettings
    queue: QueueSettings
    environment: Environment
    text: str

    def line_of_rule(self, number: int) -> int:
        """The line of the n-th [[policy]] table, counted from 1."""
        starts = [i for i, line in enumerate(self.text.splitlines(), 1) if re.match(r"\s*\[\[\s*policy\s*\]\]", line)]
        return starts[number - 1] if 0 < number <= len(starts) else 0


def load(path: Path | None = None, state: Path | None = None) -> Settings:
    """Read everything; `path` and `state` override the environment."""
    environment = Environment()
    file = (path or environment.deskhand_config).resolve()
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{file} can't be read ({error.strerror}): run this where deskhand.toml is, or give --config"
        ) from error
    folder = (state or environment.deskhand_state or file.parent / "var").resolve()
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    raw = _filled(raw, {"python": sys.executable, "state": str(folder), "here": str(file.parent)})
    host = _validated(HostConfig, {k: v for k, v in raw.items() if k in HOST_SECTIONS}, file, text)
    rest = _validated(Sections, {k: v for k, v in raw.items() if k not in HOST_SECTIONS}, file, text)
    values = {name: getattr(rest, name) for name in Sections.model_fields}
    values = {name: _refilled(value, folder, file.parent) for name, value in values.items()}
    return Settings(path=file, state=folder, host=host, environment=environment, text=text, **values)


T = TypeVar("T", bound=Frozen)


def _validated(kind: type[T], raw: Mapping[str, Any], file: Path, text: str) -> T:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        line = _line(text, [str(part) for part in first["loc"]])
        raise ConfigError(f"{file}{f', line {line}' if line else ''}: {place}: {first['msg']}") from error


def _refilled(section: Frozen, state: Path, here: Path) -> Frozen:
    """Defaults hold placeholders too."""
    return type(section).model_validate(_filled(section.model_dump(), {"state": str(state), "here": str(here)}))


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """Replace {python}, {state} and {here} in every text; other braces stay."""
    if isinstance(value, str):
        return re.sub(r"\{(python|state|here)\}", lambda m: names.get(m[1], m[0]), value)
    if isinstance(value, Mapping):
        return {k: _filled(v, names) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(v, names) for v in value]
    return value


def _line(text: str, place: list[str]) -> int:
    """The line that a place in the file is about: its table, then its deepest key below that; 0 when it can't be told."""
    lines = text.splitlines()
    at, left = 0, place
    for depth in range(len(place), 0, -1):
        header = ".".join(part for part in place[:depth] if not part.isdigit())
        tables = [i for i, line in enumerate(lines) if line.strip().strip("[]") == header]
        if tables:
            number = next((int(part) for part in place if part.isdigit()), 0)
            at, left = tables[min(number, len(tables) - 1)], place[depth:]
            break
    end = next((i for i in range(at + 1, len(lines)) if at and lines[i].startswith("[")), len(lines))
    for name in reversed([part for part in left if not part.isdigit()]):
        for i in range(at, end):
            if lines[i].split("=")[0].strip() == name:
                return i + 1
    return at + 1 if at else 0
