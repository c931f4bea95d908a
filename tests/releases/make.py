"""Makes a release's fixture: its two databases with one open question of every kind, as SQL text (spec B14).

Run it at each release, with its version, on exactly that release's code, and commit the folder that it writes:

    mkdir /tmp/release && git archive TAG | tar -x -C /tmp/release
    PYTHONPATH=/tmp/release .venv/bin/python tests/releases/make.py 0.1.0

`test_upgrade.py` then answers each of these questions with today's code. The folder holds

- `deskhand.sql`, `shop.sql`: the bot's and the shop's database; the shop's without customers that no ticket here is about;
- `servers.toml`: what its configuration's servers had besides deskhand.toml;
- `questions.json`: which ticket waits with which question.

A release that can ask a question of another kind gets a ticket for it in `TICKETS`. 0.1.0 couldn't ask about a changed tool.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import tempfile
import tomllib
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio

import host
from bot import settings as settings_file
from bot import wiring
from bot.headless import LEAD, STAFF, filled
from bot.mailroom.files import read_tickets
from host.config import HostConfig
from host.facade import Host
from host.types import Answer, OutboxItem, Question, QuestionKind, Taken
from models.port import Call, Reply, Request
from models.scripted import ScriptedModel

CODE = Path(str(host.__file__)).resolve().parents[1]
HERE = Path(__file__).resolve().parent

#: The kind of question to stop at, by ticket.
TICKETS = {"T-0012": "consent", "T-0004": "input_request", "T-0048": "sign_off", "T-0010": "may_have_run"}

#: What is changed in the configuration: a partner whose one tool has an effect and that dies when it is called, and a shop that
#: seals with a known key.
SERVERS = """\
[shop]
env = { SHOP_TODAY = "2026-06-02", SHOP_STATE_KEY = "a key for fixtures alone, 32 bytes", SHOP_QUOTE_SEED = "fixture" }

[partner]
command = ["{python}", "-m", "servers.partner", "--variant", "dying", "--state", "{state}/died.txt"]

[partner.tools.track_parcel]
effect = "effect"
"""
#: The shop as it is, but what it seals stays valid for thirty years: a fixture is older than a month one day.
LASTING_SHOP = (
    "import sys; from servers.shop import __main__ as program, server; server.STATE_TTL_SECONDS = 30 * 365 * 86400.0; "
    "sys.exit(program.main())"
)


class Clock:
    """Moves on a second each time it is asked, so that a dump reads in order."""

    def __init__(self) -> None:
        self._now = datetime(2026, 6, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class QuietDesk:
    async def deliver(self, item: OutboxItem) -> dict[str, Any]:
        return {"receipt": f"quiet-{item.id}"}


def script(request: Request) -> Reply:
    """Track the parcel that the ticket names, else refund its order, else say what came of it."""
    start = max(i for i, m in enumerate(request.messages) if m.role == "user" and m.content.startswith("Ticket:"))
    ticket, *later = request.messages[start:]
    said = "\n".join(m.content for m in later if m.role == "tool")
    parcel, order, quote = (
        re.search(r"FX-\d{8}", ticket.content),
        re.search(r"O-\d{4}", ticket.content),
        re.search(r"Q-\w{10}", said),
    )
    if parcel:
        return _call("partner.track_parcel", tracking_number=parcel[0])
    assert order is not None, "each ticket here names a parcel or an order"
    if quote is None:
        return _call("shop.quote_refund", order_id=order[0])
    if "shop.issue_refund: result" not in said:
        return _call("shop.issue_refund", quote_id=quote[0])
    amount = re.findall(r'"amount":([0-9.]+)', said)[-1]
    return _call("desk.reply", text=f"Your refund of EUR {float(amount):.2f} for order {order[0]} has been requested.")


def _call(name: str, **arguments: Any) -> Reply:
    return Reply(raw=f"<{name}>", calls=(Call(name, arguments),))


async def work(settings: settings_file.Settings) -> dict[str, str]:
    """Work the tickets, approving until each waits with its kind of question. Returns the open questions, ticket → kind."""
    known = {one.id: one for one in read_tickets(CODE / "servers/shop/data/tickets.jsonl")[0]}
    async with (
        ScriptedModel(script) as model,
        wiring.running(settings, model, lambda _: QuietDesk(), clock=Clock()) as running,
    ):
        for name in TICKETS:
            await running.host.intake(known[name])
            await running.host.work(name, STAFF)
        while True:
            while await running.queue.work_one() or await running.outbox.deliver_due():
                pass
            waiting = (await running.host.status()).open_questions
            unwanted = [q for q in waiting if q.kind.value != TICKETS[q.ticket_id]]
            if not unwanted:
                return {q.ticket_id: q.kind.value for q in waiting}
            for question in unwanted:
                await agree(running.host, question)


async def agree(people: Host, question: Question) -> None:
    """Staff approve, a lead releases, so that the ticket goes on."""
    form = question.kind is QuestionKind.INPUT_REQUEST
    answer = Answer("accept", content=filled(question.payload["schema"])) if form else Answer("approve")
    said = await people.answer(question.id, LEAD if form else STAFF, answer)
    if not isinstance(said, Taken):
        raise SystemExit(f"{question.ticket_id} can't go on past its {question.kind.value}: {said.words}")


def dump(database: Path) -> str:
    with closing(sqlite3.connect(database)) as opened:
        return "\n".join(opened.iterdump()) + "\n"


def prune(shop: Path) -> None:
    """Leave customers out that none of the tickets is about: the fixture is read by people too."""
    with closing(sqlite3.connect(shop)) as opened, opened:
        names = ", ".join(f"'{name}'" for name in TICKETS)
        kept = f"(select customer_id from tickets where ticket_id in ({names}))"
        opened.execute(f"delete from tickets where ticket_id not in ({names})")
        for table in ("order_lines", "refunds"):
            opened.execute(f"delete from {table} where order_id in (select order_id from orders where customer_id not in {kept})")
        for table in ("orders", "customers"):
            opened.execute(f"delete from {table} where customer_id not in {kept}")
        opened.execute("delete from products where sku not in (select sku from order_lines)")


def make(state: Path) -> tuple[dict[str, str], dict[str, str]]:
    """(open questions, dumps by database)."""
    loaded = settings_file.load(CODE / "deskhand.toml", state)
    config = changed(loaded.host, tomllib.loads(SERVERS), state)
    shop = config.servers["shop"]
    lasting = shop.model_copy(update={"command": (shop.command[0], "-c", LASTING_SHOP, *shop.command[3:])})
    config = config.model_copy(update={"servers": {**config.servers, "shop": lasting}})
    questions = anyio.run(work, replace(loaded, host=wiring.with_env(config, {"PYTHONPATH": str(CODE)})))
    if questions != TICKETS:
        raise SystemExit(f"open are {questions}, wanted {TICKETS}")
    prune(state / "shop.db")
    return questions, {name: dump(state / f"{name}.db") for name in ("deskhand", "shop")}


def changed(config: HostConfig, servers: dict[str, Any], state: Path) -> HostConfig:
    """The configuration with these servers' keys in place of its own."""
    raw = config.model_dump()
    for name, keys in servers.items():
        raw["servers"][name].update(keys)
        command = raw["servers"][name]["command"]
        raw["servers"][name]["command"] = [w.replace("{python}", sys.executable).replace("{state}", str(state)) for w in command]
    return HostConfig.model_validate(raw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="the release's version, which names the folder")
    folder = HERE / parser.parse_args().version
    with tempfile.TemporaryDirectory() as state:
        questions, dumps = make(Path(state))
    folder.mkdir(exist_ok=True)
    (folder / "servers.toml").write_text(SERVERS, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions, indent=1) + "\n", encoding="utf-8")
    for name, sql in dumps.items():
        (folder / f"{name}.sql").write_text(sql, encoding="utf-8")
    print(f"{folder}: made with the code in {CODE}")


if __name__ == "__main__":
    main()
