"""The online shop for kitchen and garden goods: a database, an HTTP API over it, an MCP server in front of that.

A program of its own: it knows its customers, orders, products, tickets, quotes and refunds, and nothing of
whoever calls it. Start it with `python -m servers.shop api` or `python -m servers.shop mcp`.
"""
