"""Several approvals and reminders of a question, the money a call moves, resources added to a run"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("resources", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("calls", sa.Column("amount", sa.String(), nullable=False, server_default=""))
    op.add_column("questions", sa.Column("needed", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("questions", sa.Column("approvals", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("questions", sa.Column("remind_at", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("questions", sa.Column("reminded", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("questions", sa.Column("resumable", sa.Boolean(), nullable=False, server_default=sa.true()))


def downgrade() -> None:
    for table, column in (
        ("questions", "resumable"),
        ("questions", "reminded"),
        ("questions", "remind_at"),
        ("questions", "approvals"),
        ("questions", "needed"),
        ("calls", "amount"),
        ("runs", "resources"),
    ):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
