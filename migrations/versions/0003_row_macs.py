"""A MAC beside every row, made with a key that the database does not have. No leaf changes.

Earlier rows have none: the gateway accepts them once, up to a root that it names. Adding a column
without a default changes metadata only, so `ledger.entry` is locked for a moment.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

OWN = "GRANT countersign_owner TO CURRENT_USER;"
COLUMN = "ALTER TABLE ledger.entry ADD COLUMN mac bytea;"
DISOWN = "REVOKE countersign_owner FROM CURRENT_USER;"


def upgrade() -> None:
    for part in (OWN, COLUMN, DISOWN):
        op.execute(part)
