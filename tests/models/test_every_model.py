"""What every model keeps, whichever stands behind the port (spec M1): one body, all implementations."""

from collections.abc import AsyncIterator

import anyio
import pytest

from models.llama import LlamaModel
from models.port import Call, Message, Model, Offer, Request, Sampling, ToolSpec
from models.recorded import RecordedModel
from models.recorder import Recorder
from models.scripted import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string", "enum": ["O-1744"]}}, "required": ["order_id"]}
REQUEST = Request(
    (Message("system", "Look orders up."), Message("user", "Where is order O-1744?")),
    (ToolSpec("shop.get_order_status", "The state of one order.", SCHEMA),),
    (Offer("shop.get_order_status", SCHEMA),),
    Sampling(max_tokens=64),
)
CALL = Call("shop.get_order_status", {"order_id": "O-1744"})


@pytest.fixture(scope="module", params=["scripted", "recorded", "recorder", pytest.param("llama", marks=pytest.mark.model)])
async def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Model]:
    scripted = ScriptedModel(lambda _request: call(CALL.name, **CALL.arguments))
    folder = tmp_path_factory.mktemp("recording")
    made: Model
    match request.param:
        case "scripted":
            made = scripted
        case "recorder":
            made = Recorder(scripted, folder)
        case "recorded":
            async with Recorder(scripted, folder) as recorder:
                await recorder.reply(REQUEST)
            made = RecordedModel(folder)
        case _:
            made = LlamaModel(request.getfixturevalue("model_path"), request.getfixturevalue("engine_settings"))
    async with made as entered:
        yield entered


async def test_it_answers_the_same_request_the_same_way_with_readable_calls(model: Model) -> None:
    first, again = [await model.reply(REQUEST) for _ in range(2)]
    assert (first.calls, first.unreadable, first.text) == ((CALL,), None, "")
    assert (again.raw, again.calls) == (first.raw, first.calls)
    assert first.raw == '<tool_call>\n{"name": "shop.get_order_status", "arguments": {"order_id": "O-1744"}}\n</tool_call>'


async def test_it_says_what_it_is_by_name_and_never_by_path(model: Model) -> None:
    await model.reply(REQUEST)
    assert model.info.name
    assert "/" not in model.info.file


async def test_two_at_a_time_both_get_their_answer(model: Model) -> None:
    replies = []

    async def ask() -> None:
        replies.append(await model.reply(REQUEST))

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
    assert [reply.calls for reply in replies] == [(CALL,), (CALL,)]


async def test_a_cancelled_call_ends_and_the_next_one_is_answered(model: Model) -> None:
    with anyio.fail_after(120):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await model.reply(REQUEST)
        assert scope.cancelled_caught
        assert (await model.reply(REQUEST)).calls == (CALL,)
