"""What the partner says about a parcel: made from the number alone, the same every time. Pure.

It answers any well-formed number, whoever's it is, or nobody's (spec S5).
"""

import hashlib
import re
from datetime import date, timedelta

from pydantic import BaseModel

_STATES = (
    ("in transit", "on its way to the delivery depot"),
    ("at depot", "sorted, waiting for a driver"),
    ("out for delivery", "on the van"),
    ("exception", "address label damaged, being relabelled"),
)
_PLACES = ("Zwolle", "Hannover", "Lille", "Birmingham", "Dublin", "Kassel", "Ghent", "Reims")


class Scan(BaseModel):
    day: date
    place: str
    event: str


class Parcel(BaseModel):
    tracking_number: str
    status: str
    last_seen: str
    expected_on: date
    scans: list[Scan]
    note: str


def well_formed(text: str) -> str | None:
    """`FX-` and eight digits, however typed; None for anything else."""
    found = re.fullmatch(r"\s*(?:fx)?[\s-]*(\d{8})\s*", text, re.IGNORECASE)
    return f"FX-{found.group(1)}" if found else None


def look_up(tracking_number: str, today: date) -> Parcel:
    digest = hashlib.sha256(tracking_number.encode()).digest()
    status, note = _STATES[digest[0] % len(_STATES)]
    places = [_PLACES[byte % len(_PLACES)] for byte in digest[1:4]]
    picked_up = today - timedelta(days=3 + digest[4] % 3)
    events = ("picked up", "arrived at hub", status)
    scans = [
        Scan(day=picked_up + timedelta(days=number), place=place, event=event)
        for number, (place, event) in enumerate(zip(places, events, strict=True))
    ]
    return Parcel(
        tracking_number=tracking_number,
        status=status,
        last_seen=places[-1],
        expected_on=today + timedelta(days=1 + digest[5] % 3),
        scans=scans,
        note=note,
    )
