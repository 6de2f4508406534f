"""What the migrations make of the tables besides columns: constraints, indexes, triggers, flags.

A table that lost a constraint takes rows twice; an index that was not kept for a moment leads its
readers to other rows than the table holds; a constraint that was never checked lets the planner
leave rows out. So the ledger is not opened, and fsck says so, unless all of it is as `EXPECTED`
says, which a test holds against a database that was just migrated.

Not here: whether the rows obey. Whoever may change the catalogue may change it back, so fsck also
counts the rows (`fsck_counts`) and verifies each. Whoever can load code into the server, or write
its files, can make it say anything: against him only a copy of the rows elsewhere helps.
"""

import re
from collections.abc import Iterator, Mapping

from audit.store.tables import TupleConnection

_MADE = r"""
blob columns
  not null: digest data
blob constraint blob_digest_is_hash
  CHECK ((digest = sha256(data)))
blob constraint blob_pkey
  PRIMARY KEY (digest)
blob index blob_pkey
  CREATE UNIQUE INDEX ON ledger.blob USING btree (digest) primary
blob itself
  of countersign_owner, stored as heap, 1 checks, indexed, triggered
blob trigger blob_no_change
  BEFORE DELETE OR UPDATE ON ledger.blob FOR EACH ROW EXECUTE FUNCTION ledger.refuse(), always
blob trigger blob_no_truncate
  BEFORE TRUNCATE ON ledger.blob FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
checkpoint columns
  not null: size note
checkpoint constraint checkpoint_pkey
  PRIMARY KEY (size)
checkpoint constraint checkpoint_size_check
  CHECK ((size > 0))
checkpoint index checkpoint_pkey
  CREATE UNIQUE INDEX ON ledger.checkpoint USING btree (size) primary
checkpoint itself
  of countersign_owner, stored as heap, 1 checks, indexed, triggered
checkpoint trigger checkpoint_no_change
  BEFORE DELETE OR UPDATE ON ledger.checkpoint FOR EACH ROW EXECUTE FUNCTION ledger.refuse(),
  always
checkpoint trigger checkpoint_no_truncate
  BEFORE TRUNCATE ON ledger.checkpoint FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
cosignature columns
  not null: size name key_id line received_at_us
cosignature constraint cosignature_key_id_check
  CHECK ((octet_length(key_id) = 4))
cosignature constraint cosignature_line_check
  CHECK ((octet_length(line) <= 8192))
cosignature constraint cosignature_pkey
  PRIMARY KEY (size, name, key_id)
cosignature constraint cosignature_size_check
  CHECK ((size > 0))
cosignature index cosignature_pkey
  CREATE UNIQUE INDEX ON ledger.cosignature USING btree (size, name, key_id) primary
cosignature itself
  of countersign_owner, stored as heap, 3 checks, indexed, triggered
cosignature trigger cosignature_no_change
  BEFORE DELETE OR UPDATE ON ledger.cosignature FOR EACH ROW EXECUTE FUNCTION ledger.refuse(),
  always
cosignature trigger cosignature_no_truncate
  BEFORE TRUNCATE ON ledger.cosignature FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(),
  always
disclosure columns
  not null: seq position subject sealed
disclosure constraint disclosure_pkey
  PRIMARY KEY (seq, "position")
disclosure constraint disclosure_position_check
  CHECK (("position" >= 0))
disclosure constraint disclosure_sealed_check
  CHECK ((octet_length(sealed) <= 65535))
disclosure constraint disclosure_seq_check
  CHECK ((seq >= 0))
disclosure constraint disclosure_subject_check
  CHECK ((octet_length(subject) <= 200))
disclosure index disclosure_by_subject
  CREATE INDEX ON ledger.disclosure USING btree (subject)
disclosure index disclosure_pkey
  CREATE UNIQUE INDEX ON ledger.disclosure USING btree (seq, "position") primary
disclosure itself
  of countersign_owner, stored as heap, 4 checks, indexed, triggered
disclosure trigger disclosure_no_change
  BEFORE UPDATE ON ledger.disclosure FOR EACH ROW EXECUTE FUNCTION ledger.refuse(), always
disclosure trigger disclosure_no_truncate
  BEFORE TRUNCATE ON ledger.disclosure FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
entry columns
  not null: seq stream stream_seq kind version recorded_at_us actor idem_key prev payload_digest
  leaf header payload commitments, default: commitments '\x'::bytea
entry constraint entry_commitments_are_hashes
  CHECK (((octet_length(commitments) % 32) = 0))
entry constraint entry_digest_is_hash
  CHECK ((payload_digest = sha256(payload)))
entry constraint entry_header_check
  CHECK ((octet_length(header) <= 65535))
entry constraint entry_leaf_is_hash
  CHECK ((leaf = sha256(('\x00'::bytea || header))))
entry constraint entry_once
  UNIQUE (stream, idem_key)
entry constraint entry_payload_check
  CHECK ((octet_length(payload) <= 65535))
entry constraint entry_pkey
  PRIMARY KEY (seq)
entry constraint entry_prev_check
  CHECK ((octet_length(prev) = 32))
entry constraint entry_seq_check
  CHECK ((seq >= 0))
entry constraint entry_stream_is_dense
  UNIQUE (stream, stream_seq)
entry constraint entry_stream_seq_check
  CHECK ((stream_seq >= 0))
entry constraint entry_version_check
  CHECK ((version > 0))
entry index entry_by_account
  CREATE INDEX ON ledger.entry USING btree (account, seq) WHERE (account IS NOT NULL)
entry index entry_by_kind
  CREATE INDEX ON ledger.entry USING btree (kind, seq)
entry index entry_once
  CREATE UNIQUE INDEX ON ledger.entry USING btree (stream, idem_key)
entry index entry_pkey
  CREATE UNIQUE INDEX ON ledger.entry USING btree (seq) primary
entry index entry_stream_is_dense
  CREATE UNIQUE INDEX ON ledger.entry USING btree (stream, stream_seq)
entry itself
  of countersign_owner, stored as heap, 9 checks, indexed, triggered
entry trigger entry_no_change
  BEFORE DELETE OR UPDATE ON ledger.entry FOR EACH ROW EXECUTE FUNCTION ledger.refuse(), always
entry trigger entry_no_truncate
  BEFORE TRUNCATE ON ledger.entry FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
function forward_only
  plpgsql af3f07a369f749435571cbca2fc520ad537ceca66a681932bcf0e42e63c671f9 search_path=pg_catalog
function refuse
  plpgsql 6a42cc199014c81a6449d4171fe20c5bdce26f95c6cf4bd537819c1575c9b164 search_path=pg_catalog
head columns
  not null: id origin size root frontier fence
head constraint head_fence_check
  CHECK ((fence >= 0))
head constraint head_frontier_check
  CHECK (((octet_length(frontier) % 32) = 0))
head constraint head_id_check
  CHECK ((id = 1))
head constraint head_pkey
  PRIMARY KEY (id)
head constraint head_root_check
  CHECK ((octet_length(root) = 32))
head constraint head_size_check
  CHECK ((size >= 0))
head index head_pkey
  CREATE UNIQUE INDEX ON ledger.head USING btree (id) primary
head itself
  of countersign_owner, stored as heap, 5 checks, indexed, triggered
head trigger head_forward_only
  BEFORE UPDATE ON ledger.head FOR EACH ROW EXECUTE FUNCTION ledger.forward_only(), always
head trigger head_no_delete
  BEFORE DELETE ON ledger.head FOR EACH ROW EXECUTE FUNCTION ledger.refuse(), always
head trigger head_no_truncate
  BEFORE TRUNCATE ON ledger.head FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
tile columns
  not null: level n hashes
tile constraint tile_hashes_check
  CHECK ((octet_length(hashes) = 8192))
tile constraint tile_level_check
  CHECK (((level >= 0) AND (level <= 7)))
tile constraint tile_n_check
  CHECK ((n >= 0))
tile constraint tile_pkey
  PRIMARY KEY (level, n)
tile index tile_pkey
  CREATE UNIQUE INDEX ON ledger.tile USING btree (level, n) primary
tile itself
  of countersign_owner, stored as heap, 3 checks, indexed, triggered
tile trigger tile_no_change
  BEFORE DELETE OR UPDATE ON ledger.tile FOR EACH ROW EXECUTE FUNCTION ledger.refuse(), always
tile trigger tile_no_truncate
  BEFORE TRUNCATE ON ledger.tile FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse(), always
"""
"""Each thing by its table and name; below it, indented, what it is."""
EXPECTED: Mapping[str, str] = {
    name: " ".join(lines.split())
    for name, _, lines in (
        part.partition("\n") for part in re.split(r"\n(?=\S)", _MADE.strip("\n"))
    )
}
"""What the migrations make: PostgreSQL's own words for it, by table and name."""

_SQL = r"""
WITH t AS (
  SELECT c.*, relname::text AS name FROM pg_class c
  WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p')
)
SELECT name || ' constraint ' || conname, concat_ws(' ', pg_get_constraintdef(o.oid),
    CASE WHEN NOT convalidated THEN 'never checked' END,
    CASE WHEN condeferrable THEN 'deferrable' END,
    CASE WHEN o.coninhcount > 0 OR NOT o.conislocal THEN 'inherited' END)
FROM pg_constraint o JOIN t ON conrelid = t.oid WHERE contype <> 'n' OR NOT convalidated
UNION ALL
SELECT name || ' columns', concat_ws(', ',
    'not null: ' || (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
      WHERE attrelid = t.oid AND attnum > 0 AND attnotnull),
    'default: ' || (SELECT string_agg(attname || ' ' || pg_get_expr(adbin, adrelid), ', '
        ORDER BY adnum)
      FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
      WHERE adrelid = t.oid))
FROM t
UNION ALL
SELECT t.name || ' index ' || i.relname, concat_ws(' ',
    replace(pg_get_indexdef(indexrelid), ' ' || i.relname || ' ON ', ' ON '),
    CASE WHEN NOT indisvalid THEN 'not valid' END,
    CASE WHEN NOT indisready THEN 'not kept' END,
    CASE WHEN NOT indislive THEN 'being dropped' END,
    CASE WHEN NOT indimmediate THEN 'checked late' END,
    CASE WHEN indisprimary THEN 'primary' END,
    CASE WHEN (SELECT bool_or(one >= 16384) FROM unnest(indclass) AS one)
      THEN 'of an ordering that is not PostgreSQL''s own' END)
FROM pg_index JOIN t ON indrelid = t.oid JOIN pg_class i ON i.oid = indexrelid
UNION ALL
SELECT name || ' trigger ' || tgname,
  regexp_replace(pg_get_triggerdef(g.oid), '^CREATE TRIGGER [a-z_]+ ', '') || CASE tgenabled
    WHEN 'A' THEN ', always' WHEN 'D' THEN ', disabled' ELSE ', not always' END
FROM pg_trigger g JOIN t ON tgrelid = t.oid
UNION ALL
SELECT name || ' policy ' || polname, 'a policy' FROM pg_policy JOIN t ON polrelid = t.oid
UNION ALL
SELECT name || ' rule ' || rulename, 'a rule' FROM pg_rewrite JOIN t ON ev_class = t.oid
UNION ALL
SELECT name || ' inherits', 'with ' || count(*) FROM pg_inherits JOIN t
    ON t.oid IN (inhrelid, inhparent) GROUP BY name
UNION ALL
SELECT name || ' itself', concat_ws(', ', 'of ' || pg_get_userbyid(relowner),
    'stored as ' || (SELECT amname FROM pg_am a WHERE a.oid = relam),
    relchecks || ' checks',
    CASE WHEN relhasindex THEN 'indexed' END,
    CASE WHEN relhastriggers THEN 'triggered' END,
    CASE WHEN relrowsecurity OR relforcerowsecurity THEN 'with row-level security' END)
FROM t
UNION ALL
SELECT 'function ' || proname, concat_ws(' ', lanname,
    encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), array_to_string(proconfig, ' '),
    CASE WHEN prosecdef THEN 'with its owner''s rights' END)
FROM pg_proc p JOIN pg_language l ON l.oid = prolang
WHERE pronamespace = 'ledger'::regnamespace
ORDER BY 1
"""


def defences(connection: TupleConnection) -> dict[str, str]:
    """Return what a database's tables have, in the form of `EXPECTED`."""
    return dict(connection.execute(_SQL.encode()).fetchall())


def strange_defences(connection: TupleConnection) -> Iterator[str]:
    """Yield what is not as the migrations made it, in words."""
    found = defences(connection)
    for name in sorted(EXPECTED.keys() | found.keys()):
        is_now, made = found.get(name), EXPECTED.get(name)
        if made is None:
            yield f"ledger.{name} ({is_now}) is no migration's"
        elif is_now is None:
            yield f"ledger.{name} ({made}) is gone"
        elif is_now != made:
            yield f"ledger.{name} is {is_now}, not {made}"
