"""The pair that the scripted engine stands for: its numbers are no pair's, so it has its own name.

A gateway serves only with a child of the pair that it read itself. Were the scripted engine told a
shipped pair, a replay would rightly ask that pair's weights for its numbers.
"""

import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from inference.weights.registry import MANIFEST


def scripted_pair(shipped: Path) -> Path:
    """Return a folder with a shipped pair's files under another manifest; made once a machine."""
    manifest = json.loads((shipped / MANIFEST).read_bytes())
    named = json.dumps(manifest | {"model_id": "scripted"}).encode()
    folder = Path(tempfile.gettempdir()) / f"countersign-scripted-{sha256(named).hexdigest()[:16]}"
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="countersign-scripted-"))
        shutil.copytree(shipped, made, dirs_exist_ok=True)
        (made / MANIFEST).write_bytes(named)
        made.chmod(0o755)
        try:
            made.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(made)
    return folder
