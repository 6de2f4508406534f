"""Whether keys are the gateway's alone: looked at before anything is started that uses them.

A key that others can read is nobody's any more, and one that somebody else owns he can change.
Looked at are the key folder (log, policy and release keys, bearer tokens), the vault of subject
keys, and the state folder. `serve` refuses and says what to type; `run` mends what is its own.

Rules kept here:
- Folders of keys are 0700, their files 0600; what outsiders are given (`.pub`, `.note`, the signed
  policy) may be read by others, never written.
- The state folder is passed through by the database's user, so others may enter it, and no more.
- Owner is the gateway's own user, or root; no folder above can be changed by everybody.
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
from gateway.installation.local_door import ROOT
from gateway.installation.policy import BUNDLE
from gateway.installation.state import StateFolder

_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_PUBLIC_SUFFIXES: Final = frozenset({".pub", ".note"})
_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file or folder that is not its owner's alone.

    Attributes:
        path: of it.
        problem: what is wrong, in words.
        mend: the mode that it should have; None where a mode does not mend it.
    """

    path: Path
    problem: str
    mend: int | None

    @property
    def command(self) -> str:
        """What mends it, for a shell."""
        change = f"chown {os.geteuid()}" if self.mend is None else f"chmod {self.mend:o}"
        return f"{change} {shlex.quote(str(self.path))}"


def faults(state: StateFolder, *, above: bool = True) -> Iterator[Fault]:
    """Yield what is wrong with the keys of a state folder; what is not there is not wrong.

    Args:
        state: whose keys.
        above: look at the folders above, too.
    """
    for folder in dict.fromkeys((state.keys, state.vault)):
        if folder.is_dir():
            yield from _faults_of(folder, _OTHERS)
            for path in sorted(folder.iterdir()):
                yield from _faults_of(path, _OTHERS_WRITE if _is_public(path) else _OTHERS)
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
    """Refuse keys that are not the gateway's alone.

    Raises:
        CustodyError: says which, and what to type.
    """
    if found := list(faults(state)):
        raise CustodyError(
            problem="; ".join(f"{one.path} {one.problem}" for one in found[:_SHOWN_MAX]),
            commands=" && ".join(one.command for one in found),
        )


def mend_open(state: StateFolder) -> None:
    """Close what is our own and open to others, and say so on stderr.

    Raises:
        CustodyError: some of it is somebody else's.
    """
    others: list[Fault] = []
    for one in list(faults(state, above=False)):
        if one.mend is None:
            others.append(one)
        else:
            one.path.chmod(one.mend)
            sys.stderr.write(f"countersign: {one.path} {one.problem}: {one.command} was done\n")
    if others:
        raise CustodyError(
            problem="; ".join(f"{one.path} {one.problem}" for one in others[:_SHOWN_MAX]),
            commands=" && ".join(one.command for one in others),
        )


def _faults_of(path: Path, forbidden: int) -> Iterator[Fault]:
    """Yield what is wrong with one path: its owner, or its mode."""
    try:
        found = path.stat()
    except FileNotFoundError:  # a link to nothing, or gone just now
        return
    if found.st_uid not in {ROOT, os.geteuid()}:
        yield Fault(path=path, problem=f"belongs to user {found.st_uid}", mend=None)
    elif (mode := stat.S_IMODE(found.st_mode)) & forbidden:
        words = f"has mode {mode:o}, so that other users may use it"
        yield Fault(path=path, problem=words, mend=mode & ~forbidden)


def _is_public(path: Path) -> bool:
    """Say whether a file in a key folder is for outsiders."""
    return path.suffix in _PUBLIC_SUFFIXES or path.name == BUNDLE
