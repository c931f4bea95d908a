"""The local engine on the real model: killed, hung and cancelled it costs a call, and keeping a prefix changes nothing."""

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest

from models import catalogue
from models.errors import GrammarError, ModelSetupError, ModelUnavailableError, PromptTooLongError
from models.llama import EngineSettings, LlamaModel
from models.port import Call, Message, Offer, Reply, Request, Sampling

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.timeout(300)]

EMBEDDED = catalogue.default(catalogue.load())
SYSTEM = Message("system", "You work tickets of a shop. Look an order up before you reply. " * 4)
STATUS = Offer(
    "shop.get_order_status",
    {"type": "object", "properties": {"order_id": {"type": "string", "enum": ["O-1744"]}}, "required": ["order_id"]},
)
REPLY = Offer("desk.reply", {"type": "object", "properties": {"text": {"type": "string", "maxLength": 60}}, "required": ["text"]})
LONG = Offer("desk.reply", {"type": "object", "properties": {"text": {"type": "string", "minLength": 900}}, "required": ["text"]})
ASK = Message("user", "Where is order O-1744?")


def asked(*messages: Message, offers: tuple[Offer, ...] = (STATUS,), **sampling: float) -> Request:
    return Request((SYSTEM, *messages), (), offers, Sampling(**{"max_tokens": 96, **sampling}))  # type: ignore[arg-type]


async def test_a_reply_is_a_call_of_an_offered_tool_with_a_grounded_value(llama: LlamaModel) -> None:
    reply = await llama.reply(asked(ASK))
    assert reply.calls == (Call("shop.get_order_status", {"order_id": "O-1744"}),)
    assert reply.usage.forced_tokens > reply.usage.sampled_tokens


async def test_a_shared_prefix_is_evaluated_once_and_a_warm_reply_is_the_cold_one(
    llama: LlamaModel, model_path: Path, engine_settings: EngineSettings
) -> None:
    turns = [
        asked(ASK, offers=(REPLY,)),
        asked(
            ASK,
            Message("assistant", "", (Call("shop.get_order_status", {"order_id": "O-1744"}),)),
            Message("tool", '{"state": "sent"}'),
            offers=(REPLY,),
        ),
        asked(Message("user", "Is the hose KG-1034 in stock again?"), offers=(REPLY,)),
    ]
    warm = [await llama.reply(turn) for turn in turns]
    for turn, before in zip(turns[1:], warm[1:], strict=True):
        async with LlamaModel(model_path, engine_settings) as fresh:
            cold = await fresh.reply(turn)
        assert cold.raw == before.raw
        assert cold.usage.evaluated_tokens == cold.usage.prompt_tokens
    assert all(reply.usage.evaluated_tokens < reply.usage.prompt_tokens / 2 for reply in warm[1:])


async def test_words_come_when_no_tool_is_offered(llama: LlamaModel) -> None:
    reply = await llama.reply(asked(Message("user", "Say only: hello"), offers=(), max_tokens=40))
    assert reply.text
    assert reply.calls == ()


async def test_temperature_follows_its_seed(llama: LlamaModel) -> None:
    first, again, other = [
        (await llama.reply(asked(ASK, offers=(REPLY,), temperature=1.5, seed=seed, max_tokens=32))).raw for seed in (1, 1, 2)
    ]
    assert first == again
    assert first != other


async def test_a_reply_cut_off_inside_the_grammar_is_unreadable(llama: LlamaModel) -> None:
    reply = await llama.reply(asked(ASK, offers=(LONG,), max_tokens=24))
    assert reply.unreadable == "the reply was cut off after 24 tokens"
    assert reply.raw.startswith("<tool_call>")


async def test_a_prompt_too_long_is_refused_before_decoding(llama: LlamaModel) -> None:
    with anyio.fail_after(5), pytest.raises(PromptTooLongError, match="more than the context of 2048"):
        await llama.reply(asked(Message("user", "word " * 2100)))


async def test_a_schema_that_is_no_grammar_names_its_tool_and_the_engine_goes_on(llama: LlamaModel) -> None:
    broken = Offer("shop.odd", {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]})
    pid = llama.pid
    with pytest.raises(GrammarError, match=r"^shop\.odd: "):
        await llama.reply(asked(ASK, offers=(STATUS, broken)))
    assert (await llama.reply(asked(ASK))).calls
    assert llama.pid == pid


@pytest.mark.parametrize("when", ["in the prompt", "in the reply"])
async def test_cancelling_stops_within_a_second_and_the_engine_answers_the_next_call(llama: LlamaModel, when: str) -> None:
    far = Message("user", "Please look at this. " * 300) if when == "in the prompt" else Message("user", "Tell me all.")
    started = time.monotonic()
    with anyio.move_on_after(0.5 if when == "in the prompt" else 1.5) as scope:
        await llama.reply(asked(far, offers=(LONG,), max_tokens=400))
    assert scope.cancelled_caught
    assert time.monotonic() - started < (0.5 if when == "in the prompt" else 1.5) + 1.5
    with anyio.fail_after(60):
        assert (await llama.reply(asked(ASK))).calls


async def test_an_engine_killed_in_a_call_costs_only_a_retry(llama: LlamaModel) -> None:
    replies: list[Reply] = []

    async def call() -> None:
        replies.append(await llama.reply(asked(Message("user", "Tell me more. " * 60), offers=(REPLY,))))

    before, restarts = llama.pid, llama.restarts
    assert before
    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await busy(before)
            os.kill(before, signal.SIGKILL)
    assert replies[0].calls
    assert llama.restarts == restarts + 1
    assert llama.pid != before


async def busy(pid: int) -> None:
    """Until the engine is really decoding: it uses a processor."""
    process = psutil.Process(pid)
    while await anyio.to_thread.run_sync(process.cpu_percent, 0.1) < 20:
        pass


async def test_a_hung_engine_is_replaced(model_path: Path) -> None:
    async with LlamaModel(model_path, EngineSettings(context=512, niceness=0, silence=3)) as model:
        await model.start()
        assert model.pid
        os.kill(model.pid, signal.SIGSTOP)
        with anyio.fail_after(120):
            reply = await model.reply(asked(ASK))
        assert reply.calls
        assert model.restarts == 1


async def test_an_engine_lost_twice_is_an_error_and_leaves_no_process(model_path: Path) -> None:
    async with LlamaModel(model_path, EngineSettings(context=512, niceness=0, timeout=0.01)) as model:
        with anyio.fail_after(120), pytest.raises(ModelUnavailableError, match="lost twice"):
            await model.reply(asked(ASK))
        assert model.pid is None
        assert not [
            child
            for child in psutil.Process().children()
            if str(model_path) in " ".join(child.cmdline()) and "--context=512" in child.cmdline()
        ]


async def test_the_engine_ends_with_its_parent(model_path: Path) -> None:
    script = (
        "import anyio, sys; from pathlib import Path; from models.llama import *\n"
        "async def main():\n"
        f"    async with LlamaModel(Path({str(model_path)!r}), EngineSettings(context=512)) as m:\n"
        "        await m.start(); print(m.pid, flush=True); await anyio.sleep_forever()\n"
        "anyio.run(main)"
    )
    with anyio.fail_after(60):
        async with await anyio.open_process([sys.executable, "-c", script]) as parent:
            assert parent.stdout
            pid = int(await parent.stdout.receive())
            engine = psutil.Process(pid)
            assert engine.nice() == 10
            parent.kill()
            await parent.wait()
        await anyio.to_thread.run_sync(lambda: psutil.wait_procs([engine], timeout=10))
    assert not engine.is_running()


async def test_the_engines_memory_and_the_parents_imports(llama: LlamaModel) -> None:
    assert llama.pid
    status = await anyio.Path(f"/proc/{llama.pid}/status").read_text()
    anonymous = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))
    assert anonymous < 1_200_000
    done = await anyio.run_process([sys.executable, "-c", "import models.llama, sys; print('llama_cpp' in sys.modules)"])
    assert done.stdout == b"False\n"


async def test_no_file_a_wrong_file_and_a_damaged_file_say_what_to_do(tmp_path: Path) -> None:
    wrong, damaged = tmp_path / EMBEDDED.file, tmp_path / "own.gguf"
    await anyio.to_thread.run_sync(wrong.write_bytes, b"GGUF")
    await anyio.to_thread.run_sync(damaged.write_bytes, b"GGUF" * 100)
    for path, words in ((tmp_path / "none.gguf", "deskhand model fetch"), (wrong, "wrong size: delete it")):
        with pytest.raises(ModelSetupError, match=words):
            async with LlamaModel(path):
                pass
    async with LlamaModel(damaged) as model:
        with pytest.raises(ModelSetupError, match="a whole GGUF file"):
            await model.start()


async def test_info_names_the_file_and_its_digest(llama: LlamaModel) -> None:
    assert (llama.info.kind, llama.info.file, llama.info.sha256) == ("llama", EMBEDDED.file, EMBEDDED.sha256)
