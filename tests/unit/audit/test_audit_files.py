"""A file that somebody asked for: only a new name or a regular file is ever taken."""

import os
import socket
import stat
from pathlib import Path

import pytest

from audit.errors import FileError
from audit.files import PRIVATE, STDOUT, appearing, beside


@pytest.fixture(params=["fifo", "device", "socket", "folder", "link"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Something of each kind that a rename would have taken away; never a real device's name."""
    path: Path = tmp_path / str(request.param)
    match request.param:
        case "device":
            try:
                os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            except PermissionError:
                pytest.skip("only root makes devices")
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        case "folder":
            path.mkdir()
        case "link":
            os.mkfifo(tmp_path / "end")
            path.symlink_to("end")
        case _:
            os.mkfifo(path)
    return path


def test_what_is_no_file_is_refused_and_stays(no_file: Path) -> None:
    before = no_file.lstat()
    with pytest.raises(FileError) as refused, appearing(no_file):
        pytest.fail("it was opened")
    assert str(no_file) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert (no_file.lstat().st_ino, no_file.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not list(no_file.parent.glob("*.part"))


def test_what_comes_there_meanwhile_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def overtaken() -> None:
        with appearing(path) as file:
            file.write(b"all")
            os.mkfifo(path)

    with pytest.raises(FileError):
        overtaken()
    assert path.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_name_and_a_file_are_written_whole_or_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with appearing(path, PRIVATE) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    assert stat.S_IMODE(path.stat().st_mode) == PRIVATE

    def interrupted() -> None:
        with appearing(path) as file:
            file.write(b"two")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(tmp_path / "there" / name)
    (tmp_path / "there" / "old").write_bytes(b"before")
    for name in ("old", "new"):
        with appearing(tmp_path / name) as file:
            file.write(name.encode())
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == name.encode()


def test_a_dash_is_standard_output(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with appearing(STDOUT) as file:
        file.write(b"\x00all")
    beside(STDOUT).write("said\n")
    beside(tmp_path).write("told\n")
    assert capsysbinary.readouterr() == (b"\x00alltold\n", b"said\n")
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written_the_name_asked_for_is_said(tmp_path: Path) -> None:
    path = tmp_path / "none" / "bundle.zip"
    with pytest.raises(FileNotFoundError) as refused, appearing(path):
        pass
    assert refused.value.filename == str(path)
