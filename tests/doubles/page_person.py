"""A person at the pages: signs in with a key as a browser does, and what the doors need for it."""

from pathlib import Path

import httpx
from fastapi.testclient import TestClient

from audit.records.record import Draft, Record
from audit.sequencer.ledger import NO_HOOKS, Guard, Hooks, Lane
from gateway.clock import monotonic_us, wall_us
from gateway.installation.keys.keyring import Keyring
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.forms import FormGuard
from gateway.surfaces.web.sessions import Sessions

SEE_OTHER = 303


class KeptDrafts:
    """A ledger that keeps what it is given, for who has no database at hand."""

    def __init__(self) -> None:
        """Start empty."""
        self.drafts: list[Draft] = []

    def append(
        self,
        *drafts: Draft,
        lane: Lane = Lane.DECISION,  # noqa: ARG002 - the real one has lanes
        guard: Guard | None = None,  # noqa: ARG002 - the real one compares
        timeout_s: float = 5.0,  # noqa: ARG002 - never waits
        hooks: Hooks = NO_HOOKS,  # noqa: ARG002 - nothing is under way
    ) -> tuple[Record, ...]:
        """Keep drafts."""
        self.drafts += drafts
        return ()

    def put_blob(self, data: bytes) -> str:
        """Refuse: nobody here stores blobs."""
        raise NotImplementedError(data)


def entrance(folder: Path, ledger: KeptDrafts | None = None) -> Entrance:
    """Return doors over a new folder of keys."""
    keyring = Keyring.create(folder / "keys")
    return Entrance(
        keyring=keyring,
        sessions=Sessions(keyring, monotonic_us),
        refusals=Refusals(ledger or KeptDrafts(), wall_us),
        guard=FormGuard(b"s" * 32),
    )


def sign_in(browser: httpx.Client | TestClient, key: str) -> None:
    """Type a key into the form; the browser has the session's cookie afterwards."""
    home = str(browser.base_url).rstrip("/")
    answer = browser.post(
        "/sign-in", data={"key": key}, headers={"Origin": home}, follow_redirects=False
    )
    assert answer.status_code == SEE_OTHER, answer.text
