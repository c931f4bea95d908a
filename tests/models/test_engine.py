"""The engine's arithmetic: what it keeps, and how it cuts a prompt (spec M5). The decoding itself is in test_llama.py."""

from hypothesis import given
from hypothesis import strategies as st

from models import wire
from models.engine import MIN_BATCH, batches, reusable

tokens = st.lists(st.integers(0, 3), max_size=60)


@given(st.integers(0, 5000), st.sampled_from([32, 128, 512]))
def test_batches_hold_every_token_and_are_never_too_small(count, size):
    sizes = batches(count, size)
    assert sum(sizes) == count
    assert all(0 < part <= size for part in sizes)
    assert count < MIN_BATCH or all(part >= MIN_BATCH for part in sizes)


@given(tokens, tokens, tokens)
def test_a_kept_prefix_is_common_to_both_and_leaves_enough_to_evaluate(shared, live, rest):
    live, prompt = shared + live, shared + rest
    kept = reusable(live, prompt)
    assert live[:kept] == prompt[:kept]
    assert len(prompt) - kept >= min(MIN_BATCH, len(prompt))
    assert kept >= min(len(shared), max(0, len(prompt) - MIN_BATCH))


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=5), st.integers(1, 7))
def test_frames_come_out_whole_however_they_arrive(messages, step):
    stream = b"".join(wire.pack(message) for message in messages)
    buffer, found = bytearray(), []
    for start in range(0, len(stream), step):
        buffer += stream[start : start + step]
        while (message := wire.take(buffer)) is not None:
            found.append(message)
    assert found == messages
    assert not buffer
