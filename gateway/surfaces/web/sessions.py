"""Who is signed in to the pages, in memory: a restart signs everybody out.

Rules:
- A session or a link is a random token; only its SHA-256 is kept, and only in memory.
- A session belongs to a bearer key. It ends after `LIFE_S`, after `IDLE_S` without use, and with
  its key. Its role is the key's role at each request.
- A link signs in once, at most `LINK_S` after it was made.

Not here: cookies and forms (`forms`), and what a role may see (`gateway.installation.keys.roles`).
"""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.installation.keys.keyring import Caller, Keyring, digest_of

LIFE_S: Final = 12 * 3_600
IDLE_S: Final = 2 * 3_600
LINK_S: Final = 900
PER_KEY_MAX: Final = 32
"""Sessions of one key, and links of one key; one more ends the oldest."""
_TOKEN_BYTES: Final = 32
_US: Final = 1_000_000


@dataclass(slots=True, kw_only=True)
class _Open:
    key_digest: str
    began_us: int
    used_us: int


class Sessions:
    """The open sessions and links of one process; safe from any thread."""

    def __init__(self, keyring: Keyring, monotonic_us: Callable[[], int]) -> None:
        self._keyring = keyring
        self._now_us = monotonic_us
        self._sessions: dict[str, _Open] = {}
        self._links: dict[str, _Open] = {}
        self._lock = threading.Lock()

    def open(self, key_digest: str) -> str:
        """Sign in the holder of a key, given as SHA-256 in hex; return the session's token."""
        return self._add(self._sessions, key_digest)

    def caller(self, token: str, *, used: bool = True) -> Caller | None:
        """Return who is signed in under a token, or None; `used` keeps the session open."""
        digest, now_us = digest_of(token), self._now_us()
        with self._lock:
            found = self._sessions.get(digest)
            if found is None:
                return None
            late = now_us - found.began_us > LIFE_S * _US or now_us - found.used_us > IDLE_S * _US
            if late:
                del self._sessions[digest]
                return None
            if used:
                found.used_us = now_us
        caller = self._keyring.holder(found.key_digest)
        if caller is None:
            self.close(token)
        return caller

    def close(self, token: str) -> None:
        """Sign out; an unknown token does nothing."""
        with self._lock:
            self._sessions.pop(digest_of(token), None)

    def link(self, name: str) -> str | None:
        """Return a token that signs in as `name` once, or None if no key has that name."""
        key_digest = self._keyring.digest(name)
        return None if key_digest is None else self._add(self._links, key_digest)

    def enter(self, link: str) -> str | None:
        """Use a link up and return the token of a new session, or None if it is not valid."""
        with self._lock:
            found = self._links.pop(digest_of(link), None)
        if found is None or self._now_us() - found.began_us > LINK_S * _US:
            return None
        holder = self._keyring.holder(found.key_digest)
        return None if holder is None else self.open(found.key_digest)

    def _add(self, those: dict[str, _Open], key_digest: str) -> str:
        token, now_us = secrets.token_urlsafe(_TOKEN_BYTES), self._now_us()
        with self._lock:
            same = [name for name, one in those.items() if one.key_digest == key_digest]
            for name in same[: max(0, len(same) - PER_KEY_MAX + 1)]:  # the oldest come first
                del those[name]
            those[digest_of(token)] = _Open(key_digest=key_digest, began_us=now_us, used_us=now_us)
        return token
