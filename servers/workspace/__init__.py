"""A local workspace that speaks Slack's Web API and Socket Mode, for unmodified apps without an account (spec S7).

It stands beside the project as a program of its own, reached over HTTP and WebSocket on loopback only. It refuses to know
the bot, the host and the models: it knows blocks, people, channels and the rules of the platform it stands in for.
"""
