"""Models: one port, several ways to fill it.  Knows nothing of tickets, servers or people."""
