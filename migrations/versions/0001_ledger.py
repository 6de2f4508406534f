"""The ledger: tables, roles, triggers.

There is no downgrade: nothing may take records away.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROLES = """
DO $$
DECLARE name text;
BEGIN
  -- Roles belong to the whole cluster, so another database may have made them already.
  PERFORM pg_advisory_xact_lock(4369021);
  FOREACH name IN ARRAY ARRAY['countersign_owner', 'countersign_writer', 'countersign_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', name);
    END IF;
    EXECUTE format('GRANT %I TO CURRENT_USER', name);
  END LOOP;
END $$;
"""

TABLES = r"""
CREATE SCHEMA ledger AUTHORIZATION countersign_owner;

CREATE TABLE ledger.entry (
  seq            bigint  NOT NULL PRIMARY KEY CHECK (seq >= 0),
  stream         text    COLLATE "C" NOT NULL,
  stream_seq     bigint  NOT NULL CHECK (stream_seq >= 0),
  kind           text    COLLATE "C" NOT NULL,
  version        integer NOT NULL CHECK (version > 0),
  recorded_at_us bigint  NOT NULL,
  actor          text    COLLATE "C" NOT NULL,
  idem_key       text    COLLATE "C" NOT NULL,
  account        text    COLLATE "C",
  prev           bytea   NOT NULL CHECK (octet_length(prev) = 32),
  payload_digest bytea   NOT NULL,
  leaf           bytea   NOT NULL,
  header         bytea   NOT NULL CHECK (octet_length(header) <= 65535),
  payload        bytea   NOT NULL CHECK (octet_length(payload) <= 65535),
  CONSTRAINT entry_leaf_is_hash CHECK (leaf = sha256('\x00'::bytea || header)),
  CONSTRAINT entry_digest_is_hash CHECK (payload_digest = sha256(payload)),
  CONSTRAINT entry_stream_is_dense UNIQUE (stream, stream_seq),
  CONSTRAINT entry_once UNIQUE (stream, idem_key)
);
CREATE INDEX entry_by_kind ON ledger.entry (kind, seq);
CREATE INDEX entry_by_account ON ledger.entry (account, seq) WHERE account IS NOT NULL;

CREATE TABLE ledger.blob (
  digest bytea NOT NULL PRIMARY KEY,
  data   bytea NOT NULL,
  CONSTRAINT blob_digest_is_hash CHECK (digest = sha256(data))
);
ALTER TABLE ledger.blob ALTER COLUMN data SET STORAGE EXTERNAL;

-- The only row that changes; it can be rebuilt from the leaves.
CREATE TABLE ledger.head (
  id       smallint NOT NULL PRIMARY KEY CHECK (id = 1),
  origin   text     COLLATE "C" NOT NULL,
  size     bigint   NOT NULL CHECK (size >= 0),
  root     bytea    NOT NULL CHECK (octet_length(root) = 32),
  frontier bytea    NOT NULL CHECK (octet_length(frontier) % 32 = 0),
  fence    bigint   NOT NULL CHECK (fence >= 0)
);

CREATE TABLE ledger.checkpoint (
  size bigint NOT NULL PRIMARY KEY CHECK (size > 0),
  note bytea  NOT NULL
);
"""

TRIGGERS = """
CREATE FUNCTION ledger.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: % on %.% refused', TG_OP, TG_TABLE_SCHEMA,
    TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION ledger.forward_only() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.size < OLD.size OR NEW.fence < OLD.fence OR NEW.id <> OLD.id OR NEW.origin <> OLD.origin
  THEN
    RAISE EXCEPTION 'the head only moves forward' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE ON ledger.entry
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON ledger.entry
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER blob_no_change BEFORE UPDATE OR DELETE ON ledger.blob
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER blob_no_truncate BEFORE TRUNCATE ON ledger.blob
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER checkpoint_no_change BEFORE UPDATE OR DELETE ON ledger.checkpoint
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER checkpoint_no_truncate BEFORE TRUNCATE ON ledger.checkpoint
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER head_forward_only BEFORE UPDATE ON ledger.head
  FOR EACH ROW EXECUTE FUNCTION ledger.forward_only();
CREATE TRIGGER head_no_delete BEFORE DELETE ON ledger.head
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER head_no_truncate BEFORE TRUNCATE ON ledger.head
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();

-- ALWAYS: they fire with session_replication_role = replica as well.
ALTER TABLE ledger.entry ENABLE ALWAYS TRIGGER entry_no_change;
ALTER TABLE ledger.entry ENABLE ALWAYS TRIGGER entry_no_truncate;
ALTER TABLE ledger.blob ENABLE ALWAYS TRIGGER blob_no_change;
ALTER TABLE ledger.blob ENABLE ALWAYS TRIGGER blob_no_truncate;
ALTER TABLE ledger.checkpoint ENABLE ALWAYS TRIGGER checkpoint_no_change;
ALTER TABLE ledger.checkpoint ENABLE ALWAYS TRIGGER checkpoint_no_truncate;
ALTER TABLE ledger.head ENABLE ALWAYS TRIGGER head_forward_only;
ALTER TABLE ledger.head ENABLE ALWAYS TRIGGER head_no_delete;
ALTER TABLE ledger.head ENABLE ALWAYS TRIGGER head_no_truncate;
"""

RIGHTS = """
ALTER TABLE ledger.entry OWNER TO countersign_owner;
ALTER TABLE ledger.blob OWNER TO countersign_owner;
ALTER TABLE ledger.head OWNER TO countersign_owner;
ALTER TABLE ledger.checkpoint OWNER TO countersign_owner;
ALTER FUNCTION ledger.refuse() OWNER TO countersign_owner;
ALTER FUNCTION ledger.forward_only() OWNER TO countersign_owner;

GRANT USAGE ON SCHEMA ledger TO countersign_writer, countersign_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO countersign_writer, countersign_reader;
GRANT INSERT ON ledger.entry, ledger.blob, ledger.head, ledger.checkpoint TO countersign_writer;
GRANT UPDATE (size, root, frontier, fence) ON ledger.head TO countersign_writer;
GRANT SELECT ON public.alembic_version TO countersign_writer, countersign_reader;

-- The migrating user needed the owner's membership for the lines above only.
REVOKE countersign_owner FROM CURRENT_USER;
"""


def upgrade() -> None:
    for part in (ROLES, TABLES, TRIGGERS, RIGHTS):
        op.execute(part)
