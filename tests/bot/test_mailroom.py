"""The file mailroom: tickets in line by line, replies out once; card numbers masked."""

import contextlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.mailroom.files import FileInbox, FileOutgoing, parse_ticket, read_tickets
from bot.mailroom.port import Reply
from bot.mailroom.pump import take_in
from host.errors import HostError
from host.mask import mask_cards
from host.port import Undelivered

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
REPLY = Reply("T-0004", "q1", "tom.ashworth@example.com", "support@example.com", "Re: Mixer dead", "Dear Tom,\n…")


def line(number: int, **changes: object) -> str:
    ticket = {
        "id": f"T-{number:04}",
        "customer_id": "C-0102",
        "from": {"name": "Tom Ashworth", "email": "tom.ashworth@example.com"},
        "sender_verified": True,
        "subject": "Mixer dead",
        "body": "It smells of hot dust.",
        "received_at": "2026-06-01T08:05:51Z",
        "due_at": "2026-06-02T08:05:51Z",
        "language": "en",
    }
    return json.dumps({**ticket, **changes})


# Reading a line


def test_a_ticket_is_read_as_it_was_written():
    ticket = parse_ticket(line(4))
    assert (ticket.id, ticket.intake_key, ticket.customer_id) == ("T-0004", "file:T-0004", "C-0102")
    assert (ticket.sender_name, ticket.sender_mail, ticket.sender_verified) == ("Tom Ashworth", "tom.ashworth@example.com", True)
    assert ticket.received_at == datetime(2026, 6, 1, 8, 5, 51, tzinfo=UTC)


def test_only_a_plain_true_makes_a_sender_verified():
    for value in ("true", 1, None, "yes"):
        assert parse_ticket(line(4, sender_verified=value)).sender_verified is False


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('"T-1"', "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        (line(4, id=""), '"id" is missing'),
        (line(4, id=7), '"id" is missing or not text'),
        (line(4, id="../etc"), '"id" may have'),
        (line(4, body=""), '"body" is missing'),
        (line(4, body=["x"]), '"body" is missing or not text'),
        (line(4, received_at="yesterday"), "not a time"),
        (json.dumps({"id": "T-1", "body": "x"}), '"from" is missing'),
        (line(4, body="half \ud83d"), "lone surrogate"),
    ],
)
def test_a_broken_line_is_refused_in_words(broken, words):
    with pytest.raises(ValueError, match=words):
        parse_ticket(broken)


@given(st.text())
def test_any_line_is_a_ticket_or_refused_in_words(text):
    with contextlib.suppress(ValueError):
        assert parse_ticket(text).id


def test_the_shops_own_tickets_are_all_taken():
    tickets, problems = read_tickets(ROOT / "servers" / "shop" / "data" / "tickets.jsonl")
    assert (len(tickets), problems) == (48, [])


def test_of_a_file_with_a_broken_line_the_good_ones_are_taken_and_the_bad_one_is_named_by_number(tmp_path):
    path = tmp_path / "tickets.jsonl"
    path.write_bytes(b"\n".join([line(1).encode(), b"oops", b"\xff\xfe", b"", line(2).encode()]))
    tickets, problems = read_tickets(path)
    assert [ticket.id for ticket in tickets] == ["T-0001", "T-0002"]
    assert [(problem.line, problem.why.split(" (")[0]) for problem in problems] == [(2, "not JSON"), (3, "not UTF-8")]
    assert str(problems[0]).startswith(f"{path}, line 2: not JSON")


def test_a_problem_never_repeats_the_customers_words(tmp_path):
    path = tmp_path / "tickets.jsonl"
    path.write_text('{"id": "T-1", "body": "my card is 4111 1111 1111 1111"', "utf-8")
    [problem] = read_tickets(path)[1]
    assert "4111" not in str(problem)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(ValueError, match=r"none\.jsonl: No such file"):
        read_tickets(tmp_path / "none.jsonl")


# Watching a file


class Watched:
    """A file and what an inbox yields of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems = []
        self.inbox = FileInbox(path, poll_seconds=0.01, on_problem=self.problems.append)

    def append(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)


async def taken(watched: Watched, steps) -> list[str]:
    """Ids in the order they came; after each ticket the next step is done, and after the last one it ends."""
    ids = []
    remaining = list(steps)
    with anyio.fail_after(10):
        async for ticket in watched.inbox.tickets():
            ids.append(ticket.id)
            if not remaining:
                return ids
            step = remaining.pop(0)
            if step is not None:
                await anyio.to_thread.run_sync(step)
    return ids


async def test_a_growing_file_is_read_on_from_where_we_stopped(tmp_path):
    watched = Watched(tmp_path / "in.jsonl")
    watched.append(line(1) + "\n")
    assert await taken(watched, [lambda: watched.append(line(2) + "\n"), lambda: watched.append("oops\n" + line(3) + "\n")]) == [
        "T-0001",
        "T-0002",
        "T-0003",
    ]
    assert [problem.line for problem in watched.problems] == [3]


async def test_a_last_line_without_its_end_is_taken_once(tmp_path):
    watched = Watched(tmp_path / "in.jsonl")
    watched.append(line(1))
    assert await taken(watched, [lambda: watched.append("\n" + line(2))]) == ["T-0001", "T-0002"]
    assert watched.problems == []


async def test_a_replaced_file_is_read_from_its_beginning(tmp_path):
    watched = Watched(tmp_path / "in.jsonl")
    watched.append(line(1) + "\n" + line(2) + "\n")

    def replace() -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text(line(3) + "\n", "utf-8")
        fresh.replace(watched.path)

    assert await taken(watched, [None, replace]) == ["T-0001", "T-0002", "T-0003"]


async def test_a_file_that_comes_later_is_waited_for(tmp_path):
    watched = Watched(tmp_path / "in.jsonl")
    async with anyio.create_task_group() as tasks:
        ids = []

        async def read() -> None:
            ids.extend(await taken(watched, []))

        tasks.start_soon(read)
        await anyio.lowlevel.checkpoint()
        await anyio.to_thread.run_sync(watched.append, line(1) + "\n")
    assert ids == ["T-0001"]


@pytest.mark.parametrize("fault", [HostError("not now"), sqlite3.OperationalError("database is locked WORDS-4711")])
async def test_a_ticket_is_brought_again_until_the_host_takes_it_whatever_went_wrong(tmp_path, caplog, fault):
    watched = Watched(tmp_path / "in.jsonl")
    watched.append(line(1) + "\n" + line(1) + "\n")
    host = Moody(fault)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_in, watched.inbox, host)
            await host.enough.wait()
            tasks.cancel_scope.cancel()
    assert host.tickets == ["T-0001"]
    assert f"ticket_intake failed error={type(fault).__name__}" in caplog.text
    assert "WORDS-4711" not in caplog.text


class Moody:
    """Refuses the first time; knows tickets by their intake key."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault
        self.tickets: list[str] = []
        self.asked = 0
        self.enough = anyio.Event()

    async def intake(self, ticket) -> bool:
        self.asked += 1
        if self.asked == 1:
            raise self.fault
        fresh = ticket.id not in self.tickets
        if fresh:
            self.tickets.append(ticket.id)
        else:
            self.enough.set()
        return fresh


# Replies out


async def test_a_reply_is_one_whole_file_with_its_receipt(tmp_path):
    receipt = await FileOutgoing(tmp_path / "sent").send(REPLY)
    [path] = list((tmp_path / "sent").iterdir())
    letter = json.loads(path.read_text("utf-8"))
    assert set(letter) == {"receipt", "ticket_id", "question_id", "to", "from", "subject", "body", "sent_at"}
    assert (letter["body"], letter["receipt"]) == (REPLY.body, receipt["receipt"])
    assert path.name == receipt["file"] == "T-0004.q1.json"


async def test_the_same_reply_is_never_written_twice_even_at_the_same_time(tmp_path):
    way_out = FileOutgoing(tmp_path)
    receipts = []

    async def send() -> None:
        receipts.append(await way_out.send(REPLY))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(send)
    assert len(list(tmp_path.iterdir())) == 1
    assert len({json.dumps(receipt) for receipt in receipts}) == 1


async def test_what_left_is_found_and_what_did_not_is_not(tmp_path):
    way_out = FileOutgoing(tmp_path)
    assert await way_out.find(REPLY) is None
    assert await way_out.send(REPLY) == await way_out.find(REPLY)


async def test_a_folder_that_cannot_be_written_means_not_sent(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    with pytest.raises(Undelivered, match="could not be written"):
        await FileOutgoing(blocked / "sent").send(REPLY)


async def test_no_id_leads_out_of_the_folder(tmp_path):
    reply = Reply("../../T", "q/1", "a@example.com", "b@example.com", "s", "b")
    await FileOutgoing(tmp_path / "sent").send(reply)
    assert [path.name for path in (tmp_path / "sent").iterdir()] == ["..%2F..%2FT.q%2F1.json"]


# Card numbers


@pytest.mark.parametrize(
    "number", ["4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "5555 5555 5555 4444"]
)
def test_a_card_number_keeps_its_last_four_digits(number):
    masked = mask_cards(f"I paid with {number}, thanks")
    assert masked == f"I paid with [card number ending in {number[-4:]}], thanks"


@pytest.mark.parametrize(
    "text",
    [
        "O-1145",
        "FX-48213377",
        "4111 1111 1111 1112",
        "+49 30 1234567",
        "DE89 3704 0044 0532 0130 00",
        "2026-06-01 08:05:51",
        "C-0102",
    ],
)
def test_other_numbers_stay_as_they_are(text):
    assert mask_cards(text) == text
