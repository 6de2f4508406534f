"""`countersign fsck --tiles`: each wrong or missing tile has its exit code, and is named."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash, node_hash
from audit.tlog.tiles import Tile, encode_bundle
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED
from gateway.cli.main import app
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER
from tests.doubles.evidence_collection import FOLDER

WIDE = FOLDER / "tiles-wide"
KEY = str(SIGNER.vkey)
Change = Callable[[Path], None]
FULL, PARTIAL, ABOVE = "tile/0/000", "tile/0/001.p/4", "tile/1/000.p/1"
BUNDLE, LAST_BUNDLE = "tile/entries/000", "tile/entries/001.p/4"


def checked(folder: Path, *more: str) -> tuple[int, str]:
    """Run the verb; return its exit code and what it printed."""
    done = CliRunner().invoke(app, ["fsck", "--tiles", str(folder), *(more or ("--key", KEY))])
    return done.exit_code, done.output


def flipped(name: str, place: int = 20) -> Change:
    """Change one bit of a file."""

    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[place] ^= 1
        (folder / name).write_bytes(data)

    return change


def swapped(name: str) -> Change:
    """Change the order of a tile's first two hashes."""

    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[32:64] + data[:32] + data[64:])

    return change


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def copied(name: str, to: str) -> Change:
    def change(folder: Path) -> None:
        (folder / to).parent.mkdir(parents=True, exist_ok=True)
        (folder / to).write_bytes((folder / name).read_bytes())

    return change


def cut(name: str, left: int) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:left])

    return change


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (flipped(FULL), TAMPERED, "the entry is not the one in its tile"),
        (flipped(FULL, 8191), TAMPERED, "record 255"),
        (swapped(FULL), TAMPERED, "record 0"),
        (flipped(PARTIAL), TAMPERED, "record 256"),
        (copied(FULL, PARTIAL), TAMPERED, "the entry is not the one in its tile"),
        (copied(PARTIAL, FULL), TAMPERED, "not those of 256 hashes"),
        (cut(FULL, 8191), TAMPERED, "has 8191 bytes"),
        (cut(PARTIAL, 96), TAMPERED, "has 96 bytes"),
        (cut(PARTIAL, 0), TAMPERED, "has 0 bytes"),
        (flipped(ABOVE), TAMPERED, "tile 1/0 is not what the tiles below it make"),
        (flipped(BUNDLE), TAMPERED, "the entry is not the one in its tile"),
        (flipped(LAST_BUNDLE), TAMPERED, "the entry is not the one in its tile"),
        (copied(LAST_BUNDLE, BUNDLE), TAMPERED, "has 4 entries, not 256"),
        (cut(BUNDLE, 5000), TAMPERED, "the entry bundle 0 is cut off"),
        (cut(LAST_BUNDLE, 0), TAMPERED, "has 0 entries, not 4"),
        (gone(FULL), INCOMPLETE, f"{FULL} is missing"),
        (gone(PARTIAL), INCOMPLETE, f"{PARTIAL} is missing"),
        (gone(ABOVE), INCOMPLETE, f"{ABOVE} is missing"),
        (gone(BUNDLE), INCOMPLETE, f"{BUNDLE} is missing"),
        (gone(LAST_BUNDLE), INCOMPLETE, f"{LAST_BUNDLE} is missing"),
        (gone("checkpoint"), NOT_CHECKABLE, "holds no checkpoint"),
        (cut("checkpoint", 60), TAMPERED, ""),
        (flipped("checkpoint", 20), TAMPERED, ""),
        (copied(FULL, "tile/0/001"), OK, "260 entries"),
        (copied("checkpoint", "index.html"), OK, "260 entries"),
    ],
)
def test_a_wrong_tile_is_tampered_and_a_missing_one_incomplete(
    change: Change, code: int, said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "tiles"
    shutil.copytree(WIDE, folder)
    assert checked(folder)[0] == OK
    change(folder)
    found, printed = checked(folder)
    assert found == code, printed
    assert said in printed


def test_who_signed_is_the_callers_to_say(tmp_path: Path) -> None:
    assert checked(WIDE, "--key", str(OTHER_SIGNER.vkey))[0] == TAMPERED
    assert checked(WIDE, "--key", str(tmp_path / "missing.pub"))[0] == NOT_CHECKABLE
    later = tmp_path / "kept"
    later.write_bytes(make_checkpoint(300, bytes(32), SIGNER).note)
    assert checked(WIDE, "--key", KEY, "--checkpoint", str(later))[0] != OK
    other = tmp_path / "other"
    other.write_bytes(make_checkpoint(260, bytes(32), SIGNER).note)
    assert checked(WIDE, "--key", KEY, "--checkpoint", str(other))[0] == TAMPERED
    assert checked(tmp_path / "nowhere", "--key", KEY)[0] == NOT_CHECKABLE


SIZE = 65_536 + 256 + 3


@pytest.fixture(scope="module")
def tall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of three levels: entries that are nobody's records."""
    folder = tmp_path_factory.mktemp("tall")
    entries = [b"entry %d" % number for number in range(SIZE)]
    level = [leaf_hash(entry) for entry in entries]
    for n in range(0, SIZE, 256):
        some = entries[n : n + 256]
        bundle = Tile(level=None, index=n // 256, width=len(some))
        written(folder, bundle.path, encode_bundle(some))
    levels: list[list[bytes]] = []
    while level:
        for n in range(0, len(level), 256):
            some = level[n : n + 256]
            tile = Tile(level=len(levels), index=n // 256, width=len(some))
            written(folder, tile.path, b"".join(some))
        levels.append(level)
        level = [folded(level[n : n + 256]) for n in range(0, len(level) // 256 * 256, 256)]
    assert [len(one) for one in levels] == [SIZE, 257, 1]
    root = node_hash(levels[2][0], node_hash(levels[1][256], folded_rest(levels[0][-3:])))
    (folder / "checkpoint").write_bytes(make_checkpoint(SIZE, root, SIGNER).note)
    return folder


def written(folder: Path, path: str, data: bytes) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(data)


def folded(nodes: list[bytes]) -> bytes:
    while len(nodes) > 1:
        nodes = [node_hash(nodes[n], nodes[n + 1]) for n in range(0, len(nodes), 2)]
    return nodes[0]


def folded_rest(three: list[bytes]) -> bytes:
    return node_hash(node_hash(three[0], three[1]), three[2])


@pytest.mark.parametrize(
    ("name", "change", "code", "said"),
    [
        ("tile/1/000", None, OK, "entries are not records: bytes only"),
        ("tile/1/000", flipped, TAMPERED, "tile 1/0 is not what the tiles below it make"),
        ("tile/1/001.p/1", flipped, TAMPERED, "tile 1/1 is not what the tiles below it make"),
        ("tile/2/000.p/1", gone, INCOMPLETE, "tile/2/000.p/1 is missing"),
        ("tile/0/255", flipped, TAMPERED, "record 65280"),
        ("tile/entries/256", gone, INCOMPLETE, "tile/entries/256 is missing"),
    ],
)
def test_every_level_is_held_against_the_one_below(
    tall: Path, name: str, change: Callable[[str], Change] | None, code: int, said: str
) -> None:
    sound = (tall / name).read_bytes()
    if change is not None:
        change(name)(tall)
    found, printed = checked(tall)
    written(tall, name, sound)
    assert found == code, printed
    assert said in printed
