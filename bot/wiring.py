"""The only file that names concrete classes: settings in, a running host out."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bot.clock import SystemClock
from bot.quiet import hush
from bot.roles import ListedPeople
from bot.settings import RolesSettings, Settings
from host import policy, prompt
from host.catalog import Catalog
from host.config import HostConfig
from host.dispatch import Dispatcher
from host.errors import ConfigError
from host.facade import Host
from host.loop import Loop
from host.open_calls import OpenCalls
from host.outbox import Outbox
from host.port import Clock, Desk, People
from host.prompt import READ_RESOURCE, REPLY
from host.questions import Questions
from host.queue import Queue
from host.sessions import Sessions
from host.signal import Signal
from host.store.engine import Store
from host.store.servers import ServerMemory
from models import catalogue
from models.fingerprint import prefix_digest
from models.llama import EngineSettings, LlamaModel
from models.port import Model, Sampling
from models.recorded import RecordedModel
from models.remote import RemoteModel, RemoteSettings


@dataclass(frozen=True, slots=True)
class Running:
    """A host with everything around it that has to be served."""

    host: Host
    queue: Queue
    outbox: Outbox
    store: Store
    report: tuple[str, ...]
    prompt_digest: str


def build_model(settings: Settings) -> Model:
    """The configured model, not entered yet. Raises `ModelSetupError` in words."""
    chosen = settings.model
    if chosen.kind == "recorded":
        return RecordedModel(Path(chosen.recordings))
    if chosen.kind == "remote":
        if not chosen.base_url:
            raise ConfigError('[model] kind = "remote" needs base_url: write the server\'s address up to /v1')
        return RemoteModel(RemoteSettings(chosen.base_url, chosen.name, os.environ.get(chosen.api_key_env, "")))
    path = catalogue.cache_dir() / catalogue.find(chosen.name, catalogue.load()).file
    return LlamaModel(path, EngineSettings(context=chosen.context, threads=chosen.threads, niceness=chosen.niceness))


@asynccontextmanager
async def running(
    settings: Settings,
    model: Model,
    make_desk: Callable[[Host], Desk],
    *,
    extra_env: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    people: People | None = None,
) -> AsyncIterator[Running]:
    """A host on its database, connected to its servers. The model is entered already. `people` tells who could decide; left
    out, the lists of the configuration do."""
    hush()
    config = with_env(settings.host, extra_env or {})
    check_people(settings.roles, config)
    clock, changed = clock or SystemClock(), Signal()
    people = people or ListedPeople(settings.roles)
    async with Store(settings.database.url) as store:
        memory = ServerMemory(store)
        async with Sessions(config.servers, memory) as sessions, OpenCalls() as open_calls:
            catalog = Catalog(sessions, memory, config.servers)
            await sessions.connect_all()
            report = await catalog.refresh()
            check_policy(settings, config, catalog)
            report = (*report, *check_share(settings, config, catalog))
            questions = Questions(store, config, clock, changed, lambda name: _definition(catalog, name))
            dispatcher = Dispatcher(store, sessions, open_calls, catalog, questions, config, clock)
            sampling = Sampling(settings.model.temperature, settings.model.seed, settings.model.max_tokens)
            loop = Loop(store, model, catalog, dispatcher, questions, config, clock, sampling)
            queue = Queue(store, loop, catalog, questions, config, clock, changed)
            host = Host(
                store=store,
                queue=queue,
                loop=loop,
                questions=questions,
                catalog=catalog,
                servers_health=sessions.health,
                config=config,
                clock=clock,
                changed=changed,
                model=model,
                people=people,
            )
            stable = prompt.stable_messages(config.prompt, catalog.attached())
            prompt_digest = prefix_digest(stable, prompt.tool_specs(catalog.tools()))
            outbox = Outbox(store, make_desk(host), clock, changed, questions.undeliverable)
            yield Running(host, queue, outbox, store, report, prompt_digest)


def with_env(config: HostConfig, extra: Mapping[str, str]) -> HostConfig:
    """The same configuration with more environment for every server."""
    servers = {name: s.model_copy(update={"env": {**s.env, **extra}}) for name, s in config.servers.items()}
    return config.model_copy(update={"servers": servers})


def check_people(roles: RolesSettings, config: HostConfig) -> None:
    """Rules that no listed person can fulfil refuse to start (spec H19): two leads approve, and a third one releases, where it
    was written down that leads alone answer the server's own questions.
    """
    for prefix, server in config.servers.items():
        releases = config.four_eyes and "input_roles" in server.model_fields_set and server.input_roles == ("lead",)
        needed = 3 if releases else 2
        for name, tool in server.tools.items():
            if tool.two_leads_over is not None and len(set(roles.lead)) < needed:
                why = "two approve, and four_eyes wants another one to release" if releases else "two of them approve"
                raise ConfigError(
                    f"servers.{prefix}.tools.{name}: two_leads_over needs {needed} different leads ({why}), and [roles] lead "
                    f"lists {len(set(roles.lead))}: add one there, or take two_leads_over away"
                )


def check_policy(settings: Settings, config: HostConfig, catalog: Catalog) -> None:
    """A policy that names an unknown tool or field refuses to start, with the line (spec H8).

    A server that is down offers nothing to check against, and never stops the start (spec H4): its configured tools count
    as known, with any parameter, and so does whatever a rule names under its prefix.
    """
    offered = catalog.tools()
    parameters: dict[str, tuple[str, ...] | None] = {t.name: tuple(t.full_schema.get("properties", {})) for t in offered}
    for prefix, server in config.servers.items():
        if not any(tool.server == prefix for tool in offered):
            parameters |= {f"{prefix}.{name}": None for name in server.tools}
            parameters |= {rule.tool: None for rule in config.policy if rule.tool.startswith(f"{prefix}.")}
    parameters[REPLY] = ("text",)
    if any(server.read_resources for server in config.servers.values()):
        parameters[READ_RESOURCE] = ("uri",)
    identifiers = tuple(config.grounding)
    try:
        policy.check(config.policy, tuple(parameters), parameters, identifiers, policy.record_fields(offered, identifiers))
    except policy.BadRule as error:
        raise ConfigError(f"{settings.path}, line {settings.line_of_rule(error.number)}: {error}") from error


def check_share(settings: Settings, config: HostConfig, catalog: Catalog) -> tuple[str, ...]:
    """What to say when the tools fill more of the model's context than configured, server by server (spec H24).

    Raises `ConfigError` unless the configuration only wants it said.
    """
    tokens = prompt.tool_tokens(catalog.tools())
    share = sum(tokens.values()) / settings.model.context
    if share <= config.prompt.tools_share:
        return ()
    each = ", ".join(f"{server} about {count}" for server, count in tokens.items())
    words = f"the tools fill about {share:.0%} of the model's context of {settings.model.context} tokens ({each})"
    if config.prompt.over_share == "say":
        return (words,)
    limit = f"at most {config.prompt.tools_share:.0%} is set as tools_share in [prompt]"
    raise ConfigError(f'{words}; {limit}: offer fewer tools, or set over_share = "say" there to start all the same')


def _definition(catalog: Catalog, name: str) -> str:
    tool = catalog.find(name)
    return tool.digest if tool is not None else ""  # whether it may be used now is the checkpoint's question


def with_model(settings: Settings, kind: Literal["recorded", "local"]) -> Settings:
    """The same settings with another kind of model."""
    return replace(settings, model=settings.model.model_copy(update={"kind": kind}))


def check_recordings(settings: Settings) -> None:
    """Raises `ConfigError` when the recordings that a demo begins on are not there."""
    folder = Path(settings.model.recordings)
    if not (folder / "manifest.json").is_file():
        raise ConfigError(f"no recordings in {folder}: make them with `deskhand record --all` on the real model")
