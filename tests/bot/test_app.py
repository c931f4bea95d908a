"""The connection to Slack, the manifest, and what the log says."""

import json
import logging
import re
from pathlib import Path

import anyio
import pytest
import yaml
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import Identity, SlackSettings, SocketRunner, build_app, clients, identify
from bot.cards import ids
from bot.listeners.edge import Background
from bot.roles import Roles
from host.errors import ConfigError

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
MANIFEST = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
#: Which scope each method that the bot calls needs; None for those that need none.
SCOPES = {
    "auth_test": None,
    "apps_connections_open": None,
    "chat_postMessage": "chat:write",
    "chat_postEphemeral": "chat:write",
    "chat_update": "chat:write",
    "conversations_history": "groups:history",
    "conversations_replies": "groups:history",
    "users_info": "users:read",
    "views_open": None,
    "views_update": None,
}


def runner_of(office, access: SlackSettings | None = None) -> SocketRunner:
    return SocketRunner(app_of(office), access or office.access, look_seconds=0.02)


def app_of(office):
    identity = Identity("T1", "U_BOT", "B1")
    return build_app(
        office.access, identity, host=office.host, roles=Roles.__new__(Roles), made=office.made, background=Background()
    )


async def test_who_we_are_is_asked_once_at_the_start(office):
    identity = await identify(office.made.web)
    assert (identity.team, identity.bot_user) == ("T1", "U_BOT")


async def test_a_wrong_bot_token_is_one_line_that_says_what_to_set(office):
    wrong = clients(SlackSettings("xoxb-wrong", "xapp-local", "C_SUPPORT", base_url=office.access.base_url))
    with pytest.raises(ConfigError, match="SLACK_BOT_TOKEN"):
        await identify(wrong.web)


async def test_a_wrong_app_token_is_one_line_that_says_what_to_set(office):
    access = SlackSettings("xoxb-local", "xapp-wrong", "C_SUPPORT", base_url=office.access.base_url)
    with anyio.fail_after(10), pytest.raises(ConfigError, match="SLACK_APP_TOKEN"):
        await runner_of(office, access).run()


async def test_a_slack_that_is_not_there_is_said_so():
    with pytest.raises(ConfigError, match="can't be reached"):
        await identify(clients(SlackSettings("xoxb", "xapp", "C1", base_url="http://127.0.0.1:9/api/")).web)


async def test_a_second_process_on_the_same_app_is_said_loudly(office, caplog):
    async with office.running():
        second = runner_of(office)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(second.run)
            await office.ok("wait", what="connected", n=2)
            with anyio.fail_after(10):
                while second.connections < 2:
                    await anyio.lowlevel.checkpoint()
            second.stop()
    assert "another process uses this app token" in caplog.text


async def test_after_slack_hangs_up_the_bot_is_back_and_presses_work(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("disconnect", reason="refresh_requested")
        await office.ok("wait", what="connected")
        with anyio.fail_after(20):
            while not office.host.answers:
                await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
                await office.background.drain(1.0)
    assert office.host.answers[0][2].action == "approve"


async def test_the_runner_stops_when_told_and_says_whether_it_is_connected(office):
    states = []
    runner = SocketRunner(app_of(office), office.access, on_state=states.append, look_seconds=0.02)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await office.ok("wait", what="connected")
            while True not in states:
                await anyio.lowlevel.checkpoint()
            runner.stop()
    assert states[-1] is False
    await office.ok("wait", what="connected", n=0)


async def test_background_work_is_waited_for_and_then_ended():
    background = Background()
    done = []

    async def quick() -> None:
        await anyio.lowlevel.checkpoint()
        done.append("quick")

    background.start(quick(), "quick")
    background.start(anyio.sleep_forever(), "endless")
    with anyio.fail_after(5):
        await background.drain(0.2)
    assert (done, background.running) == (["quick"], 0)


async def test_no_log_at_any_level_holds_what_a_customer_wrote_or_a_token(office, views, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "my neighbour broke the mixer"
    async with office.running():
        await office.post(views.ticket_view(ticket=views.ticket(body=secret, subject=secret, sender_name=secret)))
        card = await office.post(views.question_view(ticket=views.ticket(body=secret)))
        await office.press("U_MAYA", card, ids.CONSENT_DECLINE)
        await office.form("U_MAYA", ids.FORM_CONSENT_DECLINE)
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: secret}})
        await office.form("U_MAYA", ids.FORM_WORDS)
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith(("servers", "aiohttp", "asyncio"))]
    assert ours
    assert not [line for line in ours if secret in line or "xoxb-local" in line or "xapp-local" in line]


# The manifest


def test_the_manifest_asks_for_the_scopes_that_the_code_needs_and_no_other():
    parts = [path for path in (ROOT / "bot").rglob("*.py") if "demo" not in path.parts]  # the demo's own workspace has no scopes
    source = "".join(path.read_text("utf-8") for path in parts)
    called = {method for method in _methods() if f".{method}(" in source}
    assert called == set(SCOPES)
    needed = {scope for scope in SCOPES.values() if scope}
    # A card may stand in a private or a public channel; /deskhand needs `commands`.
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == needed | {"channels:history", "commands"}


def _methods() -> set[str]:
    families = ("api_", "apps_", "assistant_", "auth_", "bots_", "chat_", "conversations_", "files_", "pins_", "reactions_")
    families += ("team_", "usergroups_", "users_", "views_")
    return {name for name in dir(AsyncWebClient) if name.startswith(families)}


def test_the_manifest_has_our_command_and_subscribes_to_nothing():
    [command] = MANIFEST["features"]["slash_commands"]
    assert command["command"] == SlackSettings("", "", "").command
    assert len(command["usage_hint"]) <= 1000
    assert len(command["description"]) <= 2000
    assert MANIFEST["settings"]["socket_mode_enabled"] is True
    assert MANIFEST["settings"]["interactivity"] == {"is_enabled": True}
    assert "event_subscriptions" not in MANIFEST["settings"]


def test_the_manifest_is_within_its_limits():
    assert len(MANIFEST["display_information"]["name"]) <= 35
    assert len(MANIFEST["display_information"]["description"]) <= 140
    assert json.dumps(MANIFEST)


def test_every_button_and_form_of_the_table_has_one_handler():
    source = "".join(path.read_text("utf-8") for path in (ROOT / "bot" / "listeners").rglob("*.py"))
    handled = re.findall(r"on_(?:button|opening|submit)\(app, edge, ids\.(\w+)", source)
    named = {name for name, value in vars(ids).items() if isinstance(value, str) and "." in value and name.isupper()}
    assert sorted(handled) == sorted(named - {"FORM_LOADING", "FORM_WORDS"})
