"""A folder of Hugging Face models as a pair: its manifest with pinned digests, and its codec.

    FOLDER/target   config.json, tokenizer.json, *.safetensors; tokenizer_config.json or
                    chat_template.jinja for the chat template
    FOLDER/draft    a smaller model of the same vocabulary, where there is one

`pin` writes FOLDER/manifest.json with the SHA-256 of every file, and FOLDER/table.safetensors: a
normal law over the answer's grammar, the placebo and the drafter where no network drafts. Nothing
is downloaded and no code of the folder runs.

Rules:
    - The same folder gives the same manifest, on every machine.
    - The codec's digest covers tokenizer, chat template and words, so a change of one is another
      pair.
"""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

from inference.codec.codec import ReturnCodec
from inference.codec.scaled import codec_named
from inference.codec.text.codec import TextCodec, normal_table
from inference.errors import CodecError, RegistryError
from inference.speculation.rounds import DrafterKind
from inference.weights.registry import (
    MANIFEST,
    TABLE,
    TEXT_KIND,
    ModelPair,
    file_digest,
    load_pair,
    refuse_code,
)

_CONFIG: Final = "config.json"
_TOKENIZER: Final = "tokenizer.json"
HEAD_SIZES: Final = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Sizes of an attention head that vLLM's kernels for CPUs have."""
MODEL_LENGTH_MAX: Final = 4096
"""Most tokens of prompt and answer of a text model."""


def codec_for(pair: ModelPair) -> ReturnCodec:
    """Return the codec of a checked pair.

    Raises:
        RegistryError: the pair was made for another codec, or its tokenizer cannot be used.
    """
    try:
        if pair.kind != TEXT_KIND:
            return codec_named(pair.codec_digest)
        codec = text_codec(pair.target)
    except CodecError as error:
        raise RegistryError(
            f"{pair.model_id} was made for another codec: {error.detail}"
        ) from error
    if codec.digest != pair.codec_digest:
        raise RegistryError(
            f"{pair.model_id} was pinned for text codec {pair.codec_digest[:16]}.., this code has "
            f"{codec.digest[:16]}..: pin it again (countersign models pin)"
        )
    return codec


def text_codec(target: Path) -> TextCodec:
    """Return the text codec of a target's folder.

    Raises:
        CodecError: the tokenizer or chat template cannot be used.
        RegistryError: there is no tokenizer.
    """
    # Jinja and the tokenizers library, which only a text model needs.
    from inference.codec.text.tokenizer import TextTokenizer  # noqa: PLC0415

    def read(name: str, missing: bytes) -> bytes:
        path = target / name
        return path.read_bytes() if path.exists() else missing

    try:
        tokenizer = (target / _TOKENIZER).read_bytes()
    except OSError as error:
        raise RegistryError(f"{target.name}/{_TOKENIZER}: {error.strerror}") from error
    return TextCodec(
        TextTokenizer(
            tokenizer,
            read("tokenizer_config.json", b"{}"),
            read("chat_template.jinja", b""),
        )
    )


def model_length(target: Path) -> int:
    """Return the most tokens that a text model may read and write."""
    found = int(_config(target).get("max_position_embeddings", MODEL_LENGTH_MAX))
    return min(found, MODEL_LENGTH_MAX)


def pin(directory: Path, data_cutoff: date) -> ModelPair:
    """Write a folder's table and manifest; return the pair, checked as `load_pair` checks it.

    Raises:
        RegistryError: a file is missing, or could run code, or target and draft differ in their
            vocabulary; says which.
    """
    names = sorted(_names(directory))
    refuse_code(directory, names)
    try:
        codec = text_codec(directory / "target")
    except CodecError as error:
        raise RegistryError(f"target/{_TOKENIZER}: {error.detail}") from error
    _check_models(directory, names, codec)
    (directory / TABLE).write_bytes(table_file(codec))
    digests = {name: file_digest(directory, name) for name in (*names, TABLE)}
    manifest = {
        "kind": TEXT_KIND,
        "codec": {"version": codec.version, "digest": codec.digest},
        "codec_digest": codec.digest,
        "data_cutoff": data_cutoff.isoformat(),
        "files": digests,
        "bytes": sum((directory / name).stat().st_size for name in digests),
    }
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    (directory / MANIFEST).write_text(text)
    return load_pair(directory)


def table_file(codec: TextCodec) -> bytes:
    """Return the table's safetensors file."""
    rows = normal_table(codec.grammar)
    entry = {"dtype": "F32", "shape": [codec.n_bins] * 2, "data_offsets": [0, len(rows)]}
    header = json.dumps({"q": entry}, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + rows


def _names(directory: Path) -> Iterator[str]:
    """Yield every file of target and draft; hidden ones too, for nothing may lie there unnamed."""
    if not (directory / "target").is_dir():
        raise RegistryError(
            f"{directory} has no folder target; put the model's config.json, tokenizer.json and "
            "*.safetensors there, and a draft of the same vocabulary into draft"
        )
    for role in ("target", "draft"):
        for path in (directory / role).glob("*"):
            name = path.relative_to(directory).as_posix()
            if not path.is_file() or not path.resolve().is_relative_to(directory.resolve()):
                raise RegistryError(f"{name} is no file of this folder; copy the file itself there")
            yield name


def check_runs(pair: ModelPair, drafter: DrafterKind) -> None:
    """Say of a pair, without loading it, why an engine with this drafter could not serve it.

    Raises:
        RegistryError: the drafter needs a draft that is not there, the pair was pinned for another
            codec, or a head size does not run; says which and what to do.
    """
    if drafter is DrafterKind.NETWORK and not pair.has_draft:
        raise missing_draft(pair)
    codec_for(pair)
    if pair.kind == TEXT_KIND:
        for role in ("target", *(("draft",) if pair.has_draft else ())):
            _check_runs(role, pair.directory / role)


def missing_draft(pair: ModelPair) -> RegistryError:
    """Return the error of a pair that cannot draft with a network."""
    return RegistryError(
        f"{pair.model_id} has no draft network: set COUNTERSIGN_ENGINE__DRAFTER=table"
    )


def _check_models(directory: Path, names: list[str], codec: TextCodec) -> None:
    sizes = {}
    for role in ("target", "draft"):
        own = [name for name in names if name.startswith(f"{role}/")]
        if role == "draft" and not own:
            continue
        if f"{role}/{_CONFIG}" not in own or not any(n.endswith(".safetensors") for n in own):
            raise RegistryError(f"{role} needs {_CONFIG} and at least one *.safetensors file")
        _check_runs(role, directory / role)
        sizes[role] = int(_config(directory / role).get("vocab_size", 0))
    if sizes["target"] < codec.vocab_size:
        raise RegistryError(
            f"the tokenizer has {codec.vocab_size} ids, the target only {sizes['target']}"
        )
    if len(set(sizes.values())) > 1:
        raise RegistryError(
            f"target and draft must share a vocabulary, were {sizes['target']} and {sizes['draft']}"
        )
    both = [f"{role}/{_TOKENIZER}" for role in ("target", "draft")]
    found = {(directory / name).read_bytes() for name in both if name in names}
    if len(found) > 1:
        raise RegistryError("target and draft must have the same tokenizer.json")


def _check_runs(role: str, folder: Path) -> None:
    """Raise `RegistryError` for a model that the engine's attention cannot compute on a CPU."""
    config = _config(folder)
    heads = int(config.get("num_attention_heads") or 0)
    size = int(
        config.get("head_dim") or (int(config.get("hidden_size", 0)) // heads if heads else 0)
    )
    if size not in HEAD_SIZES:
        raise RegistryError(
            f"{role}/{_CONFIG}: a head size of {size} does not run on a CPU; the engine has "
            f"{', '.join(map(str, HEAD_SIZES))} (head_dim, or hidden_size / num_attention_heads)"
        )


def _config(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / _CONFIG).read_bytes())
        inner = found.get("text_config")
        return {**found, **inner} if isinstance(inner, dict) else found
    except (OSError, ValueError, TypeError) as error:
        raise RegistryError(f"{folder.name}/{_CONFIG}: {error}") from error
