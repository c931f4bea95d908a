"""The bot: what people see, press and type; where tickets come in and replies go out.  Decides nothing."""
