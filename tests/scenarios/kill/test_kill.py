"""SIGKILL before or after a write, then another process: nothing is lost, nothing happens twice (spec H13, H15).

Here: a kill at one write of each kind of entry, and where it hurts. `make kill` (DESKHAND_KILL=all) tries every write of every
scene, before and after its commit, and prints how many that were.
"""

from __future__ import annotations

import os
import typing
from typing import Any

import pytest

from host import journal

ALL = os.environ.get("DESKHAND_KILL") == "all"

#: Of each kind of entry, one that hurts: the n-th in that scene.
OF_EACH_KIND = (
    ("refund", "taken", 1),
    ("refund", "started", 1),
    ("refund", "replied", 2),
    ("refund", "asked", 1),
    ("refund", "closed", 1),
    ("refund", "intended", 2),
    ("refund", "input_needed", 1),
    ("refund", "round_sent", 1),
    ("refund", "ended", 2),
    ("refund", "drafted", 1),
    ("refund", "stopped", 1),
    ("refund", "delivered", 1),
    ("patient", "approved", 1),
    ("patient", "reminded", 1),
    ("patient", "day_closed", 1),
    ("patient", "freeze", 1),
    ("patient", "erased", 1),
    ("rounds", "round_sent", 1),
    ("refund", "looked_back", 1),
)


def at(when: str, word: str, number: int = 1) -> dict[str, Any]:
    return {"when": when, "word": word, "number": number}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("scene", "kind", "number"), OF_EACH_KIND)
def test_killed_at_an_entry_nothing_is_lost_or_doubled(killing: Any, scene: str, kind: str, number: int, when: str) -> None:
    earlier = [at("before", "journal:ended", 2)] if kind == "looked_back" else []  # only who goes on after a death looks back
    killing.killed(scene, *earlier, at(when, f"journal:{kind}", number))


def test_each_kind_of_entry_has_its_kill() -> None:
    union, _field = typing.get_args(journal.AnyEntry)
    kinds = {kind.model_fields["kind"].default for kind in typing.get_args(union)}
    assert {kind for _scene, kind, _number in OF_EACH_KIND} == kinds


@pytest.mark.parametrize("kind", ["consent", "input_request", "sign_off"])
def test_killed_while_a_question_is_open_the_next_process_goes_on_and_asks_nothing_twice(killing: Any, kind: str) -> None:
    assert len(killing.killed("refund", {"asked": kind}).questions) == 3


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_as_a_mail_leaves_it_is_never_sent_twice(killing: Any, when: str) -> None:
    """Before or after the row says that it was put out; then, that it is being sent."""
    killing.killed("refund", at(when, "outbox:mail"))


def test_a_state_that_its_server_no_longer_knows_is_asked_anew_and_the_old_card_says_so(killing: Any) -> None:
    left = killing.killed("new key", {"asked": "input_request"})
    old, new = left.asked("input_request")
    assert (old["state"], new["state"]) == ("superseded", "answered")
    assert "no longer knew what this answered" in old["note"]


def test_a_server_that_forgets_is_not_sent_to_again_and_a_person_says_what_became_of_it(killing: Any) -> None:
    left = killing.killed("forgetful", at("before", "journal:ended"))
    assert left.paid == 1
    (question,) = left.asked("may_have_run")
    assert question["state"] == "answered"


def test_the_question_of_an_older_server_dies_with_the_process_and_says_so(killing: Any) -> None:
    left = killing.killed("during", {"asked": "input_request"})
    (question,) = left.asked("input_request")
    assert question["state"] == "superseded"
    assert "started again" in question["note"]
    assert [q["state"] for q in left.asked("may_have_run")] == ["answered"]
    assert left.paid == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_again_as_that_question_is_closed(killing: Any, when: str) -> None:
    left = killing.killed("during", {"asked": "input_request"}, at(when, "journal:closed"))
    assert [q["state"] for q in left.asked("input_request")] == ["superseded"]


def test_an_older_server_whose_book_can_be_read_is_called_and_people_are_asked_once_more(killing: Any) -> None:
    left = killing.killed("during, read back", {"asked": "input_request"})
    assert [q["state"] for q in left.asked("input_request")] == ["superseded", "answered"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_answer_that_died_on_its_way_to_an_older_server_is_asked_for_anew_and_says_so(killing: Any, when: str) -> None:
    """The second question's end: the payment's own, after its consent."""
    left = killing.killed("during, read back", at(when, "journal:closed", 2))
    old, new = left.asked("input_request")
    assert (old["state"], new["state"]) == ("superseded", "answered")
    assert ("asks again" if when == "after" else "started again") in old["note"]


OVER_A_CHANGED_TOOL = (("before", "journal:asked", 1), ("after", "journal:closed", 1), ("before", "pins", 2))


@pytest.mark.parametrize(("when", "word", "number"), OVER_A_CHANGED_TOOL)
def test_killed_over_a_changed_tool_it_is_accepted_in_the_end(killing: Any, when: str, word: str, number: int) -> None:
    """As it is asked about; accepted, and the pin not written yet."""
    killing.killed("changed", at(when, word, number))


# --- make kill --------------------------------------------------------------------------------------------------------

EVERY_SCENE = ("refund", "patient", "new key", "rounds", "forgetful", "changed", "during", "during, read back")
#: Where a scene begins to differ from the first: every write from the first one with this word.
FROM = {"refund": "", "patient": "journal:taken", "new key": "journal:input_needed"}


@pytest.mark.parametrize("scene", EVERY_SCENE if ALL else EVERY_SCENE[:1])
def test_killed_before_and_after_every_write(killing: Any, figures: list[str], scene: str) -> None:
    """In `make test`, that the first scene comes to its end unkilled."""
    writes = killing.writes(scene)
    word = FROM.get(scene, "journal:taken")
    first = next(i for i, words in enumerate(writes, 1) if not word or word in words)
    kills = [at(when, "", n) for n in range(first, len(writes) + 1) for when in ("before", "after")]
    assert len(kills) > 40
    if not ALL:
        return
    failed = killing.every(scene, kills)
    figures.append(f"kill: {scene}: {len(writes) + 1 - first} writes, {len(kills)} points, {len(failed)} failures")
    figures.extend(failed)
    assert failed == []


@pytest.mark.parametrize("every", [5, 9] if ALL else [15])
def test_dying_after_every_few_writes_it_comes_to_the_end_all_the_same(killing: Any, figures: list[str], every: int) -> None:
    died = killing.dying_again_and_again("refund", every)
    assert died > 2
    if ALL:
        figures.append(f"kill: refund, dying after every {every} writes: {died} processes, then the end")
