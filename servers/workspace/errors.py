"""What goes wrong, by who must react.

Exception
├── ApiError       the app called the Web API wrongly: a Slack error code, answered as `{"ok": false, "error": …}`
├── ControlError   a test or the page asked for something impossible: a code and one line of words
├── faults.BadFault, forms.BadValue, settings.BadSettings
"""

from servers.workspace.settings import Json


class ApiError(Exception):
    """A Slack error code, with further fields of the answer (`needed`, `response_metadata`, …)."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.answer: Json = {"ok": False, "error": code, **more}


class ControlError(Exception):
    """A code for programs and one line for people that says what to do."""

    def __init__(self, code: str, words: str, **more: object) -> None:
        super().__init__(words)
        self.answer: Json = {"ok": False, "error": code, "detail": words, **more}
