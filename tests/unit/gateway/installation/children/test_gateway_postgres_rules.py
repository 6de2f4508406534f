"""The two files that say whom the embedded PostgreSQL lets in, as they are put; no server."""

import os
import pwd
import signal
import subprocess
from pathlib import Path

import pytest

from gateway.installation.children.postgres_access import HBA, IDENT, own_name, put, rules_for

ME = pwd.getpwuid(os.geteuid())


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


def test_the_rules_let_in_our_own_user_as_these_users_on_the_kernels_word() -> None:
    rules = rules_for(["countersign_login", "postgres"])
    assert rules.users == ("countersign_login", "postgres")
    assert lines(rules.hba) == [
        ["local", "all", user, "peer", "map=gateway"] for user in ("countersign_login", "postgres")
    ]
    assert lines(rules.ident) == [
        ["gateway", f'"{ME.pw_name}"', user] for user in ("countersign_login", "postgres")
    ]
    assert own_name() == ME.pw_name


def test_nobody_is_let_in_where_nobody_is_named() -> None:
    rules = rules_for([])
    assert lines(rules.hba) == lines(rules.ident) == []


def test_what_somebody_added_to_the_rules_is_gone(tmp_path: Path) -> None:
    rules = rules_for(["countersign_login"])
    assert put(rules, tmp_path, None, None) is True
    assert put(rules, tmp_path, None, None) is False
    for name, text in ((HBA, rules.hba), (IDENT, rules.ident)):
        path = tmp_path / name
        assert path.read_text() == text
        assert path.stat().st_mode & 0o777 == 0o600
        path.write_text(f"{text}host all all 0.0.0.0/0 trust\n")
        assert put(rules, tmp_path, None, None) is True
        assert path.read_text() == text
    (tmp_path / HBA).write_bytes(b"\xff no text")
    (tmp_path / f"{HBA}.new").write_text("what a crash left")
    assert put(rules, tmp_path, None, None) is True
    assert (tmp_path / HBA).read_text() == rules.hba


def test_the_rules_are_no_file_that_somebody_put_in_their_way(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / f"{HBA}.new").symlink_to(elsewhere)
    put(rules_for(["countersign_login"]), tmp_path, None, None)
    assert elsewhere.read_text() == "mine"
    assert not (tmp_path / HBA).is_symlink()


@pytest.mark.skipif(ME.pw_uid != 0, reason="only root has a server of another user")
def test_the_rules_belong_to_the_servers_user(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    put(rules_for(["countersign_login"]), tmp_path, nobody, None)
    for name in (HBA, IDENT):
        found = (tmp_path / name).stat()
        assert (found.st_uid, found.st_gid) == (nobody.pw_uid, nobody.pw_gid)


def test_a_running_server_reads_the_rules_when_they_are_others_than_before(tmp_path: Path) -> None:
    rules = rules_for(["countersign_login"])
    # a child keeps what is ignored here, as `nohup` does
    as_usual = ["/usr/bin/env", "--default-signal=HUP", "sleep", "600"]
    server = subprocess.Popen(as_usual)
    assert put(rules, tmp_path, None, None)
    assert put(rules, tmp_path, None, server.pid) is False
    assert server.poll() is None
    assert put(rules_for(["other"]), tmp_path, None, server.pid) is True
    assert server.wait(30) == -signal.SIGHUP, "whoever does not catch it ends by it"
    assert put(rules, tmp_path, None, server.pid) is True, "it ended just now"
