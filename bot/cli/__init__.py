"""The `deskhand` command: one file per group of commands."""
