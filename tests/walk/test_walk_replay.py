"""What a run leaves behind proves itself: replay, verify, export and dump, as processes.

One short run is played for the module. Copies of its database are spoilt, never the ledger itself.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec import structs
from typing_extensions import override

from audit.errors import AuditError
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.evidence.replay.whole import replay_all
from gateway.installation import settings
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.place import Place
from gateway.installation.state import StateFolder
from inference.weights.registry import read_table
from tests.doubles.audit_spoiled import arm, disarm
from tests.doubles.programs import ROOT, play, verb
from tests.doubles.state_folder import state_folder

pytestmark = [pytest.mark.walk, pytest.mark.timeout(300)]
DECISIONS = 4
OK, TAMPERED, INCOMPLETE, NOT_CHECKABLE = 0, 1, 2, 3
VERIFIER = ROOT / "audit" / "verifier" / "verify.py"
TABLE = read_table((ROOT / "inference" / "models" / "pair_v1" / "table.safetensors").read_bytes())
OTHER_PLACES = (
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu"},
    {"PYTHONHASHSEED": "4294967295", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"},
    {"PYTHONHASHSEED": "77", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Chatham", "PYTHONUTF8": "0"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A finished run and its database, still up."""

    state: Path
    dsn: str
    reader: LedgerReader

    @property
    def decisions(self) -> list[str]:
        """The decision ids."""
        return [name.removeprefix("decision/") for name in self.reader.streams("decision/")]

    @property
    def key(self) -> Path:
        """The log's public key."""
        return self.state / "keys" / "ledger.key.pub"


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    """A run of a few decisions."""
    with state_folder() as state:
        code, printed = play(state, DECISIONS)
        assert code == 0, printed
        server = EmbeddedPostgres(state)
        dsn = server.start()
        reader = LedgerReader(dsn)
        try:
            yield Played(state=state, dsn=dsn, reader=reader)
        finally:
            reader.close()
            server.stop()


def dsn_of(dsn: str, database: str) -> str:
    """Return the DSN of another database on the same server."""
    server, _, options = dsn.partition("?")
    return f"{server.rpartition('/')[0]}/{database}?{options}"


class Altered(LedgerReader):
    """A reader that gives back some records changed, as a forger of the pages would."""

    def __init__(self, dsn: str, kind: Kind, change: Callable[[dict[str, Any]], None]) -> None:
        """Change every record of a kind."""
        super().__init__(dsn)
        self._kind = kind
        self._change = change

    @override
    def records(self, *args: Any, **values: Any) -> Iterator[Record]:
        """Yield records, altered."""
        for record in super().records(*args, **values):
            if record.kind is self._kind:
                body: dict[str, Any] = json.loads(record.payload)
                self._change(body)
                yield structs.replace(record, payload=canonical(body))
            else:
                yield record


def test_every_decision_replays_in_another_process_place_and_order(played: Played) -> None:
    decisions = played.decisions
    assert len(decisions) == DECISIONS
    for number, decision in enumerate(decisions):
        place = OTHER_PLACES[number % len(OTHER_PLACES)]
        done = verb(played.state, "replay", decision, env=place)
        assert done.returncode == OK, done.stdout + done.stderr
        assert f"REPLAYED {decision}" in done.stdout
        steps = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("equal")]
        assert steps[:4] == [
            "snapshot_taken",
            "forecast_requested",
            "rounds_captured",
            "forecast_made",
        ]


def test_all_decisions_replay_at_once_and_a_spoilt_one_is_named(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    done = verb(played.state, "replay", "--all")
    assert done.returncode == OK, done.stdout + done.stderr
    assert f"REPLAYED {DECISIONS} of {DECISIONS} decisions" in done.stdout
    both = verb(played.state, "replay", "--all", played.decisions[0])
    assert (both.returncode, "or --all" in both.stderr) == (2, True)
    spoilt_streams = [one.stream for one in played.reader.records(kinds=(Kind.FORECAST_MADE,))]
    spoilt = Altered(played.dsn, Kind.FORECAST_MADE, change("forecast.expected_1e8", one_more))
    try:
        place = Place(
            dsn=played.dsn,
            reader=spoilt,
            state=StateFolder.of(settings.load(state=played.state)),
            settings=settings.load(state=played.state),
        )
        assert replay_all(place) == 1
    finally:
        spoilt.close()
    told = capsys.readouterr().out
    differing = [line.split()[1].rstrip(":") for line in told.splitlines() if "DIFFERS" in line]
    assert differing[:DECISIONS] == played.decisions
    assert set(differing[DECISIONS:]) == set(spoilt_streams)
    assert f"REPLAYED 0 of {DECISIONS} decisions" in told


def test_an_unknown_decision_is_one_line(played: Played) -> None:
    done = verb(played.state, "replay", "nothing")
    assert done.returncode == 2
    assert done.stderr == "countersign: no decision nothing: `countersign decisions` lists them\n"


def change(path: str, by: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    """Return a change of one field, named by a dotted path."""

    def apply(body: dict[str, Any]) -> None:
        at: Any = body
        *folders, name = path.split(".")
        for folder in folders:
            at = at[int(folder)] if isinstance(at, list) else at[folder]
        at[name] = by(at[name])

    return apply


def one_more(value: int | str) -> int | str:
    """Return another number, as a number or as text."""
    return str(int(value) + 1) if isinstance(value, str) else int(value) + 1


@pytest.mark.parametrize(
    ("kind", "path", "by", "step"),
    [
        (Kind.SNAPSHOT_TAKEN, "as_of_us", one_more, "snapshot_taken"),
        (Kind.SNAPSHOT_TAKEN, "inputs.model", lambda _: "f" * 64, "snapshot_taken"),
        (Kind.FORECAST_TAKEN, "of_seq", one_more, "forecast_taken"),
        (Kind.FORECAST_TAKEN, "of_leaf", lambda _: "f" * 64, "forecast_taken"),
        (Kind.FORECAST_REQUESTED, "seed_size", one_more, "forecast_requested"),
        (Kind.FORECAST_REQUESTED, "attempt", one_more, "forecast_requested"),
        (Kind.FORECAST_REQUESTED, "prompt.token_ids", lambda ids: ids[::-1], "forecast_requested"),
        (Kind.FORECAST_MADE, "forecast.expected_1e8", one_more, "forecast_made"),
        (Kind.FORECAST_MADE, "forecast.model_digest", lambda _: "f" * 64, "forecast_made"),
        (Kind.PLACEBO_MADE, "forecast.expected_1e8", one_more, "placebo_made"),
        (Kind.VERDICT_GIVEN, "verdict.results.3.action", lambda _: "WARN", "verdict_given"),
        (Kind.VERDICT_GIVEN, "intent.qty_lots", one_more, "verdict_given"),
        (Kind.VERDICT_GIVEN, "quote.bid_ticks", one_more, "verdict_given"),
        (Kind.VERDICT_GIVEN, "market_now_us", one_more, "verdict_given"),
        (Kind.VERDICT_GIVEN, "basis_seq", lambda _: 0, "verdict_given"),
    ],
)
def test_a_changed_record_is_named_as_the_first_differing_step(
    played: Played, kind: Kind, path: str, by: Callable[[Any], Any], step: str
) -> None:
    decision = next(
        d
        for d in played.decisions
        if any(played.reader.records(stream=f"decision/{d}", kinds=(Kind.VERDICT_GIVEN,)))
    )
    altered = Altered(played.dsn, kind, change(path, by))
    try:
        with pytest.raises(ReplayDiffersError) as found:
            replay(altered, TABLE, decision)
    finally:
        altered.close()
    assert found.value.step == step


def test_verify_needs_the_logs_own_key_from_outside(played: Played, tmp_path: Path) -> None:
    good = verb(played.state, "verify", "--key", str(played.key))
    assert good.returncode == OK, good.stdout + good.stderr
    assert verb(played.state, "verify").returncode == NOT_CHECKABLE
    FileSigner.generate(tmp_path / "other", "countersign.local/dev")
    other = verb(played.state, "verify", "--key", str(tmp_path / "other.pub"))
    assert other.returncode == TAMPERED, other.stdout
    missing = verb(played.state, "verify", "--key", str(tmp_path / "no-such-file"))
    assert missing.returncode != OK
    assert "Traceback" not in missing.stderr


@pytest.fixture
def copied(played: Played) -> Iterator[str]:
    """A copy of the ledger's database that may be spoilt."""
    server = EmbeddedPostgres(played.state)
    server.start()
    with server.administration() as admin_dsn:
        with psycopg.connect(dsn_of(admin_dsn, "postgres"), autocommit=True) as admin:
            name = played.dsn.partition("?")[0].rpartition("/")[2]
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            admin.execute(f"CREATE DATABASE spoilt TEMPLATE {name}".encode())
        with suppress(AuditError):  # the reader notices that it was cut off
            played.reader.head()
        yield dsn_of(admin_dsn, "spoilt")
        with psycopg.connect(dsn_of(admin_dsn, "postgres"), autocommit=True) as admin:
            admin.execute(b"DROP DATABASE spoilt WITH (FORCE)")
    server.stop()


def test_one_byte_changed_by_a_superuser_is_found_and_named(played: Played, copied: str) -> None:
    seq = played.reader.head().size // 2
    disarm(copied)
    with psycopg.connect(copied, autocommit=True) as admin:
        admin.execute(
            "UPDATE ledger.entry SET payload = set_byte(payload, 5, get_byte(payload, 5) # 1)"
            " WHERE seq = %s",
            (seq,),
        )
    arm(copied)
    place = {"COUNTERSIGN_LEDGER__DSN": copied}
    done = verb(played.state, "verify", "--key", str(played.key), env=place)
    assert done.returncode == TAMPERED, done.stdout + done.stderr
    assert f"{seq}" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_dump_verifies_and_a_changed_one_does_not(played: Played, tmp_path: Path) -> None:
    dump = tmp_path / "ledger.jsonl"
    assert verb(played.state, "dump", str(dump)).returncode == OK
    key = ("--key", str(played.key))
    assert verb(played.state, "verify", "--dump", str(dump), *key).returncode == OK
    assert verb(played.state, "verify", "--dump", str(dump)).returncode == NOT_CHECKABLE
    lines = dump.read_text().splitlines(keepends=True)
    middle = len(lines) // 2
    dump.write_text("".join((*lines[:middle], *lines[middle + 1 :])))
    assert verb(played.state, "verify", "--dump", str(dump), *key).returncode == INCOMPLETE
    place = next(n for n, line in enumerate(lines) if "verdict_given" in line)
    lines[place] = lines[place].replace("verdict_given", "verdict_gotten", 1)
    dump.write_text("".join(lines))
    assert verb(played.state, "verify", "--dump", str(dump), *key).returncode == TAMPERED


def check(bundle: Path, *keys: str) -> int:
    """Run the one-file verifier on a bundle, as an outsider does."""
    arguments = [part for key in keys for part in ("--key", key)]
    return subprocess.run(
        [sys.executable, str(VERIFIER), str(bundle), *arguments],
        capture_output=True,
        cwd=bundle.parent,
        check=False,
    ).returncode


def test_a_bundle_proves_itself_to_an_outsider_and_only_as_it_was(
    played: Played, tmp_path: Path
) -> None:
    decision = played.decisions[0]
    bundle, again = tmp_path / "one.zip", tmp_path / "two.zip"
    for out in (bundle, again):
        done = verb(played.state, "export", "--decision", decision, "--out", str(out))
        assert done.returncode == OK, done.stderr
    assert bundle.read_bytes() == again.read_bytes(), "two exports differ"
    key = played.key.read_text().strip()
    assert check(bundle, key) == OK
    assert check(bundle, str(played.key)) == OK
    assert check(bundle) == NOT_CHECKABLE
    FileSigner.generate(tmp_path / "other", "countersign.local/dev")
    assert check(bundle, (tmp_path / "other.pub").read_text().strip()) == TAMPERED
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    changed = tmp_path / "changed.zip"
    changed.write_bytes(bytes(data))
    assert check(changed, key) == TAMPERED
    with zipfile.ZipFile(bundle) as opened:
        assert any(name.endswith("verify.py") for name in opened.namelist())


def test_the_summary_is_what_the_ledger_says(played: Played) -> None:
    (path,) = (played.state / "runs").glob("summary-*.json")
    summary = json.loads(path.read_text())
    assert summary["verified"] is True
    assert summary["forecasts"] == DECISIONS
    kinds = count(played.reader.records())
    assert summary["orders"] == kinds[Kind.ORDER_SENDING]
    assert sum(summary["verdicts"].values()) == kinds[Kind.VERDICT_GIVEN]
    assert sum(summary["outcomes"].values()) == kinds[Kind.DECISION_SEALED]
    assert summary["ledger_size"] == played.reader.head().size


def count(records: Iterable[Record]) -> dict[Kind, int]:
    """Count records by kind."""
    counted = dict.fromkeys(Kind, 0)
    for record in records:
        counted[record.kind] += 1
    return counted
