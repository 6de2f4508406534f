"""Another user of the same machine, who may log in and nothing else.

As root the tests become that user in a process of its own. Who is not root cannot, so there the
kernel's rule for files is applied by hand to a user who owns nothing and is in no group.
"""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

STRANGER = "daemon"

_TRIES = """
import json, os, socket, sys
def tried(path):
    try:
        if os.path.isdir(path):
            os.listdir(path)
        elif path.endswith((".sock", ".s.PGSQL.5432")):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(path)
        else:
            open(path, "rb").close()
    except OSError:
        return False
    return True
print(json.dumps([path for path in sys.argv[1:] if tried(path)]))
"""


def opened_by_stranger(paths: Sequence[Path]) -> list[Path]:
    """Return which of these files, folders and sockets another user can open, list or reach."""
    if os.geteuid() != 0:
        return [path for path in paths if _others_may(path)]
    return [Path(path) for path in json.loads(run_as_stranger(_TRIES, *map(str, paths)))]


def run_as_stranger(code: str, *arguments: str) -> str:
    """Run a Python program as another user, which only root can; return what it printed.

    With whatever Python 3 that user reaches, so of the standard library only.
    """
    stranger = pwd.getpwnam(STRANGER)
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", code, *arguments],
        user=stranger.pw_uid,
        group=stranger.pw_gid,
        extra_groups=(),
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"},
    )
    return done.stdout


def _others_may(path: Path) -> bool:
    """Say whether the mode bits let a user in who is neither owner nor in the group."""
    if any(not folder.stat().st_mode & 0o001 for folder in path.parents):
        return False
    return bool(path.lstat().st_mode & 0o004)
