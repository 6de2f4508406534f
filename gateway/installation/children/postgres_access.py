"""The embedded PostgreSQL's access rules: `peer` authentication of our own user, no password.

Rules:

- The gateway's user may be the plain login, and the administrator only during a migration.
- No other user is admitted, no network and no replication.
- Both files are written at each start, so that later additions are lost.

Source: PostgreSQL documentation, sections 20.1, 20.2 and 20.9 (pg_hba.conf, user name maps, peer).
See decision 034.
"""

import contextlib
import os
import pwd
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.errors import PostgresError

HBA: Final = "pg_hba.conf"
IDENT: Final = "pg_ident.conf"
_MAP: Final = "gateway"
_SAYS: Final = "# Written by Countersign at every start; see postgres_access.py.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """The contents of pg_hba.conf and pg_ident.conf, for these database users."""

    users: tuple[str, ...]
    hba: str
    ident: str


def rules_for(users: Sequence[str]) -> AccessRules:
    """Return the rules that let our user log in as these database users."""
    me = own_name()
    hba = "".join(f"local all {user} peer map={_MAP}\n" for user in users)
    ident = "".join(f'{_MAP} "{me}" {user}\n' for user in users)
    return AccessRules(users=tuple(users), hba=_SAYS + hba, ident=_SAYS + ident)


def own_name() -> str:
    """Return the name of our user, which the server looks up too.

    Raises:
        PostgresError: the user has no name.
    """
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise PostgresError(
            f"user {os.geteuid()} has no name in the system's list of users, and PostgreSQL asks"
            " for it: give the user an entry in /etc/passwd"
        ) from None


def put(rules: AccessRules, data: Path, owner: pwd.struct_passwd | None, pid: int | None) -> bool:
    """Write the rules into a data folder; return whether they changed.

    The files belong to `owner` (None: to us). The postmaster `pid` applies them a moment later.
    """
    changed = False
    for name, text in ((HBA, rules.hba), (IDENT, rules.ident)):
        path = data / name
        with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
            if path.read_text(encoding="utf-8") == text:
                continue
        changed = True
        scratch = path.with_name(f"{name}.new")
        scratch.unlink(missing_ok=True)
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            if owner is not None:
                os.fchown(file.fileno(), owner.pw_uid, owner.pw_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    if changed and pid is not None:
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            os.kill(pid, signal.SIGHUP)
    return changed
