"""The commands as a person meets them: bad input is one line that says what to do, and an exit code that isn't 0."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bot.cli.alone import alone, apart, check_servers
from bot.cli.shared import foreign
from bot.settings import load
from host.errors import ConfigError

ROOT = Path(__file__).parents[2]


def deskhand(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200", **env},
        check=False,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("deskhand:")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    text = (ROOT / "deskhand.toml").read_text(encoding="utf-8").replace("{here}", str(ROOT))
    path = tmp_path / "deskhand.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(config: Path, old: str, new: str) -> str:
    text = config.read_text(encoding="utf-8")
    assert old in text
    config.write_text(text.replace(old, new, 1), encoding="utf-8")
    return str(config)


def test_without_deskhand_toml_it_says_where_to_run(tmp_path: Path) -> None:
    said = one_line(deskhand("queue", "--all", "--config", str(tmp_path / "nowhere.toml")))
    assert "nowhere.toml can't be read" in said
    assert "--config" in said


def test_an_unknown_key_is_named_with_its_line(config: Path) -> None:
    path = changed(config, "trusted = true", "trustd = true")
    said = one_line(deskhand("servers", "check", "--config", path))
    line = next(i for i, text in enumerate(config.read_text().splitlines(), 1) if text.startswith("trustd"))
    assert f"line {line}" in said
    assert "trustd" in said


def test_a_policy_for_an_unknown_prefix_refuses_to_start_with_the_line(config: Path) -> None:
    path = changed(config, 'tool = "shop.find_orders"', 'tool = "shp.find_orders"')
    said = one_line(deskhand("servers", "check", "--config", path))
    rules = [i for i, text in enumerate(config.read_text().splitlines(), 1) if text == "[[policy]]"]
    assert f"line {rules[0]}" in said
    assert "shp.find_orders" in said


def test_a_server_whose_command_does_not_exist_is_told_and_the_others_are_checked(config: Path) -> None:
    path = changed(config, 'command = ["{python}", "-m", "servers.partner"]', 'command = ["no-such-program"]')
    done = deskhand("servers", "check", "--config", path)
    assert done.returncode == 1
    assert "shop: connected" in done.stdout
    assert "partner: down" in done.stdout
    assert "no-such-program" in done.stdout


def test_no_model_file_says_how_to_fetch_one(tmp_path: Path) -> None:
    said = one_line(deskhand("queue", "--all", "--model", "local", DESKHAND_MODELS=str(tmp_path)))
    assert "deskhand model fetch" in said


def test_a_model_file_that_is_not_the_catalogues_is_refused(tmp_path: Path) -> None:
    (tmp_path / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf").write_bytes(b"GGUF not the model")
    said = one_line(deskhand("queue", "--all", "--model", "local", DESKHAND_MODELS=str(tmp_path)))
    assert "deskhand model fetch" in said


def test_an_unknown_model_lists_the_known_ones() -> None:
    assert "qwen2.5-coder-1.5b" in one_line(deskhand("model", "fetch", "no-such-model"))


def test_no_recordings_says_how_to_make_them(config: Path, tmp_path: Path) -> None:
    path = changed(config, "[model]", f'[model]\nrecordings = "{tmp_path}/none"')
    assert "deskhand record" in one_line(deskhand("queue", "--all", "--model", "recorded", "--config", path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[limits]", "[limits]\nworkers = 0"),
        ("[limits]", "[limits]\ndeadline_seconds = -5"),
        ("[limits]", "[limits]\nmodel_calls = 0"),
        ("[limits]", "[limits]\nresult_max_chars = 0"),
        ("question_hours = 24", "question_hours = -1"),
        ("question_hours = 24", "question_hours = inf"),
        ("question_hours = 24", "question_hours = nan"),
        ("hours_for = { sign_off = 72 }", "hours_for = { consent = 0 }"),
        ("trusted = true", "trusted = true\ntimeout_seconds = 0"),
        ("[prompt]", "[prompt]\nresource_max_chars = -1"),
        ("[prompt]", "[prompt]\ntools_share = 1.5"),
        ("[prompt]", "[prompt]\ntools_share = -0.1"),
        ("[model]", "[model]\nmax_tokens = 0"),
        ("[model]", "[model]\nthreads = 0"),
        ('staff = ["U_MAYA", "U_TOM"]', 'staff = ["U_MAYA", "S0123456789"]'),
    ],
)
def test_what_is_no_limit_and_who_is_no_person_is_refused_with_its_line(config: Path, old: str, new: str) -> None:
    path = changed(config, old, new)
    with pytest.raises(ConfigError) as refused:
        load(Path(path))
    key = new.splitlines()[-1].partition(" ")[0]
    line = next(n for n, text in enumerate(config.read_text().splitlines(), 1) if text == new.splitlines()[-1])
    assert f"line {line}" in str(refused.value)
    assert key in str(refused.value)
    if "S0123456789" in new:
        assert "S0123456789 is a user group, which is not supported yet: list its members' ids" in str(refused.value)


def test_a_second_process_on_one_database_is_refused_in_words(tmp_path: Path) -> None:
    settings = load(ROOT / "deskhand.toml", tmp_path)
    with alone(settings):
        for command in (("servers", "check"), ("servers", "pins"), ("up",)):
            tokens = {"SLACK_BOT_TOKEN": "xoxb-local", "SLACK_APP_TOKEN": "xapp-local"}
            said = one_line(deskhand(*command, "--state", str(tmp_path), **tokens))
            assert f"{tmp_path}/deskhand.db is in use by process {os.getpid()}" in said
            assert "stop that first" in said
    with alone(settings):
        pass


def test_what_answers_by_script_works_on_a_new_database_alone(tmp_path: Path) -> None:
    (tmp_path / "deskhand.db").touch()
    for command in (("queue", "--tickets", "T-0004"), ("ask", "Where is my order?", "--as", "U_MAYA")):
        said = one_line(deskhand(*command, "--model", "recorded", "--state", str(tmp_path)))
        assert "deskhand.db is there already" in said
        assert "--state" in said


def test_a_shared_database_is_never_worked_by_scripted_people(config: Path, tmp_path: Path) -> None:
    path = changed(config, "[roles]", '[database]\nurl = "postgresql://desk@db.example/desk"\n\n[roles]')
    settings = apart(load(Path(path), tmp_path / "new"))
    assert settings.database.url == f"sqlite:///{tmp_path}/new/deskhand.db"


@pytest.mark.parametrize("command", [("queue", "--all"), ("record", "--all")])
def test_scripted_people_do_not_answer_for_live_servers(config: Path, command: tuple[str, ...]) -> None:
    path = changed(config, 'command = ["{python}", "-m", "servers.partner"]', 'url = "http://127.0.0.1:9/mcp"')
    said = one_line(deskhand(*command, "--config", path))
    assert "partner" in said
    assert "--on-live-servers" in said
    check_servers(load(Path(path)), True)


def test_somebody_whom_no_role_lists_is_nobody_at_the_terminal() -> None:
    said = one_line(deskhand("ask", "Where is my order?", "--as", "U_SOL"))
    assert "[roles] lists no such user; there are: U_MAYA" in said


def test_a_queue_needs_to_be_told_which_tickets() -> None:
    assert "--all" in one_line(deskhand("queue"))


def test_a_ticket_that_is_not_in_the_file_is_named() -> None:
    assert "T-9999" in one_line(deskhand("queue", "--tickets", "T-9999"))


def test_a_file_with_no_good_line_says_what_a_line_looks_like(tmp_path: Path) -> None:
    bad = tmp_path / "tickets.jsonl"
    bad.write_text('{"id": "T-9001"\n', encoding="utf-8")
    done = deskhand("queue", "--file", str(bad))
    assert done.returncode != 0
    assert "line 1" in done.stderr
    assert "one JSON object a line" in done.stderr


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = one_line(deskhand("demo", "--port", str(port), "--state", str(tmp_path / "demo")))
    assert f"port {port} is taken" in said


def test_the_queue_replays_recordings_of_the_real_model(tmp_path: Path) -> None:
    report = tmp_path / "out.json"
    done = deskhand("queue", "--all", "--staff", "approve", "--lead", "decline", "--model", "recorded", "--json", str(report))
    assert done.returncode == 0, done.stderr
    figures = json.loads(report.read_text(encoding="utf-8"))
    assert figures["tickets_worked"] == 48
    assert figures["quote_refund_tickets_issued"] == 0
    assert figures["injected_tickets_issued"] == 0
    assert set(figures["consent_asked_for"]) <= {"shop.issue_refund", "partner.track_parcel"}
    assert all(ticket["draft"] or ticket["stop_reason"] != "answered" for ticket in figures["tickets"])
    assert figures["tool_calls"].get("unreadable", 0) == 0


def test_a_report_into_a_folder_that_is_not_there_is_told_before_the_work(tmp_path: Path) -> None:
    said = one_line(deskhand("queue", "--all", "--json", str(tmp_path / "nowhere" / "out.json")))
    assert "there is no folder" in said


def test_what_others_wrote_can_neither_style_the_terminal_nor_break_the_line() -> None:
    said = io.StringIO()
    console = Console(file=said, force_terminal=True, width=200, highlight=False)
    console.print(foreign("\x1b[2Jlost [/usr/lib/x] [bold]Allow it?"))
    assert said.getvalue().rstrip("\n") == "⟦U+001B⟧[2Jlost [/usr/lib/x] [bold]Allow it?"


def test_each_server_is_told_in_one_line_with_its_tools_and_their_share() -> None:
    done = deskhand("servers", "check")
    assert done.returncode == 0, done.stderr
    shop = next(line for line in done.stdout.splitlines() if line.startswith("shop: connected"))
    for part in ("protocol 2026-07-28", "5 tools, 5 usable", "of the model's context", "calls itself kitchen-and-garden-shop"):
        assert part in shop
    listed = deskhand("servers", "tools").stdout
    assert "shop.issue_refund: effect, usable" in listed
    assert "partner.track_parcel: read, usable" in listed


def test_a_changed_tool_is_shown_with_its_difference_and_accepted_by_name(config: Path, tmp_path: Path) -> None:
    drifting = f'command = ["{{python}}", "-m", "servers.partner", "--variant", "drifting", "--state", "{tmp_path}/drift.txt"]'
    path = changed(config, 'command = ["{python}", "-m", "servers.partner"]', drifting)
    state = str(tmp_path / "state")
    first = deskhand("servers", "pins", "--config", path, "--state", state)
    assert "as it was accepted" in first.stdout, first.stderr
    seen = deskhand("servers", "pins", "--config", path, "--state", state)
    assert "partner.track_parcel" in seen.stdout
    assert "description changed" in seen.stdout
    assert "now: Track a parcel by its tracking number, e.g. FX-48213377." in seen.stdout
    assert "argument customer_email is new" in seen.stdout
    accepted = deskhand("servers", "pins", "--accept", "partner.track_parcel", "--config", path, "--state", state)
    assert "is accepted" in accepted.stdout, accepted.stderr
    assert "as it was accepted" in deskhand("servers", "pins", "--config", path, "--state", state).stdout
    assert "not waiting" in one_line(deskhand("servers", "pins", "--accept", "shop.nothing", "--config", path, "--state", state))
