"""The model pair on disk, checked against its manifest before anything is loaded.

`manifest.json` names every file with its SHA-256; its own SHA-256 identifies the pair in every
record. A file that is missing, changed or not named refuses the whole pair. A pair of kind "text"
is a folder of Hugging Face models (`text_pair.py`), which may have no draft network.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference.errors import RegistryError
from inference.speculation.rounds import QTable

MANIFEST = "manifest.json"
TABLE = "table.safetensors"
_WEIGHTS = ("target/config.json", "target/model.safetensors")
_DRAFT = ("draft/config.json", "draft/model.safetensors")
TEXT_KIND = "text"
_TEXT = ("target/config.json", "target/tokenizer.json")
_MAX_HEADER = 1 << 20
_VOCABULARIES = frozenset({"tokenizer.json", "vocab.json", "added_tokens.json"})
"""Files whose keys are the vocabulary's, where "auto_map" is a word."""
_PLAIN_FILES = frozenset({".json", ".jinja", ".txt", ".md", ".model", ".safetensors"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPair:
    """Paths and digests of a checked pair."""

    directory: Path
    model_id: str
    manifest_digest: str
    codec_digest: str
    files: dict[str, str]  # relative path to SHA-256
    kind: str = ""  # "text": Hugging Face models with their tokenizer

    @property
    def has_draft(self) -> bool:
        """Whether the pair has a draft network."""
        return _DRAFT[0] in self.files

    @property
    def target(self) -> Path:
        """Folder of the target's weights."""
        return self.directory / "target"

    @property
    def draft(self) -> Path:
        """Folder of the draft network's weights."""
        return self.directory / "draft"


def load_pair(directory: Path) -> ModelPair:
    """Return a pair after checking every file against the manifest.

    Raises:
        RegistryError: when the manifest is unreadable, or a file is missing, changed or unnamed.
    """
    try:
        raw = (directory / MANIFEST).read_bytes()
        manifest: Any = json.loads(raw)
        files = {str(name): str(digest) for name, digest in manifest["files"].items()}
        codec_digest = str(manifest["codec_digest"])
        kind = str(manifest.get("kind", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegistryError(f"manifest of {directory.name}: {error}") from error
    for name in (*(_TEXT if kind == TEXT_KIND else (*_WEIGHTS, *_DRAFT)), TABLE):
        if name not in files:
            raise RegistryError(f"{name} is not in the manifest")
    for name, digest in sorted(files.items()):
        found = file_digest(directory, name)
        if found != digest:
            raise RegistryError(f"{name} is {found[:16]}.., the manifest says {digest[:16]}..")
    unnamed = "*/*" if kind == TEXT_KIND else "*/*.safetensors"
    for path in sorted(directory.glob(unnamed)):
        if path.relative_to(directory).as_posix() not in files:
            raise RegistryError(f"{path.name} is not in the manifest")
    if kind == TEXT_KIND:
        refuse_code(directory, files)
    return ModelPair(
        directory=directory,
        model_id=directory.name,
        manifest_digest=hashlib.sha256(raw).hexdigest(),
        codec_digest=codec_digest,
        files=files,
        kind=kind,
    )


def refuse_code(directory: Path, files: Iterable[str]) -> None:
    """Refuse a folder of Hugging Face models that could run code of its own.

    Raises:
        RegistryError: a file is neither JSON, text nor safetensors (a pickle, a script), or a
            configuration asks for remote code; says which and what to do.
    """
    for name in sorted(files):
        if Path(name).suffix not in _PLAIN_FILES:
            raise RegistryError(
                f"{name} may hold code; a text pair has {', '.join(sorted(_PLAIN_FILES))} only: "
                "save the weights as safetensors and remove the file"
            )
        configures = Path(name).suffix == ".json" and Path(name).name not in _VOCABULARIES
        if configures and _asks_for_code((directory / name).read_bytes()):
            raise RegistryError(f"{name} asks for remote code (auto_map), which is never run")


def _asks_for_code(data: bytes) -> bool:
    try:
        found: Any = json.loads(data)
    except ValueError:
        return False
    waiting = [found]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "auto_map" in one:
                return True
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return False


def load_table(pair: ModelPair) -> QTable:
    """Read the drafter's table.

    Raises:
        RegistryError: when the file is not safetensors with one float32 tensor "q" [states, bins].
    """
    return read_table((pair.directory / TABLE).read_bytes())


def read_table(data: bytes) -> QTable:
    """Parse a table's bytes.

    Raises:
        RegistryError: as in `load_table`.

    Source: the safetensors format: 8 bytes little-endian header length, JSON header, tensors.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        if not 0 < length <= min(_MAX_HEADER, len(data) - 8):
            raise RegistryError("the table is not a safetensors file")
        entry = json.loads(data[8 : 8 + length])["q"]
        states, bins = (int(n) for n in entry["shape"])
        start, end = (int(n) for n in entry["data_offsets"])
        if entry["dtype"] != "F32" or end - start != 4 * states * bins or states * bins <= 0:
            raise RegistryError('the table\'s "q" is not float32 [states, bins]')
    except (ValueError, KeyError, TypeError) as error:
        raise RegistryError(f"the table's header: {error}") from error
    rows = data[8 + length + start : 8 + length + end]
    if len(rows) != 4 * states * bins:
        raise RegistryError("the table is cut short")
    return QTable(digest=hashlib.sha256(data).hexdigest(), n_bins=bins, rows=rows)


def table_bytes(rows: bytes, n_bins: int) -> bytes:
    """Return the file of a table with these rows, little-endian float32; `read_table` reads it.

    Source: as in `read_table`; the header is padded with spaces to a multiple of eight.
    """
    entry = {"dtype": "F32", "shape": [len(rows) // (4 * n_bins), n_bins]}
    header = json.dumps({"q": {**entry, "data_offsets": [0, len(rows)]}}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + rows


def file_digest(directory: Path, name: str) -> str:
    """Return the SHA-256, hex, of a file in a pair's folder.

    Raises:
        RegistryError: it cannot be read, or lies outside the folder.
    """
    path = (directory / name).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise RegistryError(f"{name} leaves the model's folder")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RegistryError(f"{name}: {error.strerror}") from error
