"""Folders and bundles of odd files: every verifier comes to an end, and to the same one."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from audit.verifier import verify
from audit.verifier.verify import NOT_CHECKABLE
from tests.doubles.audit_log import SIGNER
from tests.doubles.evidence_collection import FOLDER
from tests.doubles.evidence_limits import OddLog
from tests.doubles.evidence_maps import STREAM, bundle_of
from tests.integration.audit.verifier.test_audit_verify_js import both_say, command_line

KEY = ["--key", str(SIGNER.vkey)]
ENTRIES = "tile/entries/000.p/12"
HASHES = "tile/0/000.p/12"
BLOBS = 66_000
"""More files than an old ZIP may have, and than a call in JavaScript may have arguments."""


def put(folder: Path, path: str, sort: str) -> None:
    """Put something else in the place of a file."""
    place = folder / path
    data = place.read_bytes()
    place.unlink()
    match sort:
        case "pipe":
            os.mkfifo(place)
        case "device":
            place.symlink_to("/dev/zero")
        case "folder":
            place.mkdir()
        case "loop":
            place.symlink_to(place.name)
        case "link":
            (folder / "aside").write_bytes(data)
            place.symlink_to(folder / "aside")
        case _:
            place.write_bytes(data)
            os.truncate(place, 1 << 36)  # sparse: reading it whole would not end well


def test_a_folder_of_tiles_is_read_as_far_as_it_has_plain_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = []
    for path, missing in (
        ("checkpoint", verify.NOT_CHECKABLE),
        (ENTRIES, verify.INCOMPLETE),
        (HASHES, verify.INCOMPLETE),
    ):
        for sort in ("pipe", "device", "folder", "loop", "link", "endless"):
            name = f"{sort}-{path.replace('/', '-')}"
            shutil.copytree(FOLDER / "tiles-small", tmp_path / name)
            put(tmp_path / name, path, sort)
            code = {"link": verify.OK, "endless": verify.TAMPERED}.get(sort, missing)
            questions.append((name, KEY, code))
    monkeypatch.chdir(tmp_path)
    both_say(questions, {})


def test_a_bundle_may_have_more_files_than_an_old_zip(tmp_path: Path) -> None:
    odd, blobs = OddLog(), [b"%d" % number for number in range(BLOBS)]
    digests = [sha256(data).hexdigest() for data in blobs]
    for at in range(0, BLOBS, 800):
        named = [{"x_blob": digest} for digest in digests[at : at + 800]]
        odd.add(STREAM, "operator_note", {"blobs": named})
    log = odd.add(STREAM, "decision_sealed", {}).signed()
    log.blobs = {sha256(data).digest(): data for data in blobs}
    (tmp_path / "many.zip").write_bytes(bundle_of(log, range(len(log.rows))))
    ended, lines = command_line(str(tmp_path / "many.zip"), *KEY)
    assert ended == verify.OK, lines


def test_what_is_no_evidence_or_can_be_read_once_only_is_not_checkable(tmp_path: Path) -> None:
    words, pipe = tmp_path / "README.md", tmp_path / "pipe"
    words.write_text("# how to\n\nread this\n")
    os.mkfifo(pipe)
    for path in (words, pipe):
        assert command_line(str(path), *KEY)[0] == verify.main([str(path), *KEY]) == NOT_CHECKABLE
    with (FOLDER / "d1.zip").open("rb") as file:
        fed = subprocess.run(["/bin/cat"], stdin=file, stdout=subprocess.PIPE, check=True)
    piped = subprocess.run(
        [sys.executable, verify.__file__, "/dev/stdin", *KEY], input=fed.stdout, check=False
    )
    assert piped.returncode == NOT_CHECKABLE


def test_a_verdict_that_nobody_hears_is_not_checkable() -> None:
    call = [sys.executable, verify.__file__, str(FOLDER / "d1.zip"), *KEY]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == NOT_CHECKABLE
    assert done.stderr.startswith("NOT CHECKABLE: the report cannot be written")
    assert "Traceback" not in done.stderr
    reading, writing = os.pipe()
    os.close(reading)
    heard = subprocess.run(call, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert heard.returncode == NOT_CHECKABLE
