"""Card numbers are masked when a ticket is taken in, whoever brings it, before anything is stored (spec H31).

Pure. Masking twice changes nothing. Refuses to know where a ticket came from.
"""

from __future__ import annotations

import re

#: 13 to 19 digits, grouped or not, beginning as cards do; never a part of a longer number.
_CANDIDATE = re.compile(r"(?<!\d)(?<!\d[ -])[2-6](?:[ -]?\d){12,18}(?![ -]?\d)")


def mask_cards(text: str) -> str:
    """Every number that passes the card check digit (Luhn) keeps its last four digits alone."""
    return _CANDIDATE.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", match[0])
    return f"[card number ending in {digits[-4:]}]" if _luhn(digits) else match[0]


def _luhn(digits: str) -> bool:
    doubled = [int(d) if n % 2 == 0 else (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)[int(d)] for n, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
