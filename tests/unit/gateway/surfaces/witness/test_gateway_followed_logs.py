"""A witness learns a log's new key from its operator's file, without a restart."""

import logging
import os
from pathlib import Path

import pytest

from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.note import COSIGNATURE_ML_DSA_44, parse_signature_lines, sign_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.treehead import TreeHead
from audit.witnesses.memory import WitnessMemory
from audit.witnesses.witness import encode_request
from gateway.errors import SettingsError
from gateway.surfaces.witness.followed_logs import FollowedLogs, LogKeys, log_keys
from gateway.surfaces.witness.server import open_witness, policy_text
from tests.doubles.cosigners import Cosigner, verify_cosignature
from tests.doubles.memory_tree import consistency_path

OLD, NEW, OTHER = (Cosigner("log.example/a", seed, 1) for seed in (1, 2, 3))
LEAVES = [leaf_hash(b"%d" % number) for number in range(9)]
TIME_S = 1_800_000_000


def question(old: int, size: int, *signers: Cosigner) -> bytes:
    """Ask for a tree that some keys of the log have signed."""
    note = make_checkpoint(size, root_of(LEAVES[:size]), *signers).note
    return encode_request(old, consistency_path(LEAVES[:size], old), note)


def replaced(path: Path, *lines: str) -> None:
    """Put another file in the place of one, as an editor does."""
    scratch = path.with_suffix(".new")
    scratch.write_text("".join(f"{line}\n" for line in lines))
    scratch.rename(path)


def test_a_rotated_log_goes_on_without_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, heard = tmp_path / "logs", list[LogKeys]()
    replaced(file, str(OLD.vkey))
    witness = open_witness(tmp_path / "state", [str(file)], "w.example/1", heard.append)
    caplog.set_level(logging.INFO)
    try:
        assert witness.answer(question(0, 3, OLD), TIME_S).status == 200
        assert witness.answer(question(3, 4, OLD, NEW), TIME_S).status == 200
        assert witness.answer(question(4, 5, NEW), TIME_S).status == 403
        replaced(file, str(OLD.vkey), "", str(NEW.vkey))
        assert witness.answer(question(4, 5, NEW), TIME_S).status == 200
        assert witness.answer(question(5, 6, OLD), TIME_S).status == 200
        assert [sorted(map(str, keys["log.example/a"])) for keys in heard] == [
            sorted([str(OLD.vkey), str(NEW.vkey)])
        ]
        assert str(NEW.vkey) in policy_text(witness.signers, heard[0], "http://w.example")
        replaced(file, str(NEW.vkey))
        assert witness.answer(question(6, 7, OLD), TIME_S).status == 403
        assert witness.answer(question(6, 7, NEW), TIME_S).status == 200
        assert witness.answer(question(0, 3, NEW), TIME_S).status == 409, "its memory stays"
    finally:
        witness.memory.close()
    said = [one.getMessage() for one in caplog.records if "read_again" in one.getMessage()]
    old, new = (f"log.example/a+{key.vkey.key_id.hex()}" for key in (OLD, NEW))
    assert said == [
        f"logs_read_again added={new} removed=none",
        f"logs_read_again added=none removed={old}",
    ]


def test_a_file_that_says_nothing_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, heard = tmp_path / "logs", list[LogKeys]()
    replaced(file, str(OLD.vkey))
    logs = FollowedLogs([str(file), str(OTHER.vkey)], heard.append)
    before = logs.now()
    assert before == {"log.example/a": (OLD.vkey, OTHER.vkey)}
    spoiled = ("no key", str(NEW.vkey)[:-1], f"{NEW.vkey}\nno key", "")
    for number, text in enumerate(spoiled):
        replaced(file, text)
        assert logs.now() is before
        assert logs.now() is before, "and it is said once"
        assert len([one for one in caplog.records if one.levelname == "WARNING"]) == number + 1
    file.write_bytes(b"\xff\xfe")
    assert logs.now() is before
    file.unlink()
    assert logs.now() is before
    file.mkdir()
    assert logs.now() is before
    file.rmdir()
    replaced(file, str(OLD.vkey))
    assert logs.now() == before
    assert heard == []
    replaced(file, str(NEW.vkey))
    assert logs.now() == {"log.example/a": (NEW.vkey, OTHER.vkey)} == heard[0]
    with file.open("a") as more:  # in place, the same file
        more.write(f"{OLD.vkey}\n")
    assert len(logs.now()["log.example/a"]) == 3
    with pytest.raises(SettingsError):
        FollowedLogs([str(tmp_path / "none")], heard.append)


def test_every_log_that_is_followed_can_stand_in_the_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "logs"
    replaced(file, str(OLD.vkey), str(NEW.vkey), str(OLD.vkey))
    large = Cosigner("log.example/b", 4, COSIGNATURE_ML_DSA_44)
    keys = log_keys([str(OLD.vkey), str(file), str(large.vkey)])
    assert keys == {"log.example/a": (OLD.vkey, NEW.vkey), "log.example/b": (large.vkey,)}
    witnesses = (Cosigner("w.example/1", 5), Cosigner("w.example/1", 6, COSIGNATURE_ML_DSA_44))
    policy = QuorumPolicy.parse(policy_text(witnesses, keys, "http://w.example").encode())
    assert {log.key for log in policy.logs} == {OLD.vkey, NEW.vkey, large.vkey}
    for wrong, why in (
        (Cosigner("log.example/a", 1), "a witness's"),
        (Cosigner("log.example/c", 1, 1), "log.example/a and log.example/c have the same key"),
        (Cosigner("log.example/\x7f", 4, 1), "no policy may hold"),
    ):
        with pytest.raises(SettingsError, match=why):
            log_keys([str(OLD.vkey), str(wrong.vkey)])


def test_a_log_may_sign_under_another_name_than_its_origin(tmp_path: Path) -> None:
    # Source: tlog-checkpoint, "key name in its signature line SHOULD match the origin line"; the
    # Go checksum database signs "go.sum database tree" as sum.golang.org.
    origin = "a tree of ours + theirs"
    key = Cosigner("sum.example", 7, 1)
    file = tmp_path / "logs"
    replaced(file, str(OLD.vkey), f"{key.vkey} {origin}", f"{key.vkey}  another tree ")
    witness = open_witness(tmp_path / "state", [str(file)], "w.example/1")
    try:
        logs = witness.logs()
        assert logs == {
            "log.example/a": (OLD.vkey,),
            origin: (key.vkey,),
            "another tree": (key.vkey,),
        }
        text = TreeHead(origin=origin, size=3, root=root_of(LEAVES[:3])).to_text()
        signed = sign_note(text, key)
        answer = witness.answer(encode_request(0, (), signed.to_bytes()), TIME_S)
        assert answer.status == 200
        lines = parse_signature_lines(answer.body.decode())
        cosigned = signed.with_signatures(*lines)
        for signer in witness.signers:
            assert verify_cosignature(cosigned, signer.vkey) == TIME_S
        of_another = sign_note(text, OLD)
        answer = witness.answer(encode_request(3, (), of_another.to_bytes()), TIME_S)
        assert answer.status == 403, "a key counts for its own log only"
        policy = QuorumPolicy.parse(policy_text(witness.signers, logs, "http://w").encode())
        assert [log.key for log in policy.logs] == [OLD.vkey], "a policy's names are origins"
    finally:
        witness.memory.close()


def test_the_memorys_folder_is_on_disk_before_the_first_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def heard(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", heard)
    state = tmp_path / "a" / "witness"
    WitnessMemory(state).close()
    assert set(synced) == {str(tmp_path), str(tmp_path / "a"), str(state)}
    synced.clear()
    WitnessMemory(state).close()
    assert str(state) in synced, "it may have been made just before a power cut"
