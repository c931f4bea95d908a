"""The delivery partner: a stranger's MCP server with one tool, `track_parcel`, and misbehaving variants for tests.

A program of its own with no way to the shop's records. Start it with `python -m servers.partner`.
"""
