"""Model files are what their manifest says, or nothing is loaded."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference.errors import RegistryError
from inference.speculation.rounds import row_bytes, row_values
from inference.weights.registry import MANIFEST, TABLE, load_pair, load_table, read_table

FILES = {
    "target/config.json": b"{}",
    "target/model.safetensors": b"target",
    "draft/config.json": b"{}",
    "draft/model.safetensors": b"draft",
}


def _table(states: int = 3, bins: int = 4) -> bytes:
    rows = row_bytes(tuple(float(i) for i in range(states * bins)))
    header = {"q": {"dtype": "F32", "shape": [states, bins], "data_offsets": [0, len(rows)]}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rows


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    files = {**FILES, TABLE: _table()}
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    manifest = {
        "codec_digest": "c" * 64,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    return tmp_path


def test_an_unchanged_pair_is_named_by_its_manifest(pair: Path) -> None:
    loaded = load_pair(pair)
    assert loaded.manifest_digest == hashlib.sha256((pair / MANIFEST).read_bytes()).hexdigest()
    assert loaded.codec_digest == "c" * 64
    table = load_table(loaded)
    assert table.digest == loaded.files[TABLE]
    assert (table.n_states, table.n_bins) == (3, 4)
    assert row_values(table.row(2)) == (8.0, 9.0, 10.0, 11.0)


def _edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(pair: Path) -> None:
        manifest = json.loads((pair / MANIFEST).read_text())
        change(manifest)
        (pair / MANIFEST).write_text(json.dumps(manifest))

    return damage


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a weight changed": lambda p: (p / "target/model.safetensors").write_bytes(b"Target"),
    "a weight missing": lambda p: (p / "draft/model.safetensors").unlink(),
    "a weight nobody named": lambda p: (p / "target/more.safetensors").write_bytes(b""),
    "no manifest": lambda p: (p / MANIFEST).unlink(),
    "a manifest that is no JSON": lambda p: (p / MANIFEST).write_text("{"),
    "a manifest that is a list": lambda p: (p / MANIFEST).write_text("[]"),
    "a manifest without files": _edit(lambda m: m.pop("files")),
    "a manifest without a codec": _edit(lambda m: m.pop("codec_digest")),
    "a manifest without the table": _edit(lambda m: m.update(files={})),
    "a file outside the folder": _edit(lambda m: m["files"].update({"../outside": "0"})),
}


@pytest.mark.parametrize("name", sorted(DAMAGE))
def test_a_damaged_pair_is_refused(pair: Path, name: str) -> None:
    DAMAGE[name](pair)
    with pytest.raises(RegistryError):
        load_pair(pair)


@pytest.mark.parametrize("part", ["target", "draft", "table"])
def test_a_manifest_names_every_file_of_a_pair(pair: Path, part: str) -> None:
    names = json.loads((pair / MANIFEST).read_text())["files"]
    wanted = [name for name in names if name.startswith(part)]
    assert wanted
    for name in wanted:
        rest = {other: digest for other, digest in names.items() if other != name}
        manifest = {**json.loads((pair / MANIFEST).read_text()), "files": rest}
        (pair / MANIFEST).write_text(json.dumps(manifest))
        with pytest.raises(RegistryError, match=f"{name} is not in the manifest"):
            load_pair(pair)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError):
        load_pair(tmp_path / "nowhere")


@pytest.mark.parametrize("end", range(0, len(_table()), 5))
def test_a_cut_table_is_refused(end: int) -> None:
    with pytest.raises(RegistryError):
        read_table(_table()[:end])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"F32"', b'"F16"'),
        (b'"q"', b'"r"'),
        (b"[3, 4]", b"[4, 4]"),
        (b"[3, 4]", b"[12,]"),
        (b"[0, 48]", b"[8, 56]"),
        (b"[3, 4]", b"[-3,4"),
    ],
)
def test_a_table_of_another_shape_is_refused(old: bytes, new: bytes) -> None:
    assert old in _table()
    with pytest.raises(RegistryError):
        read_table(_table().replace(old, new.ljust(len(old)), 1))
