"""What a 2025 server asks while its call is open: whose question it is, how long it may take, what ends it (spec H4, H15)."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.config import ServerConfig
from host.errors import Answered, Gone, TimedOut, Unavailable
from host.link import PROOF_SECONDS

pytestmark = pytest.mark.anyio

AGREED = {"action": "accept", "content": {"yes": True}}


class Person:
    """Answers when told to. `asked` holds what was asked so far."""

    def __init__(self, answer: Mapping[str, Any] = AGREED) -> None:
        self.asked: list[Any] = []
        self.came, self.answers, self.dropped = anyio.Event(), anyio.Event(), False
        self._answer = answer

    async def __call__(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(params)
        self.came.set()
        try:
            await self.answers.wait()
        except anyio.get_cancelled_exc_class():
            self.dropped = True
            raise
        return self._answer

    @classmethod
    def at_once(cls, answer: Mapping[str, Any] = AGREED) -> "Person":
        person = cls(answer)
        person.answers.set()
        return person


def old(wire: Any, **env: str) -> ServerConfig:
    return wire.child(wire.RAW, RAW_ERA="2025", **env)


async def test_nobody_asked_means_cancelled_never_declined(wire: Any) -> None:
    async with wire.connected(old=old(wire), new=wire.child(wire.RAW)) as sessions:
        assert sessions.asks_during_calls("old")
        assert not sessions.asks_during_calls("new")
        assert (await wire.call(sessions, "old", "ask")).text == "cancel None"


@pytest.mark.parametrize(
    ("answer", "told"),
    [(AGREED, "accept {'yes': True}"), ({"action": "decline"}, "decline None"), ({"action": "cancel"}, "cancel None")],
)
async def test_the_persons_answer_reaches_the_server(wire: Any, answer: Mapping[str, Any], told: str) -> None:
    async with wire.connected(old=old(wire)) as sessions:
        person = Person.at_once(answer)
        assert (await wire.call(sessions, "old", "ask", ask=person)).text == told
        assert person.asked == [
            {
                "mode": "form",
                "message": "Sure?",
                "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
            }
        ]


async def test_an_address_is_handed_on_as_it_was_sent(wire: Any) -> None:
    async with wire.connected(old=old(wire, RAW_REVISION="2025-11-25")) as sessions:
        person = Person.at_once({"action": "accept"})
        assert (await wire.call(sessions, "old", "ask_url", ask=person)).text == "accept None"
        assert person.asked == [
            {"mode": "url", "message": "Sign in first", "url": "https://shop.example.com/sign-in", "elicitationId": "e-1"}
        ]


async def test_two_questions_of_one_call_come_one_after_another(wire: Any) -> None:
    async with wire.connected(old=old(wire)) as sessions:
        person = Person.at_once()
        assert (await wire.call(sessions, "old", "ask_twice", ask=person)).text == "accept {'yes': True}"
        assert len(person.asked) == 2


async def test_the_calls_time_stands_still_while_a_person_thinks_and_starts_afresh_afterwards(wire: Any) -> None:
    async with wire.connected(old=old(wire), clock=wire.child(wire.RAW)) as sessions:
        met, person, replies = sessions.process("old"), Person(), []

        async def calling() -> None:
            replies.append(await wire.call(sessions, "old", "ask_slowly", ask=person, timeout=1.0))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling)
            await person.came.wait()
            with pytest.raises(TimedOut):  # meanwhile more than the call's time goes by
                await wire.call(sessions, "clock", "mute", timeout=1.2)
            person.answers.set()
        assert replies[0].text == "accept {'yes': True}"
        with pytest.raises(TimedOut):
            await wire.call(sessions, "old", "ask_and_hang", ask=Person.at_once(), timeout=0.4)
        assert sessions.process("old") == met  # it lives, and is not taken for mute


async def test_listings_work_while_a_question_is_open_and_calls_wait_their_turn(wire: Any) -> None:
    async with wire.connected(old=old(wire)) as sessions:
        person, order = Person(), []

        async def calling(tool: str, **more: Any) -> None:
            order.append((await wire.call(sessions, "old", tool, **more)).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: calling("ask", ask=person))
            await person.came.wait()
            assert "plain" in {tool.name for tool in await sessions.list_tools("old")}
            assert "plain" in {tool.name for tool in await sessions.list_tools("old")}
            with pytest.raises(Unavailable, match="old is busy: a question of an earlier call is open"):
                await wire.call(sessions, "old", "plain", timeout=0.2, retry_reads=True)
            tasks.start_soon(lambda: calling("plain", timeout=20))
            await anyio.wait_all_tasks_blocked()
            assert order == []
            person.answers.set()
        assert order == ["accept {'yes': True}", "as text"]


async def test_a_server_that_hears_nothing_else_while_it_asks_is_not_taken_for_dead(wire: Any) -> None:
    deaf = old(wire).model_copy(update={"timeout_seconds": 0.3})
    async with wire.connected(old=deaf, clock=wire.child(wire.RAW)) as sessions:
        met, person, replies = sessions.process("old"), Person(), []

        async def calling() -> None:
            replies.append(await wire.call(sessions, "old", "ask_and_hear_nothing_else", ask=person))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling)
            await person.came.wait()
            with pytest.raises(TimedOut):
                await sessions.read_resource("old", "raw://nothing")
            with pytest.raises(TimedOut):  # meanwhile a proof of life would have failed
                await wire.call(sessions, "clock", "mute", timeout=PROOF_SECONDS + 0.5)
            person.answers.set()
        assert replies[0].text == "accept {'yes': True}"
        assert sessions.process("old") == met


async def test_a_connection_that_dies_takes_its_question_along(wire: Any, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with wire.connected(old=old(wire, RAW_PID=str(pid))) as sessions:
        person = Person()

        async def calling() -> None:
            with pytest.raises(Gone):
                await wire.call(sessions, "old", "ask", ask=person)
            assert person.dropped  # before the call is over

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling)
            await person.came.wait()
            os.kill(int(pid.read_text()), signal.SIGKILL)
        assert (await wire.call(sessions, "old", "plain", timeout=20)).text == "as text"


async def test_a_read_that_a_person_was_asked_in_is_not_sent_again(wire: Any, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with wire.connected(old=old(wire, RAW_PID=str(pid))) as sessions:
        person = Person()

        async def calling() -> None:
            with pytest.raises(Gone):
                await wire.call(sessions, "old", "ask", ask=person, retry_reads=True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling)
            await person.came.wait()
            os.kill(int(pid.read_text()), signal.SIGKILL)
        assert len(person.asked) == 1


async def test_a_question_that_the_server_takes_back_is_dropped(wire: Any) -> None:
    async with wire.connected(old=old(wire)) as sessions:
        person = Person()
        assert (await wire.call(sessions, "old", "ask_and_withdraw", ask=person)).text == "withdrawn"
        assert person.dropped or not person.asked


async def test_a_call_that_is_given_up_tells_the_server_and_its_late_question_is_nobodys(wire: Any, tmp_path: Path) -> None:
    log = tmp_path / "wire"
    async with wire.connected(old=wire.tee(log, wire.RAW, RAW_ERA="2025")) as sessions:
        met = sessions.process("old")
        with pytest.raises(TimedOut):
            await wire.call(sessions, "old", "late_question", ask=Person(), timeout=0.2)
        person = Person.at_once()
        assert (await wire.call(sessions, "old", "plain", ask=person, timeout=20)).text == "as text"
        assert person.asked == []
        assert sessions.process("old") not in (0, met)
    assert "notifications/cancelled" in wire.methods(log)


async def test_a_cancelled_caller_ends_the_question_and_frees_the_connection(wire: Any) -> None:
    async with wire.connected(old=old(wire)) as sessions:
        person = Person()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: wire.call(sessions, "old", "ask", ask=person))
            await person.came.wait()
            tasks.cancel_scope.cancel()
        assert person.dropped
        assert (await wire.call(sessions, "old", "plain", timeout=20)).text == "as text"


async def test_what_asking_raises_ends_the_call_and_reaches_its_caller(wire: Any) -> None:
    class NoDatabase(Exception):
        pass

    async def broken(_params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise NoDatabase

    async with wire.connected(old=old(wire)) as sessions:
        with pytest.raises(NoDatabase):
            await wire.call(sessions, "old", "ask", ask=broken)
        assert (await wire.call(sessions, "old", "plain", timeout=20)).text == "as text"


async def test_over_http_each_call_has_questions_of_its_own(wire: Any) -> None:
    with wire.http(wire.RAW, RAW_ERA="2025") as (port, _process):
        await wire.listening(port)
        async with wire.connected(old=ServerConfig(url=f"http://127.0.0.1:{port}/ask/mcp")) as sessions:
            people = [Person({"action": "accept", "content": {"yes": said}}) for said in (True, False)]
            replies: dict[int, str] = {}

            async def calling(number: int) -> None:
                replies[number] = (await wire.call(sessions, "old", "plain", ask=people[number], timeout=5)).text

            async with anyio.create_task_group() as tasks:
                for number in range(2):
                    tasks.start_soon(calling, number)
                for person in people:
                    await person.came.wait()
                for person in people:
                    person.answers.set()
            assert replies == {0: "accept {'yes': True}", 1: "accept {'yes': False}"}
            assert sessions.process("old") == 0


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_an_address_to_open_first_comes_back_as_a_question_and_the_call_is_sent_anew(wire: Any, over: str) -> None:
    with wire.http(wire.RAW, RAW_ERA="2025", RAW_REVISION="2025-11-25") as (port, _process):
        await wire.listening(port)
        stdio = old(wire, RAW_REVISION="2025-11-25")
        config = stdio if over == "stdio" else ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        async with wire.connected(old=config) as sessions:
            asked = await wire.call(sessions, "old", "needs_url")
            params = {
                "mode": "url",
                "message": "Sign in first",
                "url": "https://shop.example.com/sign-in",
                "elicitationId": "e-1",
            }
            assert asked.pending == {
                "inputRequests": {"url-1": {"method": "elicitation/create", "params": params}},
                "retry": True,
            }
            assert (await wire.call(sessions, "old", "needs_url")).text == "as text"
            with pytest.raises(Answered, match="-32042"):
                await wire.call(sessions, "old", "needs_nonsense")


async def test_a_server_that_only_asks_for_patience_gives_its_state_alone(wire: Any) -> None:
    async with wire.connected(new=wire.child(wire.RAW)) as sessions:
        first = await wire.call(sessions, "new", "patience")
        assert first.pending["requestState"] == "round-2"
        assert "inputRequests" not in first.pending
        assert "retry" not in first.pending
        assert (await wire.call(sessions, "new", "patience", state="round-2")).text == "as text"
        with pytest.raises(Answered):  # only an older server may ask this way
            await wire.call(sessions, "new", "needs_url")
