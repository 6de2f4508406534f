"""What a FIX child says of itself at its start: its build, its dictionary, its order profile.

The gateway makes the same with the same function when it starts. Each value is a digest, so that
two processes that read other files, or run other code, cannot agree.

Not here: the comparison (`gateway.installation.children.child`).
"""

import json
import platform
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from fix.dialects.order_profile import order_profile
from fix.dialects.profile import Profile

PACKAGES: Final = ("fix", "risk", "inference")
"""What a FIX child can load of ours: its own package, and those below it."""
_ROOT: Final = Path(__file__).parents[1]


@cache
def build_digest() -> str:
    """Return SHA-256 (hex) over the packages' modules, Python's and quickfix's version; kept."""
    said = [f"python {platform.python_version()}", f"quickfix {version('quickfix')}"]
    said += [
        f"{path.relative_to(_ROOT).as_posix()} {sha256(path.read_bytes()).hexdigest()}"
        for package in PACKAGES
        for path in sorted((_ROOT / package).rglob("*.py"))
    ]
    return sha256("\n".join(said).encode()).hexdigest()


def dictionary_digest(files: Iterable[str]) -> str:
    """Return SHA-256 (hex) of each dictionary file, joined by "+": session messages first.

    Raises:
        OSError: a file cannot be read.
    """
    return "+".join(sha256(Path(one).read_bytes()).hexdigest() for one in files)


def identity(profile: Profile, dictionaries: Iterable[str]) -> dict[str, str]:
    """Return build, dictionary and order profile of a session, by name; from the files as they are.

    Raises:
        OSError: a dictionary cannot be read.
    """
    terms = json.dumps(order_profile(profile), sort_keys=True, separators=(",", ":"))
    return {
        "build": build_digest(),
        "dictionary": dictionary_digest(dictionaries),
        "order_profile": sha256(terms.encode()).hexdigest(),
    }
