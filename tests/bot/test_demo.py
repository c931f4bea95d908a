"""The demo's own HTTP side: for programs on this machine alone."""

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.demo.supervisor import panel

pytestmark = pytest.mark.anyio
HERE = "http://127.0.0.1:4711"


async def asked(url: str, **headers: str) -> int:
    async def reset(_: Request) -> JSONResponse:
        return JSONResponse({"ok": True})

    app = panel([Route("/reset", reset, methods=["POST"])])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:
        return (await http.post(url, headers=headers)).status_code


async def test_a_program_on_this_machine_may_reset():
    assert await asked(f"{HERE}/reset") == 200


async def test_a_page_of_a_browser_may_not():
    assert await asked(f"{HERE}/reset", Origin="https://elsewhere.example.com") == 403
    assert await asked(f"{HERE}/reset", Origin="null") == 403


async def test_another_name_for_this_machine_is_refused():
    assert await asked("http://elsewhere.example.com:4711/reset") == 400
