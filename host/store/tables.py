"""All tables (spec H18, H30, H31). Times are ISO text in UTC; JSON is text, so that SQLite and PostgreSQL hold the same bytes.

Personal data stands in `tickets` (data, customer_id), `payloads` (salt, body), `questions` (payload, answer, approvals, note),
`runs.hint` and `outbox` (payload, receipt, why) alone, so that it can be erased while the journal's chain still verifies.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, MetaData, PrimaryKeyConstraint, String, Table, Text, true

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

tickets = Table(
    "tickets",
    metadata,
    Column("id", String, primary_key=True),
    Column("intake_key", String, nullable=False, unique=True),
    Column("state", String, nullable=False),
    Column("customer_id", String),
    Column("received_at", String, nullable=False),
    Column("due_at", String),
    Column("data", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("ticket_id", String, ForeignKey("tickets.id"), nullable=False, index=True),
    Column("state", String, nullable=False, index=True),
    Column("started_by", Text, nullable=False),
    Column("started_at", String, nullable=False),
    Column("position", String, nullable=False),
    Column("stop_reason", String),
    Column("cancelled", Boolean, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("owner", String),
    Column("leased_until", String),
    Column("queue_run", String, nullable=False, index=True),
    Column("hint", Text, nullable=False),
    Column("resources", Text, nullable=False, server_default="[]"),
)

queue_runs = Table(
    "queue_runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("started_by", Text, nullable=False),
    Column("started_at", String, nullable=False),
    Column("total", Integer, nullable=False),
    Column("stopped_by", String, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    Column("ticket_id", String, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("run_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("at", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("hash", String, nullable=False),
    PrimaryKeyConstraint("ticket_id", "seq"),
)

payloads = Table(
    "payloads",
    metadata,
    Column("ticket_id", String, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("salt", String, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("ticket_id", "seq"),
)

calls = Table(
    "calls",
    metadata,
    Column("call_id", String, primary_key=True),
    Column("ticket_id", String, nullable=False, index=True),
    Column("run_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("ms", Integer, nullable=False),
    Column("at", String, nullable=False, index=True),
    Column("amount", String, nullable=False, server_default=""),
)

questions = Table(
    "questions",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False, index=True),
    Column("ticket_id", String, nullable=False, index=True),
    Column("run_id", String, nullable=False),
    Column("call_id", String, nullable=False),
    Column("server", String, nullable=False),
    Column("roles", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("definition", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("asked_at", String, nullable=False),
    Column("deadline", String, nullable=False),
    Column("answered_by", Text),
    Column("answered_at", String),
    Column("answer", Text),
    Column("note", Text, nullable=False),
    Column("needed", Integer, nullable=False, server_default="1"),
    Column("approvals", Text, nullable=False, server_default="[]"),
    Column("remind_at", Text, nullable=False, server_default="[]"),
    Column("reminded", Integer, nullable=False, server_default="0"),
    Column("resumable", Boolean, nullable=False, server_default=true()),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),
    Column("key", String, nullable=False, unique=True),
    Column("ticket_id", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("delivered", Integer, nullable=False),
    Column("receipt", Text),
    Column("attempts", Integer, nullable=False),
    Column("uncertain", Boolean, nullable=False),
    Column("not_before", String, nullable=False),
    Column("state", String, nullable=False),
    Column("why", Text, nullable=False),
)
Index("ix_outbox_state_not_before", outbox.c.state, outbox.c.not_before)

servers = Table(
    "servers",
    metadata,
    Column("prefix", String, primary_key=True),
    Column("config_digest", String, nullable=False),
    Column("discovered", Text),
    Column("frozen_by", String, nullable=False),
)

pins = Table(
    "pins",
    metadata,
    Column("server", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("definition", Text, nullable=False),
    Column("accepted", Boolean, nullable=False),
    Column("why", Text, nullable=False),
    PrimaryKeyConstraint("server", "tool"),
)
