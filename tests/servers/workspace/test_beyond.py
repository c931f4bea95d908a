"""Beyond the channel: state over a restart, the customer's side, the books, the supervisor, the command itself."""

import asyncio
import contextlib
import json
import os
import signal
import sys

import anyio
import pytest
from aiohttp import web

pytestmark = pytest.mark.anyio

MAIL = {"receipt": "M-0001", "ticket_id": "T-0101", "to": "ines@example.com", "from": "help@example.com", "subject": "Re: pan"}


@contextlib.asynccontextmanager
async def _neighbour(*routes):
    """A small HTTP server that answers as a shop or supervisor would."""
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _get(desk, path):
    async with desk.http.get(f"{desk.url}{path}") as response:
        return await response.json()


async def _post(desk, path, **body):
    async with desk.http.post(f"{desk.url}{path}", json=body) as response:
        return await response.json()


async def test_messages_pins_modals_and_home_survive_a_restart(serve_with, tmp_path):
    state = tmp_path / "state.sqlite"
    async with serve_with(state=state) as desk:
        client = desk.client()
        first = await client.chat_postMessage(channel="C_SUPPORT", text="kept", metadata={"event_type": "e", "event_payload": {}})
        await client.pins_add(channel="C_SUPPORT", timestamp=first["ts"])
        await client.chat_postEphemeral(channel="C_SUPPORT", user="U_LEA", text="psst")
        section = {"type": "section", "text": {"type": "plain_text", "text": "x"}}
        await client.views_publish(user_id="U_LEA", view={"type": "home", "blocks": [section]})
        before = await desk.state()
    async with serve_with(state=state) as desk:
        after = await desk.state()
        later = await desk.client().chat_postMessage(channel="C_SUPPORT", text="later")
        assert later["ts"] > first["ts"]
        await desk.do("reset")
    assert after["channels"] == before["channels"]
    assert (after["pins"], after["homes"], after["ephemerals"]) == (before["pins"], before["homes"], before["ephemerals"])
    async with serve_with(state=state) as desk:
        assert (await desk.state())["channels"]["C_SUPPORT"]["messages"] == []


async def test_a_customers_ticket_goes_to_the_shop_and_then_to_the_intake(serve_with, tmp_path):
    got = []

    async def take(request):
        got.append(await request.json())
        ticket = {"id": "T-0101", "customer_id": "C-0129", "sender_verified": True, "subject": "Pan", "body": "It broke."}
        return web.json_response({**ticket, "received_at": "2026-05-20T09:00:00Z", "language": "en"}, status=201)

    async with _neighbour(web.post("/tickets", take)) as shop:
        intake = tmp_path / "in" / "tickets.jsonl"
        async with serve_with(shop=shop, customer_intake=intake) as desk:
            letter = {"name": "Ines Vogel", "email": "ines@example.com", "subject": "Pan", "body": "It broke."}
            answer = await _post(desk, "/page/ticket", **letter)
            assert answer["ticket"]["id"] == "T-0101"
            assert not (await _post(desk, "/page/ticket", **{**letter, "body": " "}))["ok"]
    assert got[0]["from"] == {"name": "Ines Vogel", "email": "ines@example.com"}
    lines = [json.loads(line) for line in intake.read_text("utf-8").splitlines()]
    assert [(line["id"], line["customer_id"]) for line in lines] == [("T-0101", "C-0129")]


async def test_customers_and_refunds_are_the_shops_own(serve_with):
    async def customers(_request):
        return web.json_response([{"customer_id": "C-0129", "name": "Ines Vogel", "email": "ines@example.com"}])

    async with _neighbour(web.get("/customers", customers)) as shop, serve_with(shop=shop) as desk:
        assert (await _get(desk, "/page/customers"))["customers"][0]["customer_id"] == "C-0129"
        assert not (await _get(desk, "/page/refunds"))["ok"]


async def test_the_inbox_shows_sent_replies_newest_first_and_skips_what_is_no_mail(serve_with, tmp_path):
    for n in (1, 2):
        mail = {**MAIL, "receipt": f"M-000{n}", "body": "Dear Ines", "sent_at": f"2026-05-20T10:0{n}:00Z"}
        (tmp_path / f"{n}.json").write_text(json.dumps(mail), "utf-8")
    (tmp_path / "3.json").write_text("{half", "utf-8")
    async with serve_with(mail=tmp_path) as desk:
        inbox = await _get(desk, "/page/inbox")
    assert [mail["receipt"] for mail in inbox["mails"]] == ["M-0002", "M-0001"]


async def test_the_page_hears_of_changes_as_they_happen(serve_with, tmp_path):
    async with serve_with(mail=tmp_path) as desk, desk.http.get(f"{desk.url}/page/events") as stream:
        with anyio.fail_after(10):
            assert (await stream.content.readline()).startswith(b"retry")
            await stream.content.readline()
            await desk.client().chat_postMessage(channel="C_SUPPORT", text="live")
            kinds = [json.loads((await _line(stream))[6:])["kind"] for _ in range(2)]
            assert sorted(kinds) == ["call", "message"]
            (tmp_path / "1.json").write_text(json.dumps(MAIL), "utf-8")
            assert json.loads((await _line(stream))[6:])["kind"] == "mail"


async def _line(stream) -> bytes:
    while not (line := await stream.content.readline()).startswith(b"data: "):
        assert line
    return line


async def test_the_supervisors_status_and_orders_pass_through(serve_with):
    status = {"model": {"state": "fetching", "detail": "34 %"}, "bot": {"state": "up", "pid": 7}}
    orders = []

    async def show(_request):
        return web.json_response(status)

    async def obey(request):
        orders.append(request.path)
        return web.json_response({})

    routes = [web.get("/status", show), web.post("/kill-bot", obey), web.post("/reset", obey)]
    async with _neighbour(*routes) as supervisor, serve_with(supervisor=supervisor) as desk:
        assert (await _get(desk, "/page/supervisor"))["status"] == status
        assert (await _post(desk, "/page/kill-bot"))["ok"]
        assert (await _post(desk, "/page/reset-everything"))["ok"]
    assert orders == ["/kill-bot", "/reset"]


async def test_what_is_not_connected_says_how_to_connect_it(desk):
    assert "--shop" in (await _get(desk, "/page/customers"))["detail"]
    assert "--customer-intake" in (await _post(desk, "/page/ticket", subject="x"))["detail"]
    assert "--supervisor" in (await _post(desk, "/page/kill-bot"))["detail"]
    assert (await _get(desk, "/page/supervisor"))["configured"] is False


async def _start(*options):
    command = [sys.executable, "-m", "servers.workspace", *options]
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    return await asyncio.create_subprocess_exec(*command, **pipes, env={**os.environ, "PYTHONUNBUFFERED": "1"})


async def test_the_command_says_where_it_is_and_ends_on_sigterm(tmp_path):
    process = await _start("--port", "0", "--state", str(tmp_path / "s.sqlite"))
    with anyio.fail_after(20):
        line = (await process.stdout.readline()).decode()
        assert line.startswith("workspace ready at http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--manifest", "/nowhere.yml"], "give the path"), (["--state", "/proc/nowhere/state"], "give a path that can be written")],
)
async def test_a_bad_option_is_one_line_and_exit_code_2(options, words):
    process = await _start(*options)
    with anyio.fail_after(20):
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert words in errors.decode()
    assert errors.decode().count("\n") == 1


async def test_a_taken_port_is_one_line_and_exit_code_2(desk):
    process = await _start("--port", desk.url.rsplit(":", 1)[1])
    with anyio.fail_after(20):
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert "is taken" in errors.decode()
