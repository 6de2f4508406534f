"""The log as an outsider gets it: over HTTP, and as files; both rebuild the signed root."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import pytest

from audit.errors import LedgerUnsafeError
from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import Checkpoint, make_checkpoint, open_checkpoint, parse_checkpoint
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.note import parse_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.tiles import Tile, TileReader, decode_bundle, root_from, tiles_of
from audit.witnesses.publisher import Publisher, PublisherConfig
from gateway.clock import wall_us
from gateway.evidence.publication.mirror import write_tree
from gateway.evidence.publication.published import LogFiles
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.roles import Role
from gateway.installation.settings import ApiSettings
from gateway.surfaces.server import Server, build_site
from gateway.surfaces.web.views.lists import Views
from inference.weights.registry import read_table
from tests.doubles.audit_log import SIGNER, note
from tests.doubles.audit_server import opened
from tests.doubles.small_desk import SmallDesk, small_desk
from tests.doubles.witness_process import witness_process

pytestmark = pytest.mark.postgres
TABLE_FILE = Path(__file__).parents[5] / "inference" / "models" / "pair_v1" / "table.safetensors"


ABSENT = (
    "tile/0/002",
    "tile/0/003.p/1",
    "tile/1/000",
    "tile/1/000.p/3",
    "tile/2/000.p/1",
    "tile/64/000",
    "tile/0/0",
    "tile/0/000.p/0",
    "tile/0/000.p/256",
    "tile/entries/009.p/1",
    "tile/0/x000/000",
    "tile/%2e%2e/checkpoint",
    "tile/0/%00",
    "",
    "elsewhere",
)


@contextmanager
def served(desk: SmallDesk, log: LogFiles | None) -> Iterator[str]:
    """Serve a desk on loopback with what it publishes."""
    server = Server(ApiSettings(port=0))
    server.start(build_site(desk.desk, desk.keyring, Views(desk.reader, desk.table), log=log))
    try:
        yield server.address
    finally:
        server.stop()


@pytest.fixture
def desk(postgres_dsn: str, tmp_path: Path) -> Iterator[SmallDesk]:
    signer = FileSigner.generate(tmp_path / "ledger.key", "log.test")
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    reader = LedgerReader(postgres_dsn)
    with Ledger.open(config, signer, wall_us) as ledger:
        yield small_desk(ledger, reader, tmp_path, read_table(TABLE_FILE.read_bytes()))
    reader.close()


def mirrored(get: Callable[[str], bytes]) -> Checkpoint:
    """Mirror a log as a regulator would, and check that it leads to the root."""
    checkpoint = parse_checkpoint(get("checkpoint"))
    tiles = {tile: get(tile.path) for tile in tiles_of(checkpoint.size)}
    assert root_from(TileReader(tiles.__getitem__, checkpoint.size), checkpoint.size) == (
        checkpoint.root
    )
    leaves = []
    for tile in sorted((t for t in tiles if t.level == 0), key=lambda t: t.index):
        bundle = get(replace(tile, level=None).path)
        leaves += [leaf_hash(entry) for entry in decode_bundle(bundle, tile.width)]
    assert root_of(leaves) == checkpoint.root
    return checkpoint


def looks_as_the_format_says(http: httpx.Client) -> None:
    """Look at types, caching and compression."""
    seen = http.get("/log/checkpoint")
    assert seen.headers["content-type"] == "text/plain; charset=utf-8"
    assert seen.headers["cache-control"] == "no-cache"
    full = http.get("/log/tile/0/000")
    assert (len(full.content), full.headers["content-type"]) == (
        8192,
        "application/octet-stream",
    )
    assert full.headers["cache-control"] == "private, max-age=31536000, immutable"
    bundle = http.get("/log/tile/entries/000", headers={"Accept-Encoding": "gzip"})
    assert bundle.headers["content-encoding"] == "gzip"
    plain = http.get("/log/tile/entries/000", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert bundle.content == plain.content
    for accepted, coding in (
        ("gzip;q=0, identity", None),
        ("gzip; q=0.000", None),
        ("GZIP;q=0.5", "gzip"),
        ("br, gzip", "gzip"),
        ("", None),
    ):
        answer = http.get("/log/tile/entries/000", headers={"Accept-Encoding": accepted})
        assert (answer.content, answer.headers.get("content-encoding")) == (plain.content, coding)
    for path in ("checkpoint", "tile/0/000", "tile/entries/000"):
        short, long = http.head(f"/log/{path}"), http.get(f"/log/{path}")
        assert (short.status_code, short.content) == (200, b"")
        assert {**short.headers, "date": ""} == {**long.headers, "date": ""}
    assert http.head("/log/tile/0/009").status_code == 404


def test_an_auditor_mirrors_the_log_over_http(desk: SmallDesk) -> None:
    ledger = desk.ledger
    ledger.append(*(note(str(n)) for n in range(300)))
    first = ledger.checkpoint_now()
    ledger.append(*(note(str(n)) for n in range(300, 600)))
    second = ledger.checkpoint_now()
    ledger.append(note("not signed yet"))
    assert first is not None
    assert second is not None
    auditor, operator = (
        desk.keyring.issue("regulator", Role.AUDITOR),
        desk.keyring.token("operator"),
    )
    key = {"Authorization": f"Bearer {auditor}"}
    log = LogFiles(reader=desk.reader)
    with served(desk, log) as address, httpx.Client(base_url=address, trust_env=False) as http:
        assert http.get("/log/checkpoint").status_code == 401
        refused = http.get("/log/tile/0/000", headers={"Authorization": f"Bearer {operator}"})
        assert refused.status_code == 403
        http.headers.update(key)

        def get(path: str) -> bytes:
            answer = http.get(f"/log/{path}")
            assert answer.status_code == 200, (path, answer.text)
            return answer.content

        assert mirrored(get) == second
        for checkpoint in (first, second):  # what an older checkpoint needs is there for ever
            for tile in tiles_of(checkpoint.size):
                assert get(tile.path) == desk.reader.tiles.fetch(tile)
        looks_as_the_format_says(http)
        width = second.size - 512
        unsigned = f"tile/0/002.p/{width + 1}"  # it exists, and no checkpoint needs it yet
        for absent in (unsigned, *ABSENT):
            assert http.get(f"/log/{absent}").status_code == 404, absent
        reads = [
            (r.body["reader"], r.body["role"], r.body["object"], r.body["window_s"])
            for r in desk.reader.records(stream="control", kinds=(Kind.READ_RECORDED,))
        ]
        assert set(reads) == {("regulator", "auditor", "log", 3_600)}
        assert len(reads) <= 2, "once an hour, and the hour may have changed"
    with served(desk, replace(log, public=True)) as address:
        full = httpx.get(f"{address}/log/tile/0/001", trust_env=False)
        assert full.headers["cache-control"] == "public, max-age=31536000, immutable"
    with served(desk, None) as address:
        gone = httpx.get(f"{address}/log/checkpoint", headers=key, trust_env=False)
        assert gone.status_code == 404


def test_the_checkpoint_shown_is_one_that_the_policy_accepts(
    postgres_dsn: str, tmp_path: Path
) -> None:
    with witness_process(tmp_path / "w", [str(SIGNER.vkey)]) as process:
        policy = QuorumPolicy.parse(process.policy)
        publisher = Publisher(
            PublisherConfig(dsn=postgres_dsn, policy=policy), SIGNER.vkey, wall_us
        )
        with opened(postgres_dsn) as ledger:
            ledger.append(note("a"))
            cosigned = ledger.checkpoint_now()
            assert cosigned is not None
            publisher.offer(cosigned)
            publisher.start()
            wait_for(
                lambda: publisher.standing().cosigned_size == cosigned.size, 20.0, part="quorum"
            )
            ledger.append(note("b"))
            later = ledger.checkpoint_now()
        publisher.stop()
    assert later is not None
    reader = LedgerReader(postgres_dsn)
    shown = LogFiles(reader=reader, policy=policy, keys=(SIGNER.vkey,)).shown()
    assert shown is not None
    assert shown[0] == cosigned
    assert policy.satisfied_by(parse_note(shown[1])).head.size == cosigned.size
    newest = LogFiles(reader=reader).shown()
    assert newest is not None
    assert newest[0] == later
    assert open_checkpoint(newest[1], [SIGNER.vkey]).size == later.size
    reader.close()


def test_files_are_a_mirror_that_can_be_cut_off_and_taken_up(
    postgres_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mirror"
    reader = LedgerReader(postgres_dsn)
    log = LogFiles(reader=reader)

    def get(path: str) -> bytes:
        return (folder / path).read_bytes()

    with opened(postgres_dsn) as ledger:
        assert write_tree(log, folder) == 2, "nothing is signed yet"
        ledger.append(*(note(str(n)) for n in range(255)))
        first = ledger.checkpoint_now()
        assert write_tree(log, folder) == 0
        assert mirrored(get) == first
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        capsys.readouterr()
        assert write_tree(log, folder) == 0
        assert "0 files written" in capsys.readouterr().out
        ledger.append(*(note(str(n)) for n in range(255, 700)))
        second = ledger.checkpoint_now()
    assert first is not None
    assert second is not None
    assert write_tree(log, folder) == 0
    assert mirrored(get) == second
    assert not list(folder.rglob("*.part"))
    kept = [p for p in before if p.exists() and p.stat().st_mtime_ns == before[p]]
    assert folder / Tile(level=0, index=0).path in kept, "what is there is not written again"
    for name in ("tile/0/001", "tile/entries/002.p"):  # a crash took these
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.write_bytes(path.read_bytes()[:-1])
    (folder / "checkpoint").unlink()
    cut = folder / "tile/entries/001"
    cut.write_bytes(cut.read_bytes()[:-5])
    assert write_tree(log, folder) == 0
    assert mirrored(get) == second

    other = FileSigner.generate(tmp_path / "other.key", "other.example/log")
    (folder / "checkpoint").write_bytes(_signed(other, first))
    with pytest.raises(LedgerUnsafeError, match="holds the log"):
        write_tree(log, folder)
    forked = replace(first, root=bytes(32))
    (folder / "checkpoint").write_bytes(_signed(SIGNER, forked))
    with pytest.raises(LedgerUnsafeError, match="does not extend"):
        write_tree(log, folder)
    with psycopg.connect(postgres_dsn) as admin:
        admin.execute("ALTER TABLE ledger.checkpoint DISABLE TRIGGER ALL")
        admin.execute("UPDATE ledger.checkpoint SET note = %s", (_signed(SIGNER, forked),))
    with pytest.raises(LedgerUnsafeError, match="do not lead"):
        write_tree(LogFiles(reader=reader), tmp_path / "empty")
    reader.close()


def _signed(signer: FileSigner, checkpoint: Checkpoint) -> bytes:
    """Sign what a checkpoint says with another key, or something that it does not say."""
    return make_checkpoint(checkpoint.size, checkpoint.root, signer).note
