"""What a server offers, page by page: its tools and resources as the host's own data, and what had to be left out.

Stands between `connection`, which brings the client, and `tap`, which mends each page. Refuses to know names, pins and calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcp import Client, types

from host.tap import Tap
from host.types import DEFINITION, Json, ListedResource, ListedTool

#: A server whose pages never end is cut off at so many, or at so many characters of definitions.
MAX_PAGES, MAX_SIZE = 100, 8 * 1024 * 1024
FURTHER = "(further tools)"


@dataclass(frozen=True, slots=True)
class Offer:
    """One whole listing. `mirrors_headers`: an argument of some tool has to be sent as an HTTP header too."""

    tools: tuple[ListedTool, ...] = ()
    output_schemas: Mapping[str, Mapping[str, Json] | None] = field(default_factory=dict)
    mirrors_headers: bool = False


async def offered(client: Client, tap: Tap) -> Offer:
    tap.begin_listing()
    kept: list[types.Tool] = []
    cursor, size, pages = None, 0, 0
    while pages < MAX_PAGES and size < MAX_SIZE:
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        kept += page.tools
        size += sum(len(tool.model_dump_json()) for tool in page.tools)
        pages += 1
        if not (cursor := page.next_cursor):
            break
    rest = [ListedTool(name=FURTHER, definition={}, dropped=f"its list has no end: {pages} pages were read")] if cursor else []
    return Offer(
        (*map(_listed, kept), *_left_out(kept, tap), *rest),
        {tool.name: tool.output_schema for tool in kept},
        any("x-mcp-header" in json.dumps(tool.input_schema) for tool in kept),
    )


def _listed(tool: types.Tool) -> ListedTool:
    whole = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    task = (whole.get("execution") or {}).get("taskSupport")
    dropped = "it can only run as a task, which is not supported" if task == "required" else ""
    return ListedTool(name=tool.name, definition={key: whole[key] for key in DEFINITION if key in whole}, dropped=dropped)


def _left_out(kept: list[types.Tool], tap: Tap) -> Iterator[ListedTool]:
    for name, why in tap.dropped.items():
        yield ListedTool(name=name, definition={}, dropped=why)
    names = {tool.name for tool in kept}
    for name in tap.listed:
        if name not in names:
            yield ListedTool(name=name, definition={}, dropped="its x-mcp-header mark is not valid")


async def resources(client: Client, _tap: Tap) -> tuple[ListedResource, ...]:
    if client.server_capabilities.resources is None:
        return ()
    found: list[types.Resource] = []
    cursor, size, pages = None, 0, 0
    while pages < MAX_PAGES and size < MAX_SIZE:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        size += sum(len(resource.model_dump_json()) for resource in page.resources)
        pages += 1
        if not (cursor := page.next_cursor):
            break
    return tuple(_resource(resource) for resource in found)


def _resource(resource: types.Resource) -> ListedResource:
    notes = resource.annotations
    audience = tuple(notes.audience or ()) if notes else ()
    return ListedResource(uri=resource.uri, name=resource.name, audience=audience, priority=notes.priority if notes else None)
