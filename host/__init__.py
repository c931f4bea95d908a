"""The host: a model proposes, policy disposes, a person consents, the journal remembers."""
