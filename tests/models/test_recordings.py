"""Recorded once, replayed exactly; a prompt never met is an error that says how to record again (spec M7)."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from models.errors import ModelSetupError, UnknownPromptError
from models.fingerprint import digest, prefix_digest
from models.port import Call, Message, Model, Offer, Reply, Request, Sampling, ToolSpec, Usage
from models.recorded import RecordedModel
from models.recorder import Recorder
from models.scripted import ScriptedModel, batch, call, raw, say

pytestmark = pytest.mark.anyio

TOOL = ToolSpec("shop.find_orders", "Lists orders.", {"type": "object", "properties": {}})
REQUEST = Request((Message("system", "Rules."), Message("user", "Where is it? 🙂")), (TOOL,), (Offer(TOOL.name, TOOL.schema),))
OTHER = replace(REQUEST, messages=(*REQUEST.messages, Message("tool", "result")))
REPLIES = [
    replace(call("shop.find_orders", since="2026-11-01"), usage=Usage(10, 5, 3, 2, 0.5)),
    say("Your parcel ist unterwegs: é\n"),
    batch(Call("a", {}), Call("b", {"x": [1, None]})),
    raw("<tool_call>nothing"),
]


async def record(folder: Path, model: Model, *requests: Request) -> None:
    async with Recorder(model, folder, prompt_digest="abc", host={"limit": "150.00"}) as recorder:
        for request in requests:
            await recorder.reply(request)


@pytest.mark.parametrize("reply", REPLIES, ids=["call", "words", "batch", "unreadable"])
async def test_a_reply_comes_back_as_it_was(tmp_path: Path, reply: Reply) -> None:
    await record(tmp_path / "new" / "folder", ScriptedModel([reply]), REQUEST)
    async with RecordedModel(tmp_path / "new" / "folder") as model:
        assert await model.reply(REQUEST) == reply
        assert await model.reply(REQUEST) == reply


async def test_runs_append_and_the_manifest_says_what_each_was_made_with(tmp_path: Path) -> None:
    await record(tmp_path, ScriptedModel([say("one")], name="first"), REQUEST)
    await record(tmp_path, ScriptedModel([say("two"), say("newer")], name="second"), OTHER, REQUEST)
    async with RecordedModel(tmp_path) as model:
        assert [(run["model"]["name"], run["calls"], len(run["seconds"])) for run in model.runs] == [
            ("first", 1, 1),
            ("second", 2, 2),
        ]
        assert model.runs[0]["host"] == {"limit": "150.00"}
        assert model.runs[0]["prompt_digest"] == "abc"
        assert model.runs[0]["sampling"] == {"temperature": 0.0, "seed": 0, "max_tokens": 512}
        assert (model.info.kind, model.info.name) == ("recorded", "second")
        assert [(await model.reply(request)).text for request in (OTHER, REQUEST)] == ["two", "newer"]
    assert sorted([path.name async for path in anyio.Path(tmp_path).iterdir()]) == ["manifest.json", "replies.jsonl"]


async def test_each_reply_is_on_disk_before_the_next_is_asked(tmp_path: Path) -> None:
    async with Recorder(ScriptedModel([say("one"), say("two")]), tmp_path) as recorder:
        await recorder.reply(REQUEST)
        async with RecordedModel(tmp_path) as model:
            assert (await model.reply(REQUEST)).text == "one"
            with pytest.raises(UnknownPromptError):
                await model.reply(OTHER)


@pytest.mark.parametrize(
    "changed",
    [
        OTHER,
        replace(REQUEST, tools=(replace(TOOL, description="Lists order."),)),
        replace(REQUEST, offers=()),
        replace(REQUEST, sampling=Sampling(max_tokens=511)),
        replace(REQUEST, messages=(REQUEST.messages[0], Message("assistant", REQUEST.messages[1].content))),
    ],
)
async def test_any_other_prompt_is_an_error_that_says_how_to_record_it(tmp_path: Path, changed: Request) -> None:
    await record(tmp_path, ScriptedModel([say("one")]), REQUEST)
    async with RecordedModel(tmp_path) as model:
        with pytest.raises(UnknownPromptError, match="record again with `deskhand record`"):
            await model.reply(changed)


async def test_a_folder_without_a_recording_and_a_broken_one_say_so(tmp_path: Path) -> None:
    with pytest.raises(ModelSetupError, match="make one with `deskhand record`"):
        async with RecordedModel(tmp_path):
            pass
    await record(tmp_path, ScriptedModel([say("one")]), REQUEST)
    with (tmp_path / "replies.jsonl").open("a") as file:
        file.write('{"digest": "x"')
    with pytest.raises(ModelSetupError, match=r"replies\.jsonl, line 2: not a recorded reply"):
        async with RecordedModel(tmp_path):
            pass
    (tmp_path / "manifest.json").write_text(json.dumps({"version": 9, "runs": []}))
    for model in (RecordedModel(tmp_path), Recorder(ScriptedModel([]), tmp_path)):
        with pytest.raises(ModelSetupError, match="not a manifest of version 1"):
            async with model:
                pass


def test_digests_follow_content_not_identity_and_keep_the_order_of_keys() -> None:
    same = replace(REQUEST, messages=tuple(replace(message) for message in REQUEST.messages))
    assert digest(same) == digest(REQUEST)
    ab, ba = (replace(REQUEST, tools=(replace(TOOL, schema=schema),)) for schema in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert digest(ab) != digest(ba)
    assert prefix_digest(REQUEST.messages[:1], REQUEST.tools) == prefix_digest(OTHER.messages[:1], OTHER.tools)
    assert prefix_digest(REQUEST.messages, ()) != prefix_digest(REQUEST.messages, REQUEST.tools)


def test_half_a_character_in_a_ticket_does_not_stop_a_digest() -> None:
    assert digest(replace(REQUEST, messages=(Message("user", "\ud83d"),)))
