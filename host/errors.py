"""What can go wrong in the host, split by who must react.

HostError
├── ConfigError          the operator: names the file's place and what to write there
├── ServerError          a server's fault, mapped once in `sessions`
│   ├── NotSent          nothing reached the server: safe to say "did not run"
│   │   ├── Unavailable      it can't be reached or started
│   │   └── StateRefused     it refused or expired our requestState (-32602): the call did not run
│   ├── Answered         it answered with a protocol error: the call did not succeed
│   └── Unknown          it may have run
│       ├── Gone             connection lost after sending
│       ├── TimedOut
│       └── BadResult        an answer that can't be used (schema, size, shape)
├── StaleLease           another worker took the run over (spec H30): stop writing
└── NotFound             no such ticket, run or question
"""


def where(error: BaseException) -> str:
    """The places an error passed, innermost last, and never its words: those may hold a ticket's or a result's (spec H16)."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " > ".join(found[-6:]) or "nowhere"


class HostError(Exception):
    """Base of all; its text is meant for people."""


class ConfigError(HostError):
    pass


class ServerError(HostError):
    pass


class NotSent(ServerError):
    pass


class Unavailable(NotSent):
    pass


class StateRefused(NotSent):
    pass


class Answered(ServerError):
    pass


class Unknown(ServerError):
    pass


class Gone(Unknown):
    pass


class TimedOut(Unknown):
    pass


class BadResult(Unknown):
    pass


class StaleLease(HostError):
    pass


class NotFound(HostError):
    pass
