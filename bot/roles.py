"""Slack user → host Actor, by id lists (spec H19).  Decides nothing about questions: the host judges the roles it is given.

An empty list means nobody. People of workspaces that are not configured, and guests, count for nothing; when it can't be found
out whether somebody is a guest, they count for nothing either. Every refusal has words: no press is silently ignored (spec B8).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.settings import RolesSettings
from host.types import Actor, RoleName

log = logging.getLogger(__name__)
GuestCheck = Callable[[str], Awaitable[str]]
"""A user's id → "" for a full member, else words that say why this person counts for nothing."""


@dataclass(frozen=True, slots=True)
class Person:
    """How a member of staff is called: `subject` is who the servers see ("staff-0007")."""

    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class RoleLists:
    """The operator's lists, as Slack ids. `teams` are the workspaces (or enterprises) whose people count; none means nobody."""

    staff: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    admins: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    people: Mapping[str, Person] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clicker:
    """Who pressed, as Slack says: the user and every workspace or enterprise id that the payload gives for them."""

    user: str
    teams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The actor, and in `refused` why they count for nothing ("" when they do)."""

    actor: Actor
    refused: str = ""


class ListedPeople:
    """Who holds a role by the operator's lists (`host.port.People`); teams and guests are judged at the click alone."""

    def __init__(self, lists: RolesSettings) -> None:
        self._lists: Mapping[RoleName, tuple[str, ...]] = {"staff": lists.staff, "lead": lists.lead, "admin": lists.admin}

    async def holding(self, roles: Collection[RoleName]) -> frozenset[str] | None:
        return frozenset(user for role in roles for user in self._lists[role])


class Roles:
    """Judges each click anew: at the press, and again at the submit."""

    def __init__(self, lists: RoleLists, guests: GuestCheck | None) -> None:
        """`guests` None leaves the guest check out (then the id lists alone say who counts)."""
        self._lists = lists
        self._guests = guests

    async def judge(self, clicker: Clicker) -> Judged:
        nobody = self._actor(clicker.user, frozenset())
        if not set(clicker.teams) & self._lists.teams:
            where = " / ".join(clicker.teams) or "unknown"
            words = f"Deskhand is not set up for your workspace ({where}), so nothing was done. An admin can add it to `teams`."
            return Judged(nobody, words)
        roles = self._roles(clicker.user)
        if roles and self._guests is not None and (why := await self._guests(clicker.user)):
            return Judged(nobody, why)
        return Judged(self._actor(clicker.user, roles))

    def mentions(self) -> Mapping[RoleName, tuple[str, ...]]:
        """Who is mentioned on a question for each role, in a stable order."""
        lists = self._lists
        return {"staff": tuple(sorted(lists.staff)), "lead": tuple(sorted(lists.leads)), "admin": tuple(sorted(lists.admins))}

    def _roles(self, user: str) -> frozenset[RoleName]:
        lists: dict[RoleName, frozenset[str]] = {
            "staff": self._lists.staff,
            "lead": self._lists.leads,
            "admin": self._lists.admins,
        }
        return frozenset(role for role, members in lists.items() if user in members)

    def _actor(self, user: str, roles: frozenset[RoleName]) -> Actor:
        person = self._lists.people.get(user, Person(subject=user, name=user))
        return Actor(subject=person.subject, user=user, name=person.name, roles=roles)


class GuestLookup:
    """Asks Slack whether somebody is a guest (scope users:read); an answer is kept for a minute. No answer is a refusal."""

    def __init__(self, web: AsyncWebClient, keep_seconds: float = 60.0) -> None:
        self._web = web
        self._keep = keep_seconds
        self._known: dict[str, tuple[float, str]] = {}

    async def __call__(self, user: str) -> str:
        at, words = self._known.get(user, (float("-inf"), ""))
        if time.monotonic() - at < self._keep:
            return words
        try:
            answer = await self._web.users_info(user=user)
        except (SlackApiError, aiohttp.ClientError, TimeoutError) as error:
            log.warning("guest_check failed error=%s", type(error).__name__)
            return (
                f"Deskhand could not ask Slack whether you are a guest ({_reason(error)}), so nothing was done. Please try again."
            )
        words = _guest_words(answer.get("user") or {})
        self._known[user] = (time.monotonic(), words)
        return words


def _guest_words(user: Mapping[str, object]) -> str:
    if user.get("deleted"):
        return "Your Slack account is deactivated, so nothing was done."
    guest = user.get("is_restricted") or user.get("is_ultra_restricted") or user.get("is_stranger")
    return "Guests can't decide anything here, so nothing was done." if guest else ""


def _reason(error: BaseException) -> str:
    if isinstance(error, SlackApiError):
        return str(error.response.get("error") or "an error") if error.response else "an error"
    return type(error).__name__
