"""Runs the migrations on the connection that `Store` hands over; there is no other way in."""

from alembic import context

from host.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
