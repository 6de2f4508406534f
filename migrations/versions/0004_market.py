"""Bars and dated events that feeds delivered: plain tables in a schema of their own.

They are no evidence: what a decision saw is in the ledger. The role that keeps them has no right in
the ledger, and adds and reads only. No table of the ledger changes or is locked.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ROLES = """
DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(4369021);
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'countersign_tables') THEN
    CREATE ROLE countersign_tables NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
  END IF;
  GRANT countersign_tables TO CURRENT_USER;
  GRANT countersign_owner TO CURRENT_USER;
END $$;
"""

TABLES = """
CREATE SCHEMA market;

-- A sound closed bar, as it came: source and sequence name it, prices are in ticks.
CREATE TABLE market.bar (
  source      text   COLLATE "C" NOT NULL CHECK (octet_length(source) <= 32),
  instrument  text   COLLATE "C" NOT NULL CHECK (octet_length(instrument) <= 64),
  sequence    bigint NOT NULL CHECK (sequence > 0),
  close_us    bigint NOT NULL CHECK (close_us >= 0),
  open_ticks  bigint NOT NULL CHECK (open_ticks > 0),
  high_ticks  bigint NOT NULL CHECK (high_ticks > 0),
  low_ticks   bigint NOT NULL CHECK (low_ticks > 0),
  close_ticks bigint NOT NULL CHECK (close_ticks > 0),
  PRIMARY KEY (instrument, source, sequence)
);

-- A dated event as it was posted (JSON), and when it came.
CREATE TABLE market.event (
  source      text   COLLATE "C" NOT NULL CHECK (octet_length(source) <= 32),
  sequence    bigint NOT NULL CHECK (sequence > 0),
  received_us bigint NOT NULL CHECK (received_us >= 0),
  document    text   NOT NULL CHECK (octet_length(document) <= 65535),
  PRIMARY KEY (source, sequence)
);
"""

RIGHTS = """
ALTER SCHEMA market OWNER TO countersign_owner;
ALTER TABLE market.bar OWNER TO countersign_owner;
ALTER TABLE market.event OWNER TO countersign_owner;
GRANT USAGE ON SCHEMA market TO countersign_tables;
GRANT SELECT, INSERT ON market.bar, market.event TO countersign_tables;

REVOKE countersign_owner FROM CURRENT_USER;
"""


def upgrade() -> None:
    for part in (ROLES, TABLES, RIGHTS):
        op.execute(part)
