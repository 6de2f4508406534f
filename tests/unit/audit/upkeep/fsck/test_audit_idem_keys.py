"""One idempotency key twice in one stream: no honest log has it, every reader of a log sees it."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.upkeep.fsck import dump as fsck_dump_module
from audit.upkeep.fsck.dump import fsck_dump
from audit.upkeep.fsck.state import FsckState
from audit.verifier.verify import OK, TAMPERED, Outside, verify_dump, verify_tiles
from tests.doubles.audit_log import SIGNER, dump_of
from tests.doubles.audit_spoiled import plan_of, silent
from tests.doubles.evidence_limits import OddLog
from tests.doubles.evidence_vectors import tree_of

KEY = str(SIGNER.vkey)


def odd_log(*keys: str) -> OddLog:
    """Notes of one stream under these keys, one of another stream under the first."""
    odd = OddLog().add("control", "operator_note", {}, idem_key=keys[0])
    for key in keys:
        odd.add("case/1", "operator_note", {}, idem_key=key)
    return odd


@pytest.mark.parametrize(("keys", "bad"), [("abcdef", None), ("abcdeb", 6), ("aabcde", 2)])
def test_verify_and_fsck_find_a_key_that_came_before(
    keys: str, bad: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, path = odd_log(*keys).signed(), tmp_path / "log.jsonl"
    path.write_bytes(b"".join(dump_of(log)))
    code = OK if bad is None else TAMPERED
    report = verify_dump(dump_of(log), [KEY])
    assert (report.exit_code, report.first_bad_seq) == (code, bad), report.lines
    plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "dump.state")
    found = fsck_dump(path, plan, silent)
    assert (found.exit_code, found.first_bad_seq) == (code, bad), found.lines
    for name, data in tree_of(log).items():
        place = tmp_path / "tiles" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    tiles = verify_tiles(tmp_path / "tiles", Outside(vkeys=[KEY]))
    assert (tiles.exit_code, tiles.first_bad_seq) == (code, bad), tiles.lines

    def stop(*_: object) -> None:
        if fsck_dump_module.SAVE_BYTES == 1:
            shown.append(1)
            if len(shown) > 6:
                raise KeyboardInterrupt

    shown: list[int] = []
    monkeypatch.setattr(fsck_dump_module, "SAVE_BYTES", 1)
    monkeypatch.setattr(fsck_dump_module, "SHOW_BYTES", 1)
    with pytest.raises(KeyboardInterrupt):
        fsck_dump(path, plan, stop)
    found = fsck_dump(path, replace(plan, resume=True), silent)
    assert (found.exit_code, found.first_bad_seq) == (code, bad), found.lines


def test_the_keys_of_a_check_are_kept_with_it(tmp_path: Path) -> None:
    state = FsckState(tmp_path / "state", ["a"], resume=False)
    state.keys.add(b"kept")
    state.save({})
    state.keys.add(b"lost")
    assert all(key in state.keys for key in (b"kept", b"lost"))
    state.close(keep=True)
    state = FsckState(tmp_path / "state", ["a"], resume=True)
    assert b"kept" in state.keys
    assert b"lost" not in state.keys
    state.close(keep=False)
