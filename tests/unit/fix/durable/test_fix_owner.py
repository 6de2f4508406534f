"""A session's folder belongs to one session for ever."""

from pathlib import Path

from fix.durable.continuity import claim, owner_of

MINE = "plain-4.4 FIX.4.4-US-THEM"


def test_a_new_folder_belongs_to_nobody_until_it_is_claimed(tmp_path: Path) -> None:
    folder = tmp_path / "fix"
    assert owner_of(folder) == ""
    claim(folder, MINE)
    claim(folder, MINE)
    assert owner_of(folder) == MINE
    assert [path.name for path in folder.iterdir()] == ["session.owner"]


def test_a_folder_without_a_note_is_the_simulators_of_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "FIX.4.4-A-B.seqnums").touch()
    (store / "FIX.4.4-A-B.session").touch()
    assert owner_of(tmp_path) == "simulator FIX.4.4-A-B"
    claim(tmp_path, "simulator FIX.4.4-A-B")
    (store / "FIX.4.4-A-C.seqnums").touch()
    assert owner_of(tmp_path) == "simulator FIX.4.4-A-B"


def test_two_stores_without_a_note_tell_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for name in ("A", "B"):
        (store / f"FIX.4.4-{name}-X.seqnums").touch()
    assert owner_of(tmp_path) == ""
