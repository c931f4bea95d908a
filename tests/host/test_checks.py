"""What a call must be before anything else is looked at (spec H8)."""

from typing import Any

import pytest

from host.checks import invalid_arguments, without_nulls
from host.types import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "sku": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "size": {"$ref": "#/$defs/size"},
    },
    "required": ["order_id"],
    "$defs": {"size": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
}
TOOL = Tool("shop.quote", "shop", "quote", "", SCHEMA, SCHEMA, "d")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"order_id": "O-7144", "sku": None}, {"order_id": "O-7144"}),
        ({"order_id": "O-7144", "note": None, "size": None}, {"order_id": "O-7144", "note": None, "size": None}),
        ({"order_id": None, "sku": None}, {"order_id": None}),
        ({"order_id": "O-7144", "sku": "", "unknown": None}, {"order_id": "O-7144", "sku": "", "unknown": None}),
    ],
)
def test_a_null_for_a_parameter_that_wants_none_is_read_as_left_out(written: dict[str, Any], read: dict[str, Any]) -> None:
    assert without_nulls(TOOL, written) == read


def test_a_null_for_a_required_parameter_is_still_not_valid() -> None:
    assert invalid_arguments(TOOL, without_nulls(TOOL, {"order_id": None}))
