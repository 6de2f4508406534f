"""Which rows of a ledger count: its key, an older state, a restore, and when it is on record."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from audit.errors import LedgerTimeoutError, LedgerUnsafeError
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger
from gateway.errors import SettingsError
from gateway.installation.keys.row_keys import (
    MEMORY,
    PERMIT,
    RowKeys,
    make_secret,
    permit_restored,
    read_secret,
)
from gateway.installation.settings import load
from gateway.installation.state import StateFolder

ORIGIN = "rows.test"
ROOT, OTHER = b"r" * 32, b"o" * 32
LEAF = b"l" * 32


class Found:
    """A ledger of so many records that somebody opened."""

    def __init__(self, size: int, root: bytes = ROOT, *, away: bool = False) -> None:
        self.found = (size, root)
        self.size = size
        self.away = away
        self.drafts: list[Draft] = []

    def append(self, *drafts: Draft) -> Sequence[None]:
        """Take drafts, unless it is away."""
        if self.away:
            raise LedgerTimeoutError("no answer", written=False)
        self.drafts += drafts
        self.size += len(drafts)
        return [None for _ in drafts]


def settled(keys: RowKeys, ledger: Found) -> Found:
    keys.settle(cast("Ledger", ledger))
    return ledger


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder.of(load(state=tmp_path / "state"))
    folder.create()
    make_secret(folder.keys)
    return folder


def begun(state: StateFolder, origin: str = ORIGIN) -> RowKeys:
    keys = RowKeys(state, origin)
    keys.begin()
    return keys


def test_the_secret_is_made_once_and_for_nobody_else(state: StateFolder) -> None:
    path = make_secret(state.keys)
    before = read_secret(state.keys)
    assert path.stat().st_mode & 0o777 == 0o600
    assert make_secret(state.keys) == path
    assert read_secret(state.keys) == before
    assert len(before) == 32
    for bit in (0o040, 0o020, 0o010, 0o004, 0o002, 0o001):
        path.chmod(0o600 | bit)
        with pytest.raises(SettingsError, match="readable by others: chmod 600"):
            read_secret(state.keys)


@pytest.mark.parametrize("text", ["", "ab", "00" * 31, "00" * 33, "no key at all", "zz" * 32])
def test_a_file_that_holds_no_secret_is_refused_and_not_repeated(
    state: StateFolder, text: str
) -> None:
    make_secret(state.keys).write_text(text)
    with pytest.raises(SettingsError, match="holds no key") as refused:
        read_secret(state.keys)
    assert not text or text not in str(refused.value)


def test_without_a_secret_it_says_which_verb_makes_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="countersign row-key"):
        read_secret(tmp_path)


def test_rows_of_before_count_once_up_to_the_root_that_was_found(state: StateFolder) -> None:
    keys = begun(state)
    ledger = settled(keys, Found(7))
    (draft,) = ledger.drafts
    assert draft.kind is Kind.ROWS_ACCEPTED
    assert (draft.payload["size"], draft.payload["root"]) == (7, ROOT.hex())
    assert draft.payload["reason"] == "rows of before there was a key"
    again = begun(state)
    assert (again.key.accepted.size, again.key.accepted.root) == (7, ROOT)
    assert settled(again, Found(9)).drafts == []
    assert (again.key.accepted.size, again.key.accepted.root) == (7, ROOT), "and no further"


def test_an_empty_ledger_accepts_nothing_and_says_nothing(state: StateFolder) -> None:
    keys = begun(state)
    assert settled(keys, Found(0)).drafts == []
    assert settled(begun(state), Found(0)).drafts == []
    assert RowKeys(state, ORIGIN).key.accepted.size == 0


def test_an_acceptance_that_is_not_on_record_is_put_there_by_the_next_start(
    state: StateFolder,
) -> None:
    with pytest.raises(LedgerTimeoutError):
        settled(begun(state), Found(7, away=True))
    later = settled(begun(state), Found(9))
    (draft,) = later.drafts
    assert draft.payload["size"] == 7
    assert settled(begun(state), Found(later.size)).drafts == []


def test_an_older_state_of_the_ledger_is_refused(state: StateFolder) -> None:
    keys = begun(state)
    settled(keys, Found(7))
    keys.saw(20)
    keys.saw(15)
    for size in (0, 7, 19):
        with pytest.raises(LedgerUnsafeError, match=f"had 20 records here, and has {size} now"):
            settled(begun(state), Found(size))
    settled(begun(state), Found(20))


def test_a_key_before_anybody_opened_the_ledger_is_none(state: StateFolder) -> None:
    with pytest.raises(LedgerUnsafeError, match="never opened"):
        _ = RowKeys(state, ORIGIN).key


def test_each_ledger_and_each_beginning_has_a_key_of_its_own(state: StateFolder) -> None:
    first = begun(state)
    settled(first, Found(3))
    assert begun(state).key.mac(LEAF) == first.key.mac(LEAF)
    assert begun(state, "other.test").key.mac(LEAF) != first.key.mac(LEAF)
    (state.root / MEMORY).unlink()
    assert begun(state).key.mac(LEAF) != first.key.mac(LEAF)


def test_what_was_restored_counts_up_to_its_root_and_begins_anew(state: StateFolder) -> None:
    before = begun(state)
    settled(before, Found(3))
    before.saw(90)
    permit_restored(state, 40, ROOT)
    keys = begun(state)
    assert keys.key.mac(LEAF) != before.key.mac(LEAF)
    assert keys.key.accepted.size == 0, "not before it was looked at"
    with pytest.raises(LedgerUnsafeError, match="had 90 records"):
        settled(begun_without_permit(state), Found(40))
    for size, root in ((41, ROOT), (39, ROOT), (40, OTHER)):
        with pytest.raises(LedgerUnsafeError):
            settled(begun(state), Found(size, root))
    assert (state.root / PERMIT).exists()
    (draft,) = settled(begun(state), Found(40)).drafts
    assert draft.payload["reason"] == "restored from a backup"
    assert not (state.root / PERMIT).exists(), "once"


def begun_without_permit(state: StateFolder) -> RowKeys:
    """Begin as a start does that was given no permit."""
    permit = (state.root / PERMIT).read_bytes()
    (state.root / PERMIT).unlink()
    try:
        return begun(state)
    finally:
        (state.root / PERMIT).write_bytes(permit)


def test_a_start_that_ended_before_it_settled_leaves_no_word_of_the_ledger(
    state: StateFolder,
) -> None:
    begun(state).saw(20)
    (draft,) = settled(begun(state), Found(20)).drafts
    assert draft.payload["size"] == 20
    assert begun(state).key.accepted.size == 20


def test_what_a_start_put_on_record_is_counted_at_the_next(state: StateFolder) -> None:
    assert settled(begun(state), Found(7)).size == 8
    assert (state.root / MEMORY).stat().st_mode & 0o777 == 0o600
    with pytest.raises(LedgerUnsafeError, match="had 8 records here, and has 7 now"):
        settled(begun(state), Found(7))
    settled(begun(state), Found(8))


@pytest.mark.parametrize("text", ["", "[", '{"size": 1'])
def test_a_note_of_ours_that_cannot_be_read_is_named_and_stops_the_start(
    state: StateFolder, text: str
) -> None:
    permit_restored(state, 1, ROOT)
    path = state.root / PERMIT
    path.write_text(text, encoding="ascii")
    with pytest.raises(SettingsError, match=f"cannot read {path}"):
        settled(begun(state), Found(1))
