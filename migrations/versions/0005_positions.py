"""Up to where the files that `serve` follows are read: a plain table beside the bars.

It is no evidence: reading a line twice changes nothing. Its role replaces a source's row and
deletes none. No table of the ledger changes or is locked.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLE = """
DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(4369021);
  GRANT countersign_owner TO CURRENT_USER;
END $$;

CREATE TABLE market.position (
  source   text COLLATE "C" NOT NULL PRIMARY KEY CHECK (octet_length(source) <= 64),
  document text NOT NULL CHECK (octet_length(document) <= 4194304)
);
ALTER TABLE market.position OWNER TO countersign_owner;
GRANT SELECT, INSERT, UPDATE ON market.position TO countersign_tables;

REVOKE countersign_owner FROM CURRENT_USER;
"""


def upgrade() -> None:
    op.execute(TABLE)
