"""Foreign text: escaped, counted after escaping, cut whole, and nothing in it invisible."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cards.text import cut, esc, escaped, is_cut, one_line, pieces, size, visible

budgets = st.integers(min_value=1, max_value=300)


def test_exactly_three_characters_are_escaped():
    assert esc("a & b < c > d &amp; *e* `f` @here") == "a &amp; b &lt; c &gt; d &amp;amp; *e* `f` @here"


@given(st.text())
def test_size_is_the_length_after_escaping(text):
    assert size(text) == len(esc(text))


@given(st.text(), budgets)
def test_a_cut_text_never_exceeds_its_budget_after_escaping(text, budget):
    assert len(escaped(text, budget)) <= budget


@given(st.text(), budgets)
def test_a_cut_is_always_visible_and_never_without_need(text, budget):
    whole = visible(text)
    shown = cut(text, budget)
    assert (shown == whole) == (size(whole) <= budget)
    if shown != whole:
        assert shown.endswith("…")
        assert whole.startswith(shown[:-1])
    assert is_cut(text, budget) == (shown != whole)


@given(st.text(alphabet="&<>\u202ea", max_size=60), budgets)
def test_a_cut_never_falls_inside_an_entity_or_a_shown_code_point(text, budget):
    shown = escaped(text, budget).removesuffix("…")
    left = shown.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").replace("⟦U+202E⟧", "")
    assert set(left) <= {"a"}


@given(st.text(), st.integers(min_value=10, max_value=100))
def test_pieces_hold_the_whole_text_within_the_budget(text, budget):
    parts = pieces(text, budget)
    assert "".join(parts) == visible(text)
    assert all(0 < size(part) <= budget for part in parts)


@given(st.text())
def test_nothing_invisible_is_left_but_line_ends_tabs_and_what_joins_emoji(text):
    for char in visible(text):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in "\n\t\u200d"


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\u202e", "⟦U+202E⟧"),
        ("\u2066", "⟦U+2066⟧"),
        ("\u200b", "⟦U+200B⟧"),
        ("\u00ad", "⟦U+00AD⟧"),
        ("\x00", "⟦U+0000⟧"),
        ("\ufeff", "⟦U+FEFF⟧"),
        ("\u3164", "⟦U+3164⟧"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("\U000e0100", "⟦U+E0100⟧"),
        ("\ud83d", "⟦U+D83D⟧"),
        ("\u200d", "⟦U+200D⟧"),
    ],
)
def test_a_hidden_character_is_shown_as_such(hidden, shown):
    assert visible(f"a{hidden}b") == f"a{shown}b"


def test_people_keep_their_emoji_and_letters():
    for text in ("👩\u200d🍳 danke", "❤\ufe0f", "Zürich, naïve “quotes”", "日本語", "a\tb\nc"):
        assert visible(text) == text


def test_line_ends_are_one_kind():
    assert visible("a\r\nb\rc") == "a\nb\nc"
    assert one_line("a\r\n\tb  c", 50) == "a b c"
