"""The Web API: transport, tokens and faults in `server.py`, the methods in one file per family beside it."""
