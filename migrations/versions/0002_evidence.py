"""Tiles, cosignatures and disclosures; commitments as a column. No leaf changes.

Locks `ledger.entry` for a moment only: a column with a constant default changes metadata. Every
migration here is one transaction: if it is killed at any statement, nothing has changed.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROLES = """
DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(4369021);
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'countersign_eraser') THEN
    CREATE ROLE countersign_eraser NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
  END IF;
  GRANT countersign_eraser TO CURRENT_USER;
  GRANT countersign_owner TO CURRENT_USER;
END $$;
"""

TABLES = """
-- The header's commitments, 32 bytes each: with it a header can be rebuilt from columns alone.
ALTER TABLE ledger.entry ADD COLUMN commitments bytea NOT NULL DEFAULT ''
  CONSTRAINT entry_commitments_are_hashes CHECK (octet_length(commitments) % 32 = 0);

-- Full tiles of C2SP tlog-tiles: 256 hashes of 32 bytes. Partial ones are made when asked for.
CREATE TABLE ledger.tile (
  level  smallint NOT NULL CHECK (level BETWEEN 0 AND 7),
  n      bigint   NOT NULL CHECK (n >= 0),
  hashes bytea    NOT NULL CHECK (octet_length(hashes) = 8192),
  PRIMARY KEY (level, n)
);
ALTER TABLE ledger.tile ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- What witnesses said of our checkpoints: note signature lines, as they came.
CREATE TABLE ledger.cosignature (
  size           bigint NOT NULL CHECK (size > 0),
  name           text   COLLATE "C" NOT NULL,
  key_id         bytea  NOT NULL CHECK (octet_length(key_id) = 4),
  line           bytea  NOT NULL CHECK (octet_length(line) <= 8192),
  received_at_us bigint NOT NULL,
  PRIMARY KEY (size, name, key_id)
);

-- Personal values, encrypted under subject keys that are kept elsewhere. The only rows that go.
CREATE TABLE ledger.disclosure (
  seq      bigint   NOT NULL CHECK (seq >= 0),
  position smallint NOT NULL CHECK (position >= 0),
  subject  text     COLLATE "C" NOT NULL CHECK (octet_length(subject) <= 200),
  sealed   bytea    NOT NULL CHECK (octet_length(sealed) <= 65535),
  PRIMARY KEY (seq, position)
);
CREATE INDEX disclosure_by_subject ON ledger.disclosure (subject);

-- Snapshots are JSON: on disk, compression halves them. A digest is over the bytes before it.
ALTER TABLE ledger.blob ALTER COLUMN data SET STORAGE EXTENDED;
"""

TRIGGERS = """
CREATE TRIGGER tile_no_change BEFORE UPDATE OR DELETE ON ledger.tile
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER tile_no_truncate BEFORE TRUNCATE ON ledger.tile
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER cosignature_no_change BEFORE UPDATE OR DELETE ON ledger.cosignature
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER cosignature_no_truncate BEFORE TRUNCATE ON ledger.cosignature
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER disclosure_no_change BEFORE UPDATE ON ledger.disclosure
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER disclosure_no_truncate BEFORE TRUNCATE ON ledger.disclosure
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
ALTER TABLE ledger.tile ENABLE ALWAYS TRIGGER tile_no_change;
ALTER TABLE ledger.tile ENABLE ALWAYS TRIGGER tile_no_truncate;
ALTER TABLE ledger.cosignature ENABLE ALWAYS TRIGGER cosignature_no_change;
ALTER TABLE ledger.cosignature ENABLE ALWAYS TRIGGER cosignature_no_truncate;
ALTER TABLE ledger.disclosure ENABLE ALWAYS TRIGGER disclosure_no_change;
ALTER TABLE ledger.disclosure ENABLE ALWAYS TRIGGER disclosure_no_truncate;
"""

RIGHTS = """
ALTER TABLE ledger.tile OWNER TO countersign_owner;
ALTER TABLE ledger.cosignature OWNER TO countersign_owner;
ALTER TABLE ledger.disclosure OWNER TO countersign_owner;
GRANT SELECT ON ledger.tile, ledger.cosignature, ledger.disclosure
  TO countersign_writer, countersign_reader;
GRANT INSERT ON ledger.tile, ledger.cosignature, ledger.disclosure TO countersign_writer;

-- Whoever erases can do nothing else: it finds a subject's rows and removes them.
GRANT USAGE ON SCHEMA ledger TO countersign_eraser;
GRANT SELECT, DELETE ON ledger.disclosure TO countersign_eraser;

REVOKE countersign_owner FROM CURRENT_USER;
"""


def upgrade() -> None:
    for part in (ROLES, TABLES, TRIGGERS, RIGHTS):
        op.execute(part)
