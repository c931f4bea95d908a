"""The demo: the bot on the local workspace, with seeded scenes, on recordings until the real model is built."""
