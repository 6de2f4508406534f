"""What people bring to a check by mistake is named in words, and changes no verdict."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from audit.signers.file import FileSigner, public_file
from gateway.cli.main import app
from tests.doubles.audit_log import ORIGIN, OTHER_SIGNER, SIGNER, dump_of, small_log

JUDGES = ("verify", "fsck")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump"
    path.write_bytes(b"".join(dump_of(small_log())))
    return path


def judged(verb: str, *arguments: object) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, [verb, *map(str, arguments)])
    return result.exit_code, result.stdout.splitlines()


@pytest.mark.parametrize("verb", JUDGES)
def test_a_key_of_another_log_is_said_once_and_outweighs_nothing(verb: str, dump: Path) -> None:
    assert judged(verb, "--dump", dump, "--key", SIGNER.vkey)[0] == 0
    other = FileSigner.generate(dump.with_name("other.key"), "other.example/log").vkey
    code, said = judged(verb, "--dump", dump, "--key", other)
    assert code == 1
    wrong = f"TAMPERED: the key is for log other.example/log, this log is {ORIGIN}"
    assert [line for line in said if line.startswith("TAMPERED")] == [wrong, wrong]
    code, said = judged(verb, "--dump", dump, "--key", other, "--key", SIGNER.vkey)
    assert code == 0, said
    code, said = judged(verb, "--dump", dump, "--key", OTHER_SIGNER.vkey)
    assert code == 1
    assert "signed by no trusted key" in said[-1], "a key of this log's name is another matter"


@pytest.mark.parametrize("verb", JUDGES)
def test_a_private_key_is_refused_by_name(verb: str, dump: Path) -> None:
    path = dump.with_name("log.key")
    FileSigner.generate(path, ORIGIN)
    code, said = judged(verb, "--dump", dump, "--key", path)
    assert code == 3
    assert "private key" in said[-1]
    assert str(public_file(path)) in said[-1]


@pytest.mark.parametrize("verb", JUDGES)
def test_what_is_no_key_is_named(verb: str, dump: Path) -> None:
    text = dump.with_name("notes.txt")
    text.write_text("notes of a meeting\n")
    for given, why in ((text, "key"), (dump.with_name("none"), "No such file"), ("a+b", "key")):
        code, said = judged(verb, "--dump", dump, "--key", given)
        assert code == 3
        assert said[-1].startswith(f"NOT CHECKABLE: --key {given!s:.100}: ")
        assert why in said[-1].rpartition(": ")[2]


@pytest.mark.parametrize("verb", JUDGES)
def test_what_was_given_by_mistake_is_named_and_no_dump_is_not_tampered(
    verb: str, dump: Path
) -> None:
    text = dump.with_name("notes.txt")
    text.write_text("notes of a meeting\n")
    for option in ("--policy", "--checkpoint", "--rotation"):
        code, said = judged(verb, "--dump", dump, "--key", SIGNER.vkey, option, text)
        assert code == 3
        assert said[-1].startswith(f"NOT CHECKABLE: {option} {text}: ")
    code, said = judged(verb, "--dump", text, "--key", SIGNER.vkey)
    assert (code, said[-1]) == (
        3,
        f"NOT CHECKABLE: {text} is not a dump: `countersign dump` writes one",
    )
    os.mkfifo(pipe := dump.with_name("pipe"))  # read twice, it would be waited for without an end
    code, said = judged(verb, "--dump", pipe, "--key", SIGNER.vkey)
    assert (code, said[-1].partition(" is ")[2]) == (
        3,
        "a pipe or a device: save what comes from it to a file first",
    )
    assert not list(dump.parent.glob("*.fsck"))


def test_fsck_refuses_what_it_cannot_do(dump: Path) -> None:
    key = ("--key", SIGNER.vkey)
    before = sorted(dump.parent.iterdir())
    for given, word in (
        (("--tiles", dump), "is not a folder"),
        (("--tiles", dump.with_name("none")), "is not a folder"),
        (("--dump", dump, "--no-payloads"), "--no-payloads"),
    ):
        code, said = judged("fsck", *given, *key)
        assert code == 3
        assert said[-1].startswith("NOT CHECKABLE: ")
        assert word in said[-1]
    assert sorted(dump.parent.iterdir()) == before
