"""The logs that a witness follows: keys from the command line, or watched files.

When a log changes its key, the witness's operator adds the new line to the file before the log's
overlap ends, and the running witness uses it at the next request. A file that is gone or does not
parse changes nothing: the known keys stay, and the operator log says so once. A log itself never
decides which of its keys are followed.

A log's key is named like its origin (tlog-checkpoint). If it is not, as for the Go checksum
database, the origin follows the key: `VKEY ORIGIN`.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from audit.errors import NoteError
from audit.tlog.cosignature import NAME_BYTES_MAX
from audit.tlog.note import BLANK, COSIGNATURE_ED25519, VerifierKey
from gateway.errors import SettingsError

_log = logging.getLogger(__name__)
PATH_CHARS_MAX: Final = 1_024
LogKeys = Mapping[str, Sequence[VerifierKey]]
"""The trusted keys of each log, by origin."""
_Stamp = tuple[int, int, int] | None


class FollowedLogs:
    """The logs of one witness, read again when a file changes; safe from any thread."""

    def __init__(self, given: Sequence[str], on_change: Callable[[LogKeys], None]) -> None:
        """Read `given` as `log_keys` does; later changes go to `on_change` before they are used.

        Raises:
            SettingsError: as of `log_keys`.
        """
        self._given = tuple(given)
        self._on_change = on_change
        self._files = tuple(Path(text) for text in given if _is_file(text))
        self._lock = threading.Lock()
        self._stamps = self._stamp()
        self._keys: LogKeys = log_keys(self._given)

    def now(self) -> LogKeys:
        """Return the keys that count now."""
        with self._lock:
            stamps = self._stamp()
            if stamps != self._stamps:
                self._stamps = stamps
                self._read_again()
            return self._keys

    def _read_again(self) -> None:
        try:
            keys = log_keys(self._given)
        except SettingsError as error:
            _log.warning("logs_not_read_again kept=%d why=%s", len(self._keys), error)
            return
        if keys == self._keys:
            return
        before, after = _ids(self._keys), _ids(keys)
        _log.info(
            "logs_read_again added=%s removed=%s",
            ",".join(sorted(after - before)) or "none",
            ",".join(sorted(before - after)) or "none",
        )
        self._keys = keys
        self._on_change(keys)

    def _stamp(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp_of, self._files))


def log_keys(given: Sequence[str]) -> dict[str, tuple[VerifierKey, ...]]:
    """Return the trusted keys of each log, by origin.

    `given` are verifier keys, each followed by its origin if that is not the key's name, or files
    with one per line; repeated ones count once.

    Raises:
        SettingsError: when there is none, or one is not a log's key, or no policy file could name
            it.
    """
    found: defaultdict[str, list[VerifierKey]] = defaultdict(list)
    try:
        for origin, key in dict.fromkeys(chain.from_iterable(map(_logs_in, given))):
            found[origin].append(key)
    except (OSError, UnicodeDecodeError, NoteError) as error:
        raise SettingsError(name="--log", problem=f"not a log's verifier key: {error}") from error
    if not found:
        raise SettingsError(name="--log", problem="name at least one log to follow")
    if problem := _problem(found):
        raise SettingsError(name="--log", problem=problem)
    return {origin: tuple(keys) for origin, keys in found.items()}


def _problem(found: Mapping[str, Sequence[VerifierKey]]) -> str:
    """Return why no policy file could name these logs, or the empty text.

    Source: https://c2sp.org/tlog-policy, "Public key representation" and "Defining a log".
    """
    owners: dict[bytes, str] = {}
    for origin, keys in found.items():
        if len(origin.encode()) > NAME_BYTES_MAX:
            return f"a log's name of more than {NAME_BYTES_MAX} bytes cannot be cosigned"
        for key in keys:
            if any(ch < " " or ch == "\x7f" for ch in origin + key.name):
                return f"{origin!r} or {key.name!r} has a character that no policy may hold"
            if key.key_type == COSIGNATURE_ED25519:
                return f"the key of {origin} is a witness's (type 0x04), not a log's"
            owner = owners.setdefault(key.public_key, origin) if key.name == origin else origin
            if owner != origin:
                return f"{owner} and {origin} have the same key; a policy can name it only once"
    return ""


def _logs_in(text: str) -> list[tuple[str, VerifierKey]]:
    """Read a log, or a file of logs; an ML-DSA-44 key is too long for a file name."""
    try:
        return [_log_of(text)]
    except NoteError:
        if not _is_file(text):
            if "+" not in text:  # so it cannot be meant as a verifier key
                raise NoteError(f"no file {text:.200}") from None
            raise
    lines = [line for line in Path(text).read_text("utf-8").split("\n") if line.strip(BLANK)]
    if not lines:  # perhaps it is just being written
        raise NoteError(f"{text} names no log")
    return [_log_of(line) for line in lines]


def _log_of(line: str) -> tuple[str, VerifierKey]:
    """Read a verifier key and the origin after its space (default: the key's name)."""
    vkey, _, origin = line.strip(BLANK).partition(" ")
    key = VerifierKey.parse(vkey)
    return origin.strip(BLANK) or key.name, key


def _is_file(text: str) -> bool:
    return len(text) <= PATH_CHARS_MAX and Path(text).is_file()


def _stamp_of(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _ids(keys: LogKeys) -> set[str]:
    return {f"{key.name}+{key.key_id.hex()}" for some in keys.values() for key in some}
