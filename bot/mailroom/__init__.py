"""The mailroom: tickets in, replies out.  One file per way; each fulfils `port` and the shared contract test (spec B11)."""
