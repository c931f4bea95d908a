"""What can go wrong with a model, split by who must react.

ModelError
├── ModelSetupError        the operator: a file missing, a digest wrong, no disk space; the text says what to do
├── ModelUnavailableError  the program: the engine died or hung; retried once by `llama`, then the ticket goes to a person
├── PromptTooLongError     the host: refused before decoding (spec M6)
├── NotReadyError          the host: the real model is still being made ready; the run is put back, nothing is lost
├── GrammarError           the developer: a schema the grammar can't take
└── UnknownPromptError     the developer: a replay met a prompt that was never recorded; says how to record again
"""


class ModelError(Exception):
    """Base of all; its text is meant for people."""


class ModelSetupError(ModelError):
    pass


class ModelUnavailableError(ModelError):
    pass


class PromptTooLongError(ModelError):
    pass


class NotReadyError(ModelError):
    pass


class GrammarError(ModelError):
    pass


class UnknownPromptError(ModelError):
    pass
