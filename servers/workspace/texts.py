"""How lengths are counted: Slack escapes `&`, `<` and `>` before it counts. Knows no block."""

import re

_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")


def counted(text: str, kind: str) -> int:
    """The length of a text after Slack's escaping: plain_text as a whole; in mrkdwn `<…>` is markup, so only bare `&`."""
    if kind == "mrkdwn":
        return len(_BARE_AMPERSAND.sub("&amp;", text))
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))
