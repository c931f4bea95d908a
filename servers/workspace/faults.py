"""Faults that a test orders: what Slack does on a bad day, n times, and then no more. Decides nothing by itself."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from servers.workspace.settings import Json

ApiFault = Literal["ratelimited", "drop_before", "drop_after", "http_500", "delay", "error"]
EnvelopeFault = Literal["duplicate_envelope", "never_deliver", "delay_envelope", "expired_trigger"]
Kind = ApiFault | EnvelopeFault
KINDS: frozenset[str] = frozenset((*get_args(ApiFault), *get_args(EnvelopeFault)))


class BadFault(Exception):
    """The ordered fault cannot be understood; the message says what can be ordered."""


@dataclass(frozen=True)
class Fault:
    """One order. `method` is a Web API method or `*`; `seconds` is a delay or the Retry-After; `error` a Slack error code."""

    kind: str
    method: str = "*"
    times: int = 1
    seconds: float = 1.0
    error: str = "internal_error"


def parse(order: Json) -> Fault:
    """A fault from `{"kind", "method"?, "times"?, "seconds"?, "error"?}`."""
    if order.get("kind") not in KINDS:
        raise BadFault(f"kind must be one of {', '.join(sorted(KINDS))}")
    try:
        return Fault(
            kind=order["kind"],
            method=str(order.get("method", "*")),
            times=int(order.get("times", 1)),
            seconds=float(order.get("seconds", 1.0)),
            error=str(order.get("error", "internal_error")),
        )
    except (TypeError, ValueError) as error:
        raise BadFault("times must be a whole number and seconds a number") from error


class Faults:
    """The orders that are still open, oldest first."""

    def __init__(self) -> None:
        self._open: list[Fault] = []

    def order(self, fault: Fault) -> None:
        """Add an order."""
        self._open.append(fault)

    def take(self, kinds: tuple[str, ...], method: str = "*") -> Fault | None:
        """The next order of these kinds for this method, counted down by one; None when there is none."""
        for index, fault in enumerate(self._open):
            if fault.kind in kinds and fault.method in ("*", method):
                if fault.times > 1:
                    self._open[index] = replace(fault, times=fault.times - 1)
                else:
                    del self._open[index]
                return fault
        return None

    def clear(self) -> None:
        """Forget all orders."""
        self._open.clear()

    def open(self) -> list[Fault]:
        """What is still ordered."""
        return list(self._open)
