"""The check, before a start, that only the gateway may use its keys.

It covers the key folder, the vault of subject keys and the state folder. `serve` refuses and prints
the commands that mend it; `run` mends its own files.

Rules:

- Key folders have mode 0700, their files 0600. Files for outsiders (`.pub`, `.note`, the signed
  policy) may be read by others, never written.
- The state folder may be traversed, because the database's user passes through it.
- The owner is the gateway's user or root; no folder above is writable by everybody.
"""

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.errors import CustodyError
from gateway.installation.local.door import ROOT
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.state import StateFolder

_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_PUBLIC_SUFFIXES: Final = frozenset({".pub", ".note"})
_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file or folder that others may use or own.

    `mend` is the mode that it should have, None if the owner is wrong.
    """

    path: Path
    problem: str
    mend: int | None

    @property
    def command(self) -> str:
        """The shell command that mends it."""
        change = f"chown {os.geteuid()}" if self.mend is None else f"chmod {self.mend:o}"
        return f"{change} {shlex.quote(str(self.path))}"


def faults(state: StateFolder, *, above: bool = True) -> Iterator[Fault]:
    """Yield the faults of the keys and, if asked, of the folders above; a missing file is none."""
    for folder in dict.fromkeys((state.keys, state.vault)):
        if folder.is_dir():
            yield from _faults_of(folder, _OTHERS)
            for path in sorted(folder.iterdir()):
                public = path.suffix in _PUBLIC_SUFFIXES or path.name == BUNDLE
                yield from _faults_of(path, _OTHERS_WRITE if public else _OTHERS)
    if state.root.is_dir():
        yield from _faults_of(state.root, _OTHERS_WRITE)
    if above:
        tops = {top for one in (state.root, state.keys, state.vault) for top in one.parents}
        for top in sorted(tops - {state.root, state.keys, state.vault}):
            mode = top.stat().st_mode if top.exists() else 0
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                words = "can be changed by everybody"
                yield Fault(path=top, problem=words, mend=stat.S_IMODE(mode) & ~stat.S_IWOTH)


def refuse_open(state: StateFolder) -> None:
    """Refuse keys that others may use.

    Raises:
        CustodyError: names them and the commands that mend them.
    """
    _refuse(list(faults(state)))


def mend_open(state: StateFolder) -> None:
    """Mend the modes of our own files, and print that to stderr.

    Raises:
        CustodyError: another user owns some.
    """
    others: list[Fault] = []
    for one in list(faults(state, above=False)):
        if one.mend is None:
            others.append(one)
        else:
            one.path.chmod(one.mend)
            sys.stderr.write(f"countersign: {one.path} {one.problem}: {one.command} was done\n")
    _refuse(others)


def _refuse(found: list[Fault]) -> None:
    if found:
        raise CustodyError(
            problem="; ".join(f"{one.path} {one.problem}" for one in found[:_SHOWN_MAX]),
            commands=" && ".join(one.command for one in found),
        )


def _faults_of(path: Path, forbidden: int) -> Iterator[Fault]:
    try:
        found = path.stat()
    except FileNotFoundError:  # a dangling link, or removed meanwhile
        return
    if found.st_uid not in {ROOT, os.geteuid()}:
        yield Fault(path=path, problem=f"belongs to user {found.st_uid}", mend=None)
    elif (mode := stat.S_IMODE(found.st_mode)) & forbidden:
        words = f"has mode {mode:o}, so that other users may use it"
        yield Fault(path=path, problem=words, mend=mode & ~forbidden)
