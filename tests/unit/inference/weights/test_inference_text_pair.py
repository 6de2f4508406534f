"""A folder of Hugging Face models is pinned by digest; what could run code is refused."""

import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from inference.codec.text.codec import TextCodec
from inference.errors import RegistryError
from inference.speculation.rounds import DrafterKind
from inference.training.evaluation.walkforward.pair import PairForecaster
from inference.weights.registry import ModelPair, file_digest, load_pair, load_table
from inference.weights.text_pair import HEAD_SIZES, check_runs, codec_for, model_length, pin
from tests.doubles.text_folder import settings, text_folder

UNTIL = date(2017, 12, 31)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tiny"))


def test_the_same_folder_gives_the_same_manifest(folder: Path) -> None:
    first = pin(folder, UNTIL)
    assert pin(folder, UNTIL) == first
    assert first.kind == "text"
    assert first.has_draft
    codec = codec_for(first)
    assert isinstance(codec, TextCodec)
    assert load_table(first).n_bins == codec.n_bins
    assert model_length(first.target) == 2048


def _repinned(folder: Path, changed: str) -> ModelPair:
    """A pair whose manifest fits a file that was edited after the folder was pinned."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][changed] = file_digest(folder, changed)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return load_pair(folder)


def test_what_could_not_serve_is_said_before_it_is_loaded(folder: Path) -> None:
    pair = pin(folder, UNTIL)
    for drafter in DrafterKind:
        check_runs(pair, drafter)
    _small_heads(folder, "draft")
    with pytest.raises(RegistryError, match=r"draft/config.json: a head size of 16 does not run"):
        check_runs(_repinned(folder, "draft/config.json"), DrafterKind.TABLE)
    shutil.rmtree(folder / "draft")
    alone = pin(folder, UNTIL)
    check_runs(alone, DrafterKind.TABLE)
    with pytest.raises(RegistryError, match=r"no draft network: set COUNTERSIGN_ENGINE__DRAFTER"):
        check_runs(alone, DrafterKind.NETWORK)


def test_the_head_sizes_are_those_of_the_engines_attention() -> None:
    """Read as text: the import takes seconds."""
    found = find_spec("vllm")
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).parent / "v1" / "attention" / "backends" / "cpu_attn.py"
    said = re.search(
        r"get_supported_head_sizes.*?return \[([\d, ]+)\]", source.read_text(), re.DOTALL
    )
    assert said is not None
    assert tuple(map(int, said[1].split(","))) == HEAD_SIZES


def test_a_target_alone_is_a_pair_too(folder: Path) -> None:
    shutil.rmtree(folder / "draft")
    assert not pin(folder, UNTIL).has_draft


def _remote(folder: Path) -> None:
    path = folder / "target" / "config.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "inner": [{"auto_map": {"AutoModel": "x.Y"}}]}))


def _tokenizer_of_another(folder: Path) -> None:
    path = folder / "draft" / "tokenizer.json"
    path.write_text(path.read_text() + " ")


def _vocabulary_of_another(folder: Path) -> None:
    path = folder / "draft" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "vocab_size": 321}))


def _link(folder: Path) -> None:
    (folder / "target" / "more.safetensors").symlink_to("/etc/hostname")


def _small_heads(folder: Path, role: str = "target") -> None:
    path = folder / role / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "head_dim": 16}))


def _heads_by_width(folder: Path) -> None:
    path = folder / "target" / "config.json"
    found = {**json.loads(path.read_text()), "hidden_size": 96}
    del found["head_dim"]
    path.write_text(json.dumps(found))


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pickle": (lambda f: (f / "target" / "pytorch_model.bin").write_bytes(b""), "may hold code"),
    "an old pickle": (lambda f: (f / "draft" / "model.pt").write_bytes(b""), "may hold code"),
    "a script": (lambda f: (f / "target" / "modeling_x.py").write_text(""), "may hold code"),
    "remote code": (_remote, "auto_map"),
    "remote code of the tokenizer": (
        lambda f: (f / "target" / "tokenizer_config.json").write_text(settings(auto_map={})),
        "auto_map",
    ),
    "no tokenizer": (lambda f: (f / "target" / "tokenizer.json").unlink(), r"tokenizer\.json"),
    "no weights": (lambda f: (f / "target" / "model.safetensors").unlink(), "safetensors"),
    "heads that no kernel has": (_small_heads, r"target/config.json: a head size of 16 does not"),
    "heads by width": (_heads_by_width, r"target/config.json: a head size of 48 does not run"),
    "heads of the draft": (lambda f: _small_heads(f, "draft"), r"draft/config.json: a head size"),
    "no target": (lambda f: shutil.rmtree(f / "target"), "no folder target"),
    "another tokenizer": (_tokenizer_of_another, r"same tokenizer\.json"),
    "another vocabulary": (_vocabulary_of_another, "share a vocabulary"),
    "a link": (_link, "no file of this folder"),
    "a folder": (lambda f: (f / "target" / "inner").mkdir(), "no file of this folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_folder_with_a_fault_is_not_pinned(folder: Path, name: str) -> None:
    spoil, said = BAD[name]
    spoil(folder)
    with pytest.raises(RegistryError, match=said):
        pin(folder, UNTIL)
    assert not (folder / "manifest.json").exists()


def test_a_pinned_folder_that_changed_is_refused(folder: Path) -> None:
    pin(folder, UNTIL)
    weights = folder / "target" / "model.safetensors"
    kept = weights.read_bytes()
    weights.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(RegistryError, match=r"target/model.safetensors is .* the manifest says"):
        load_pair(folder)
    weights.write_bytes(kept)
    (folder / "target" / "more.json").write_text("{}")
    with pytest.raises(RegistryError, match="not in the manifest"):
        load_pair(folder)


def test_a_manifest_cannot_permit_remote_code(folder: Path) -> None:
    """Digests of a bad folder, written by hand, do not help it."""
    pin(folder, UNTIL)
    _remote(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    name = "target/config.json"
    manifest["files"][name] = file_digest(folder, name)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RegistryError, match="auto_map"):
        load_pair(folder)


def test_another_codec_asks_to_pin_again(folder: Path) -> None:
    pin(folder, UNTIL)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "codec_digest": "0" * 64}))
    with pytest.raises(RegistryError, match="pin it again"):
        codec_for(load_pair(folder))


def test_it_is_not_judged_so_it_cannot_be_promoted(folder: Path) -> None:
    pin(folder, UNTIL)
    with pytest.raises(RegistryError, match="paper and shadow"):
        PairForecaster(folder, 16, 1)


def test_the_command_pins_and_names_the_digest(folder: Path) -> None:
    words = ["models", "pin", str(folder), "--trained-until", "2017-12-31"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert load_pair(folder).manifest_digest in done.output
    assert "drafter network or table" in done.output
