"""The world that a crash test breaks: one embedded PostgreSQL, perhaps on a disk of its own.

The server is the gateway's own (`OpenPostgres`), started through a wrapper that puts
`disk_shim.c` in front of its disk calls. With `on_image` its files live on a small ext4 image,
which can lose its power and can really be full.

Not here: who writes (ledger_writer), what goes wrong when (ledger_faults).
"""

import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
from typing_extensions import override

from audit.errors import LedgerUnsafeError
from audit.store.connection import SEQUENCER_LOCK
from audit.store.tables import migrate
from gateway.errors import PostgresError
from gateway.installation.children.postgres import SERVICE_USER
from tests.doubles.open_postgres import OpenPostgres

SHIM_SOURCE = Path(__file__).with_name("disk_shim.c")
IMAGE_BYTES = 640 * 2**20
MEMORY_BYTES_MIN = 4 * 2**30
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
UP_WITHIN_S = 60.0
STUCK_AFTER_S = 0.8
TEMPLATE = "countersign"
# A small log is recycled soon, so that a full disk is met; and what is not flushed by a commit
# stays in memory, so that a commit that does not wait for the disk is lost for certain.
SETTINGS: Mapping[str, str] = {
    "wal_writer_delay": "10000",
    "wal_writer_flush_after": "1GB",
    "autovacuum": "off",
    "min_wal_size": "32MB",
}


class MissingToolError(Exception):
    """This machine has not what a fault needs."""


def scratch_folder() -> Path:
    """Make a folder for a run, in memory if there is room.

    No crash here depends on the disk below: a killed process leaves the page cache alone, and a
    power cut drops what did not reach the image's own blocks. On a busy disk a restart takes ten
    times as long.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > MEMORY_BYTES_MIN
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=memory if roomy else None))
    folder.chmod(0o711)
    return folder


def build_shim(folder: Path) -> Path:
    """Compile the failing disk.

    Raises:
        MissingToolError: there is no C compiler.
    """
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise MissingToolError("no C compiler")
    library = folder / "disk_shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library)]
    subprocess.run([*command, str(SHIM_SOURCE), "-ldl"], check=True)
    library.chmod(0o755)
    return library


def check_images(folder: Path) -> None:
    """Try once whether an ext4 image can be mounted and shut down here.

    Raises:
        MissingToolError: names what is missing.
    """
    if os.geteuid() != 0:
        raise MissingToolError("not root")
    for tool in ("mkfs.ext4", "mount", "umount"):
        if shutil.which(tool) is None:
            raise MissingToolError(f"no {tool}")
    disk = Image(folder / "try.img", folder / "try")
    try:
        disk.make(64 * 2**20)
        disk.cut_power()
    except (subprocess.CalledProcessError, OSError) as error:
        raise MissingToolError(f"no loop device or no ext4: {error}") from error
    finally:
        disk.unmount()
        disk.file.unlink(missing_ok=True)


class Image:
    """An ext4 file system in a file."""

    def __init__(self, file: Path, mount: Path) -> None:
        """Say where; nothing is made yet."""
        self.file = file
        self.mount = mount

    def make(self, size: int) -> None:
        """Make the file system and mount it; its root belongs to the database's user."""
        self.mount.mkdir(mode=0o711)
        with self.file.open("wb") as file:
            file.truncate(size)
        owner = pwd.getpwnam(SERVICE_USER)
        _run("mkfs.ext4", "-q", "-E", f"root_owner={owner.pw_uid}:{owner.pw_gid}", str(self.file))
        self.remount()

    def remount(self) -> None:
        """Mount it; the journal is replayed as after a power cut."""
        _run("mount", "-o", "loop", str(self.file), str(self.mount))

    def cut_power(self) -> None:
        """Drop everything that did not reach the disk; only unmounting works from here on."""
        handle = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(handle)

    def unmount(self) -> None:
        """Unmount it if it is mounted; the last process on it may still be going."""
        deadline = time.monotonic() + 20.0
        while os.path.ismount(self.mount):
            done = subprocess.run(
                ["umount", str(self.mount)], check=False, capture_output=True, text=True
            )
            if done.returncode != 0 and time.monotonic() > deadline:
                raise MissingToolError(f"cannot unmount: {done.stderr.strip()}")
            if done.returncode != 0:
                time.sleep(0.05)

    def fill(self) -> Path:
        """Take all the space that is left; removing the returned file gives it back."""
        filler = self.mount / "filler"
        free = os.statvfs(self.mount)
        blocks = free.f_bfree
        with filler.open("wb") as file:
            while blocks > 0:
                try:
                    os.posix_fallocate(
                        file.fileno(), os.fstat(file.fileno()).st_size, blocks * 4096
                    )
                except OSError:
                    blocks //= 2
        return filler


class ShimmedPostgres(OpenPostgres):
    """The gateway's server behind the failing disk."""

    def __init__(self, state_dir: Path, shim: Path | None, forced: Mapping[str, str]) -> None:
        """Say where it lives.

        Args:
            state_dir: the state folder.
            shim: the compiled failing disk, None without one.
            forced: settings that even the gateway's own do not override.
        """
        super().__init__(state_dir, SETTINGS)
        self.flags = self._state / "flags"
        self._shim = shim
        self._forced = {"max_wal_size": "64MB", **forced}

    @override
    def _binaries(self) -> Path:
        real = super()._binaries()
        wrapped = self._state / "bin"
        if not wrapped.exists():
            wrapped.mkdir(mode=0o755)
            (wrapped / "initdb").symlink_to(real / "initdb")
        self.flags.mkdir(exist_ok=True)
        self.flags.chmod(0o777)
        forced = " ".join(f"--{name}={value}" for name, value in self._forced.items())
        lines = [
            "#!/bin/sh",
            f"export DISK_SHIM={self.flags}",
            f"export LD_PRELOAD={self._shim}" if self._shim else "",
            f'exec {real / "postgres"} "$@" {forced}',
        ]
        script = wrapped / "postgres"
        script.write_text("\n".join([*lines, ""]), encoding="utf-8")
        script.chmod(0o755)
        return wrapped

    def reap(self) -> None:
        """Collect our dead child, if it is dead."""
        if self._child is not None:
            self._child.poll()


class World:
    """One server with one template database, and databases copied from it."""

    def __init__(
        self,
        folder: Path,
        *,
        shim: Path | None = None,
        on_image: bool = False,
        forced: Mapping[str, str] | None = None,
        up_within_s: float = UP_WITHIN_S,
    ) -> None:
        """Start the server and migrate the template; `close` it when done.

        Args:
            folder: for everything; must not exist.
            shim: the compiled failing disk, None without one.
            on_image: put the server's files on an ext4 image.
            forced: server settings that nothing overrides.
            up_within_s: how long a start may take.
        """
        folder.mkdir(mode=0o711)
        self.folder = folder
        self.shim = shim
        self.image = Image(folder / "disk.img", folder / "pg") if on_image else None
        if self.image is not None:
            self.image.make(IMAGE_BYTES)
            self.image.mount.chmod(0o700)
        self._server = ShimmedPostgres(folder, shim, forced or {})
        self.stuck = 0
        self._up_within_s = up_within_s
        self._admin = self._server.start(UP_WITHIN_S)
        migrate(self._admin)

    def new_database(self, name: str) -> str:
        """Copy the template and return the copy's DSN."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}".encode())
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is connected."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def dsn(self, name: str) -> str:
        """Return a superuser's DSN of a database."""
        server, _, options = self._admin.partition("?")
        return f"{server.rpartition('/')[0]}/{name}?{options}"

    @property
    def postmaster(self) -> int | None:
        """The postmaster's process id, None when none is alive."""
        self._server.reap()
        return self._server.pid

    def processes(self) -> list[int]:
        """Return the processes that work in the data folder, the postmaster's among them."""
        home = (self.folder / "pg" / "data").resolve()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if (entry / "cwd").readlink() == home:
                        found.append(int(entry.name))
        return found

    @staticmethod
    def sequencer_backend(dsn: str) -> int | None:
        """Return the server process of the sequencer that holds the log.

        One that was replaced may go on asking for the lock on an older connection; where nobody
        holds the lock, as a mutant that takes none, the oldest connection is meant.
        """
        try:
            with psycopg.connect(dsn, connect_timeout=3) as connection:
                row = connection.execute(
                    "SELECT pid FROM pg_stat_activity AS one WHERE application_name ="
                    " 'countersign-sequencer' AND datname = current_database()"
                    " ORDER BY EXISTS (SELECT FROM pg_locks AS held WHERE held.pid = one.pid"
                    " AND locktype = 'advisory' AND objid = %s AND granted) DESC,"
                    " backend_start LIMIT 1",
                    (SEQUENCER_LOCK,),
                ).fetchone()
        except psycopg.Error:
            return None
        return None if row is None else int(row[0])

    def ensure_up(self) -> None:
        """Start the server if it is down, and wait until it takes connections.

        A postmaster can be stuck: when recovery itself fails while the server restarts after a
        crash, PostgreSQL 18.4 answers "in recovery mode" for ever, without a process that
        recovers. An operator would kill it, and so does this; `stuck` counts them.
        """
        deadline = time.monotonic() + self._up_within_s
        while True:
            try:
                self._server.start(STUCK_AFTER_S)
                return
            except (LedgerUnsafeError, PostgresError, psycopg.OperationalError):
                if time.monotonic() > deadline:
                    raise
                if not any(b"startup" in title for title in map(_title, self.processes())):
                    self.stuck += 1
                    self.kill()

    def kill(self) -> None:
        """Kill every process of the server at once."""
        for pid in self.processes():
            signal_process(pid, signal.SIGKILL)
        self.wait_until_gone()

    def wait_until_gone(self, within_s: float = 20.0) -> bool:
        """Wait until no process works in the data folder; say whether that came."""
        deadline = time.monotonic() + within_s
        while self.processes():
            if time.monotonic() > deadline:
                return False
            self._server.reap()
            time.sleep(0.01)
        self._server.reap()
        return True

    @contextlib.contextmanager
    def flag(self, name: str) -> Iterator[Path]:
        """Raise a flag of the failing disk; it is taken down in the end."""
        path = self._server.flags / name
        path.touch()
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def power_cut(self) -> None:
        """Cut the power of the image's machine, and give it back."""
        assert self.image is not None
        self.image.cut_power()
        self.kill()
        self.image.unmount()
        self.image.remount()

    def close(self) -> None:
        """Stop the server and remove everything."""
        self.kill()
        self._server.stop()
        if self.image is not None:
            self.image.unmount()
        shutil.rmtree(self.folder, ignore_errors=True)


def signal_process(pid: int, sign: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sign)


def _title(pid: int) -> bytes:
    """Return what a process calls itself."""
    with contextlib.suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    return b""


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
