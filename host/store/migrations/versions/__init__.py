"""Database shapes of each release, in order."""
