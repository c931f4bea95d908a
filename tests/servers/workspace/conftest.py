"""A served workspace, a client for its control API, and foreign apps that know nothing of this project."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from servers.workspace.app import serve
from servers.workspace.settings import Settings

Json = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """A running workspace as a test sees it: its address, and people's hands through the control API."""

    url: str
    http: aiohttp.ClientSession

    async def do(self, verb: str, **order: object) -> Json:
        """POST /control/{verb}."""
        async with self.http.post(f"{self.url}/control/{verb}", json=order) as response:
            answer: Json = await response.json()
            return answer

    async def state(self) -> Json:
        """GET /control/state."""
        async with self.http.get(f"{self.url}/control/state") as response:
            answer: Json = await response.json()
            return answer

    async def wait(self, **order: object) -> Json:
        """Wait for something, and fail when it does not come."""
        answer = await self.do("wait", **order)
        assert answer["ok"], answer["detail"]
        return answer

    def client(self, token: str = "xoxb-local") -> AsyncWebClient:
        """A Web API client without hidden retries."""
        return AsyncWebClient(token=token, base_url=f"{self.url}/api/", retry_handlers=[])

    @contextlib.asynccontextmanager
    async def running(self, app: AsyncApp) -> AsyncIterator[AsyncApp]:
        """An app connected over Socket Mode."""
        handler = AsyncSocketModeHandler(app, "xapp-local")
        await handler.connect_async()
        try:
            await self.wait(what="connected")
            yield app
        finally:
            await handler.close_async()

    def app(self) -> AsyncApp:
        """An app with no listeners yet."""
        return AsyncApp(client=self.client())


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with serving(Settings(ack_seconds=0.6)) as served:
        yield served


@contextlib.asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Desk]:
    async with serve(settings) as running, aiohttp.ClientSession() as http:
        yield Desk(running.url, http)


@pytest.fixture
def serve_with() -> Callable[..., contextlib.AbstractAsyncContextManager[Desk]]:
    """Starts a workspace with settings of the test's own."""
    return lambda **settings: serving(Settings(**{"ack_seconds": 0.6, **settings}))


@pytest.fixture
def foreign() -> Callable[[Desk], AsyncApp]:
    """A ten-line app of somebody else's: a slash command, a button, a modal."""
    return _foreign


def _foreign(desk: Desk) -> AsyncApp:
    app = desk.app()

    @app.command("/deskhand")
    async def greet(ack: Any, say: Any, command: Json) -> None:
        await ack(f"you said {command['text']}")
        button = {"type": "button", "action_id": "order", "text": {"type": "plain_text", "text": "Order lunch"}, "value": "42"}
        await say(text="Lunch?", blocks=[{"type": "actions", "block_id": "lunch", "elements": [button]}])

    @app.action("order")
    async def ask(ack: Any, client: Any, body: Json) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=_form(body["message"]["ts"]))

    @app.view("lunch")
    async def ordered(ack: Any, client: Any, view: Json, body: Json) -> None:
        values = view["state"]["values"]
        if values["dish"]["dish"]["value"] == "stone":
            await ack(response_action="errors", errors={"dish": "Not edible."})
            return
        await ack()
        size = values["size"]["size"]["selected_option"]["value"]
        text = f"{body['user']['name']} orders {values['dish']['dish']['value']}, {size}"
        await client.chat_update(channel="C_SUPPORT", ts=view["private_metadata"], text=text)

    return app


def _form(ts: str) -> Json:
    plain = lambda text: {"type": "plain_text", "text": text}  # noqa: E731 - a word for it
    sizes = [{"text": plain("Small"), "value": "s"}, {"text": plain("Large"), "value": "l"}]
    dish = {"type": "plain_text_input", "action_id": "dish", "max_length": 20}
    size = {"type": "static_select", "action_id": "size", "options": sizes, "initial_option": sizes[0]}
    blocks = [
        {"type": "input", "block_id": "dish", "label": plain("Dish"), "hint": plain("What you like"), "element": dish},
        {"type": "input", "block_id": "size", "label": plain("Size"), "element": size},
    ]
    texts = {"title": plain("Lunch"), "submit": plain("Order"), "close": plain("Not now")}
    return {"type": "modal", "callback_id": "lunch", "private_metadata": ts, "blocks": blocks, **texts}
