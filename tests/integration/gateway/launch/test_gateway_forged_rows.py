"""With the database's login, and as its superuser: no order, no release, no erasure.

Whatever is written into the database stands in a log that every proof confirms; the gateway does
nothing on its word, and says which row it was.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from audit.errors import LedgerError, LedgerUnsafeError, RowRefusedError
from audit.privacy.disclosures import Disclosures
from audit.records.canonical import JSON
from audit.records.kinds import KINDS, Kind, StreamClass
from audit.records.record import Draft
from audit.records.row_key import disavowal
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.logins import LOGIN_ROLE, admit
from audit.store.reader import LedgerReader
from audit.store.tables import ERASER_ROLE, READER_ROLE, WRITER_ROLE, connect
from audit.upkeep.dump import verify_database
from gateway.clock import wall_us
from gateway.errors import RequestError, SettingsError
from gateway.feeds.instruments.table import PLAYED_TABLE
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys.disavowal import disavow
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.rotation import held_against_key
from gateway.installation.keys.row_keys import MEMORY, SECRET, read_secret
from gateway.installation.place import attached
from gateway.launch.plan import Plan, serving_plan
from gateway.privacy.commands import carry_out
from tests.conftest import dsn_of
from tests.doubles.audit_log import note
from tests.doubles.audit_spoiled import arm, disarm
from tests.doubles.live_desk import plan_for
from tests.doubles.row_forger import forge, forged, plan_on, started

pytestmark = pytest.mark.postgres
EMPTY = b"; ".join(
    b"DELETE FROM ledger." + name for name in (b"entry", b"head", b"checkpoint", b"tile")
)
CALLERS = [kind for kind, spec in KINDS.items() if not spec.ledger_only]


@pytest.fixture
def plan(tmp_path: Path, postgres_dsn: str) -> Plan:
    """A gateway that has run once on the database."""
    made = plan_on(tmp_path / "state", postgres_dsn)
    with started(made, postgres_dsn) as (ledger_, _, _):
        ledger_.append(note("a"), note("b"))
    return made


@pytest.fixture
def login_dsn(postgres: EmbeddedPostgres, postgres_dsn: str) -> Iterator[str]:
    """The gateway's own login to the database, of which somebody read the password."""
    dsn = dsn_of(postgres.login_dsn, postgres_dsn.partition("?")[0].rpartition("/")[2])
    admit(postgres_dsn, dsn)
    yield dsn
    with connect(postgres_dsn) as admin:
        for role in (WRITER_ROLE, READER_ROLE, ERASER_ROLE):
            admin.execute(f"REVOKE {role} FROM {LOGIN_ROLE}".encode())
        admin.execute(f"DROP ROLE {LOGIN_ROLE}".encode())


@pytest.mark.parametrize("kind", [Kind.VERDICT_GIVEN, Kind.KILL_RELEASED, Kind.SUBJECT_ERASED])
def test_a_row_of_the_login_stops_the_start_though_every_proof_confirms_it(
    plan: Plan, postgres_dsn: str, login_dsn: str, kind: Kind
) -> None:
    (record,) = forge(login_dsn, plan.signer, forged(kind))
    with pytest.raises(RowRefusedError) as refused, started(plan, login_dsn):
        pass
    assert (refused.value.seq, refused.value.stream) == (record.seq, record.stream)
    assert f"record {record.seq} in stream {record.stream} has no MAC" in str(refused.value)
    with Ledger.open(LedgerConfig(dsn=postgres_dsn), plan.signer, wall_us):
        pass  # signs the tree with the row in it
    found = verify_database(postgres_dsn, [str(plan.signer.vkey)])
    # hashes, streams and signatures are sound; an invented verdict or release rests on no record
    assert found.exit_code == (0 if kind is Kind.SUBJECT_ERASED else 1)
    assert found.first_bad_seq in {None, record.seq}


def test_a_row_of_any_kind_is_refused_and_named(plan: Plan, postgres_dsn: str) -> None:
    with started(plan, postgres_dsn) as (ledger, reader, _):
        size = ledger.size
        written = forge_while_open(plan, postgres_dsn)
        for kind, seq in written.items():
            assert not list(reader.records(kinds=(kind,), after_seq=seq - 1)), "it wrote none"
        assert reader.log_size() == size
        with pytest.raises(LedgerError, match="did not write"):
            ledger.append(note("c"))
        for kind, seq in written.items():
            with pytest.raises(RowRefusedError, match=f"record {seq} "):
                list(reader.records(kinds=(kind,), after_seq=seq - 1))
        first = min(written.values())
        with pytest.raises(RowRefusedError, match=f"record {first} "):
            list(reader.records())
        stream = f"{StreamClass.DECISION.value}forged"
        with pytest.raises(RowRefusedError):
            reader.by_key(stream, f"forged:{Kind.VERDICT_GIVEN}")
        with pytest.raises(RowRefusedError):
            reader.stream_range(stream, 0, 0)


def forge_while_open(plan: Plan, dsn: str) -> dict[Kind, int]:
    """Write a row of every kind beside a gateway, whose lock is taken away first."""
    with connect(dsn) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
            " current_database() AND application_name = 'countersign-sequencer'"
        )
    return {r.kind: r.seq for r in forge(dsn, plan.signer, *map(forged, CALLERS))}


def test_no_erasure_is_judged_by_a_row_of_the_database(plan: Plan, postgres_dsn: str) -> None:
    """A hold that somebody lifted there still holds: the verbs of a stopped gateway say so too."""
    (record,) = forge(postgres_dsn, plan.signer, forged(Kind.HOLD_LIFTED))
    with attached(plan.settings) as place, held_against_key(place) as reader:
        judged = Disclosures(place.dsn, row_key=reader.row_key)
        with pytest.raises(RowRefusedError, match=f"record {record.seq} in stream control"):
            list(judged.records((), range(judged.size())))
    with pytest.raises(RowRefusedError, match=f"record {record.seq} in stream control"):
        carry_out(plan.settings, "release-hold", "approver", hold_id="hold-1", reason="a test")


def test_what_a_superuser_does_to_rows_of_the_gateway_stops_the_start(
    plan: Plan, postgres_dsn: str
) -> None:
    changes = {
        "has no MAC": "UPDATE ledger.entry SET mac = NULL WHERE seq = 1",
        "has a MAC that this gateway did not make": "UPDATE ledger.entry SET mac ="
        " (SELECT mac FROM ledger.entry WHERE seq = 2) WHERE seq = 1",
        "has columns that are not": "UPDATE ledger.entry SET payload = ' ' WHERE seq = 1",
        "has columns that": "UPDATE ledger.entry SET kind = 'kill_released' WHERE seq = 1",
        "record 1 is gone|is signed, . exist": "DELETE FROM ledger.entry WHERE seq = 1",
    }
    with connect(postgres_dsn) as admin:
        admin.execute("CREATE TABLE public.kept AS TABLE ledger.entry")
    for said, change in changes.items():
        disarm(postgres_dsn)
        with connect(postgres_dsn) as admin:
            admin.execute(change.encode())
        arm(postgres_dsn)
        refused = pytest.raises((RowRefusedError, LedgerUnsafeError), match=said)
        with refused, started(plan, postgres_dsn):
            pass
        disarm(postgres_dsn)
        with connect(postgres_dsn) as admin:
            admin.execute("DELETE FROM ledger.entry WHERE seq = 1")
            admin.execute("INSERT INTO ledger.entry SELECT * FROM public.kept WHERE seq = 1")
        arm(postgres_dsn)
    with started(plan, postgres_dsn):
        pass


def test_two_officers_disavow_a_row_and_the_start_passes_it(plan: Plan, postgres_dsn: str) -> None:
    (record,) = forge(postgres_dsn, plan.signer, forged(Kind.VERDICT_GIVEN))
    settings, nobody = plan.settings, dict[str, Path | None]()
    for seq, said in ((1, "was written by this gateway"), (999, "there is no record 999")):
        with pytest.raises(RequestError, match=said):
            disavow(settings, seq, "a test", nobody)
    risk: dict[str, Path | None] = {"compliance": plan.state.keys / "risk.key"}
    with pytest.raises(RequestError, match="both roles"):
        disavow(settings, record.seq, "a test", risk)
    assert disavow(settings, record.seq, "a test", nobody) == 0
    with started(plan, postgres_dsn) as (ledger, reader, orders):
        assert orders.get("forged") is None
        assert reader.record(record.seq) is None
        ledger.append(note("it goes on"))
        shown = LedgerReader(postgres_dsn)
        assert shown.record(record.seq) == record, "pages and proofs go on showing it"
        shown.close()
    with pytest.raises(RequestError, match="is disavowed already"):
        disavow(settings, record.seq, "a test", nobody)
    (later,) = forge(postgres_dsn, plan.signer, forged(Kind.ORDER_REPORTED))
    with pytest.raises(RowRefusedError, match=f"record {later.seq} "), started(plan, postgres_dsn):
        pass


def test_a_disavowal_that_the_database_wrote_disavows_nothing(
    plan: Plan, postgres_dsn: str
) -> None:
    """Even one that both officers signed; it is disavowed like any other row."""
    (record,) = forge(postgres_dsn, plan.signer, forged(Kind.VERDICT_GIVEN))
    ring = Keyring(plan.state.keys)
    statement = disavowal(plan.origin, record.seq, record.leaf)
    signed = {role: ring.signing_key(role).sign(statement).hex() for role in ring.public_keys()}
    payload: dict[str, JSON] = {
        "seq": record.seq,
        "leaf": record.leaf.hex(),
        "of_stream": record.stream,
        "reason": "forged",
        "signatures": dict(signed),
    }
    own = replace(forged(Kind.RECORD_DISAVOWED), payload=payload)
    forge(postgres_dsn, plan.signer, own)
    with pytest.raises(RowRefusedError, match=f"record {record.seq} "), started(plan, postgres_dsn):
        pass
    for seq in (record.seq, record.seq + 1):
        disavow(plan.settings, seq, "a test", {})
    with started(plan, postgres_dsn):
        pass


def test_rows_of_before_there_was_a_key_count_once_up_to_a_named_root(
    tmp_path: Path, postgres_dsn: str
) -> None:
    plan = plan_for(tmp_path / "state")
    with Ledger.open(LedgerConfig(dsn=postgres_dsn), plan.signer, wall_us) as ledger:
        ledger.append(*(note(str(number)) for number in range(20)))
        ledger.checkpoint_now()
        size, root = ledger.size, ledger.last_checkpoint.root if ledger.last_checkpoint else b""
    for _ in range(2):
        with started(plan, postgres_dsn) as (_, reader, _):
            accepted = list(reader.records(kinds=(Kind.ROWS_ACCEPTED,)))
            assert [(r.body["size"], r.body["root"]) for r in accepted] == [(size, root.hex())]
            assert sum(1 for _ in reader.records(before_seq=size)) == size
    (record,) = forge(postgres_dsn, plan.signer, forged(Kind.VERDICT_GIVEN))
    with pytest.raises(RowRefusedError, match=f"record {record.seq} "), started(plan, postgres_dsn):
        pass
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute("UPDATE ledger.entry SET leaf = sha256(leaf), mac = NULL WHERE seq = 3")
    arm(postgres_dsn)
    with pytest.raises(LedgerUnsafeError), started(plan, postgres_dsn):
        pass


def test_rows_of_an_earlier_ledger_of_the_same_name_are_strangers(
    plan: Plan, postgres_dsn: str
) -> None:
    """Its key folder is the same, its log has the same name: replayed, they count for nothing."""
    with connect(postgres_dsn) as admin:
        admin.execute("CREATE TABLE public.kept AS TABLE ledger.entry")
        admin.execute("CREATE TABLE public.kept_head AS TABLE ledger.head")
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute(EMPTY)
    arm(postgres_dsn)
    emptied = pytest.raises(LedgerUnsafeError, match="and has 0 now")
    with emptied, started(plan, postgres_dsn):
        pass
    (plan.state.root / MEMORY).unlink()
    with started(plan, postgres_dsn) as (ledger, _, _):
        ledger.append(note("anew"))
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute(EMPTY)
        admin.execute("INSERT INTO ledger.entry SELECT * FROM public.kept")
        admin.execute("INSERT INTO ledger.head SELECT * FROM public.kept_head")
    arm(postgres_dsn)
    with pytest.raises(RowRefusedError, match="record 0 "), started(plan, postgres_dsn):
        pass


def test_an_older_state_that_was_put_back_stops_the_start(plan: Plan, postgres_dsn: str) -> None:
    """Rows and head of it are the gateway's own, and so is the checkpoint: only it is too short."""
    with connect(postgres_dsn) as admin:
        for table in (b"entry", b"head", b"checkpoint"):
            admin.execute(b"CREATE TABLE public.kept_" + table + b" AS TABLE ledger." + table)
        (older,) = admin.execute("SELECT size FROM ledger.head").fetchone() or (0,)
    with started(plan, postgres_dsn) as (ledger, _, _):
        ledger.append(note("a kill was pressed"))
    newer = ledger.size
    disarm(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute(EMPTY)
        for table in (b"entry", b"head", b"checkpoint"):
            admin.execute(b"INSERT INTO ledger." + table + b" SELECT * FROM public.kept_" + table)
    arm(postgres_dsn)
    said = f"the ledger had {newer} records here, and has {older} now"
    with pytest.raises(LedgerUnsafeError, match=said), started(plan, postgres_dsn):
        pass


def test_a_row_that_is_no_map_keeps_nobody_from_disavowing_it(
    plan: Plan, postgres_dsn: str
) -> None:
    heads = Draft(
        stream="control",
        kind=Kind.STREAM_HEADS,
        payload={"part": "none", "parts": 1, "heads": {}},
        actor="ledger",
        idem_key="heads:forged",
    )
    (record,) = forge(postgres_dsn, plan.signer, heads)
    with pytest.raises(RowRefusedError, match=f"record {record.seq} "), started(plan, postgres_dsn):
        pass
    assert disavow(plan.settings, record.seq, "a test", {}) == 0
    with started(plan, postgres_dsn):
        pass


def test_serve_does_not_start_without_the_key_of_the_rows(plan: Plan, postgres_dsn: str) -> None:
    secret = plan.state.keys / SECRET
    assert secret.stat().st_mode & 0o777 == 0o600
    assert (plan.state.root / MEMORY).stat().st_mode & 0o777 == 0o600
    secret.chmod(0o640)
    with pytest.raises(SettingsError, match="readable by others"):
        read_secret(plan.state.keys)
    secret.unlink()
    liable = plan.settings.liability.model_copy(
        update=dict.fromkeys(("model_provider", "compute_operator", "deployer"), "a firm")
    )
    served = {"keys": plan.state.keys, "instruments": PLAYED_TABLE, "liability": liable}
    settings = plan.settings.model_copy(update=served)
    fix = settings.fix.model_copy(update={"port": 1})
    with pytest.raises(SettingsError, match="make it with `countersign row-key`"):
        serving_plan(settings.model_copy(update={"fix": fix}))
    with pytest.raises(SettingsError, match="countersign row-key"), started(plan, postgres_dsn):
        pass
