"""The files of a pair and their manifest.

The manifest is written last, so a folder whose manifest matches is complete. It names the training
data (files, digests, counts, cut-off dates) but has none of it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from safetensors.torch import save_file
from torch import Tensor

from inference.codec.codec import ReturnCodec
from inference.training.model import SmallLlama, save_model

MANIFEST: Final = "manifest.json"
LARGEST_BYTES: Final = 20_000_000
"""All weight files of a pair together stay below this."""


def write_pair(
    folder: Path,
    target: SmallLlama,
    draft: SmallLlama,
    table: Tensor,
    facts: dict[str, Any],
    codec: ReturnCodec | None = None,
) -> None:
    """Write all files of a pair of a codec, v1 by default; `facts` become manifest fields.

    Raises:
        ValueError: when the files are larger than 20 MB together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_model(target, folder / "target")
    save_model(draft, folder / "draft")
    save_file({"q": table.contiguous()}, folder / "table.safetensors")
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)  # the library writes for the owner only; the engine may be another user
    write_manifest(folder, facts, codec)


def write_manifest(folder: Path, facts: dict[str, Any], codec: ReturnCodec | None = None) -> None:
    """Write the manifest of the folder's files, of codec v1 by default.

    Raises:
        ValueError: when the files are larger than 20 MB together.
    """
    codec = codec or ReturnCodec()
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".json", ".safetensors"} and path.name != MANIFEST
    ]
    size = sum(path.stat().st_size for path in paths)
    if size > LARGEST_BYTES:
        raise ValueError(f"expected at most {LARGEST_BYTES} bytes of weights, was {size}")
    manifest = {
        "format": 1,
        "codec": {"version": codec.version, "digest": codec.digest},
        "codec_digest": codec.digest,
        "storage": "float16 weights, float32 table; serve in float32",
        "bytes": size,
        "files": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in paths
        },
        **facts,
    }
    partial = folder / (MANIFEST + ".partial")
    partial.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    partial.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a pair's manifest."""
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return manifest
