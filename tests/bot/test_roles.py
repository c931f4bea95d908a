"""Who counts as whom: by id lists, failing closed, always with a word."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.roles import Clicker, GuestLookup, Person, RoleLists, Roles

pytestmark = pytest.mark.anyio

LISTS = RoleLists(
    staff=frozenset({"U1", "U2"}),
    leads=frozenset({"U2"}),
    teams=frozenset({"T1"}),
    people={"U1": Person("staff-0007", "Maya Okafor")},
)


async def test_a_person_has_every_role_whose_list_names_them():
    judged = await Roles(LISTS, None).judge(Clicker("U2", ("T1",)))
    assert (judged.actor.roles, judged.refused) == (frozenset({"staff", "lead"}), "")


async def test_a_person_is_who_the_servers_know_them_as():
    actor = (await Roles(LISTS, None).judge(Clicker("U1", ("T1",)))).actor
    assert (actor.subject, actor.user, actor.name) == ("staff-0007", "U1", "Maya Okafor")


async def test_somebody_unlisted_is_nobody_but_is_not_refused_here():
    judged = await Roles(LISTS, None).judge(Clicker("U9", ("T1",)))
    assert (judged.actor.roles, judged.refused) == (frozenset(), "")


async def test_empty_lists_mean_nobody():
    judged = await Roles(RoleLists(teams=frozenset({"T1"})), None).judge(Clicker("U1", ("T1",)))
    assert judged.actor.roles == frozenset()


@pytest.mark.parametrize("teams", [("T2",), (), ("",)])
async def test_people_of_a_workspace_that_is_not_configured_count_for_nothing_and_are_told(teams):
    judged = await Roles(LISTS, None).judge(Clicker("U2", teams))
    assert judged.actor.roles == frozenset()
    assert "not set up for your workspace" in judged.refused


async def test_no_configured_workspace_means_nobody():
    lists = RoleLists(staff=frozenset({"U1"}))
    assert (await Roles(lists, None).judge(Clicker("U1", ("T1",)))).refused


async def test_an_enterprise_workspace_counts_once_it_is_configured():
    lists = RoleLists(staff=frozenset({"U1"}), teams=frozenset({"T1", "T2"}))
    assert (await Roles(lists, None).judge(Clicker("U1", ("T2",)))).actor.roles == frozenset({"staff"})


@pytest.mark.parametrize("words", ["Guests can't decide anything here.", "Slack could not be asked."])
async def test_a_guest_or_a_doubt_about_one_takes_every_role(words):
    async def guests(user: str) -> str:
        return words

    judged = await Roles(LISTS, guests).judge(Clicker("U2", ("T1",)))
    assert (judged.actor.roles, judged.refused) == (frozenset(), words)


async def test_slack_that_cannot_be_reached_means_that_nobody_counts():
    web = AsyncWebClient(token="xoxb", base_url="http://127.0.0.1:9/api/", retry_handlers=[])
    assert "could not ask Slack" in await GuestLookup(web)("U1")


async def test_an_answer_about_guests_is_kept_for_a_while(office):
    lookup = GuestLookup(office.made.web)
    assert "Guests" in await lookup("U_GUS")
    assert await lookup("U_MAYA") == ""
    assert await lookup("U_MAYA") == ""
    asked = [call for call in (await office.state())["calls"] if call.get("method") == "users.info"]
    assert len(asked) == 2


def test_mentions_are_the_lists_in_a_stable_order():
    assert Roles(LISTS, None).mentions() == {"staff": ("U1", "U2"), "lead": ("U2",), "admin": ()}
