"""Nobody but the workspace's own page and programs on this machine may ask: Host and Origin are checked on everything."""

import pytest

pytestmark = pytest.mark.anyio

CLICK = {"user": "U_LEA", "ts": "1.000001", "action_id": "approve"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Content-Type": "text/plain"},
    ],
)
@pytest.mark.parametrize("path", ["/control/click", "/page/reset-everything"])
async def test_another_pages_post_is_refused(desk, path, headers):
    as_json = {"Content-Type": "application/json"}
    async with desk.http.post(f"{desk.url}{path}", data=b"{}", headers={**as_json, **headers}) as response:
        assert response.status == 403
        assert (await response.json())["error"] == "forbidden"


@pytest.mark.parametrize(
    "path", ["/", "/page/state", "/page/events", "/control/state", "/api/auth.test", "/link/", "/static/main.js"]
)
async def test_a_foreign_origin_or_host_is_refused_everywhere(desk, path):
    for headers in ({"Origin": "https://evil.example"}, {"Host": "rebound.example"}):
        async with desk.http.get(f"{desk.url}{path}", headers=headers) as response:
            assert response.status == 403


async def test_the_own_page_may_ask(desk):
    own = {"Origin": desk.url, "Sec-Fetch-Site": "same-origin"}
    async with desk.http.post(f"{desk.url}/control/click", json=CLICK, headers=own) as response:
        assert (await response.json())["error"] == "message_not_found"


async def test_a_link_may_lead_to_the_page_but_to_nothing_else(desk):
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    async with desk.http.get(f"{desk.url}/", headers=followed) as response:
        assert response.status == 200
    async with desk.http.get(f"{desk.url}/control/state", headers=followed) as response:
        assert response.status == 403


async def test_even_a_missing_file_answers_with_the_strict_headers(desk):
    async with desk.http.get(f"{desk.url}/static/nothing.js") as response:
        assert response.status == 404
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


async def test_every_answer_forbids_scripts_frames_and_loads_from_elsewhere(desk):
    async with desk.http.get(f"{desk.url}/") as response:
        policy = response.headers["Content-Security-Policy"]
        assert response.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
