"""The FIX child process: ``python -m fix.session.main FD``, started by the gateway only.

When the gateway is gone (end of file on the pipe, or SIGTERM from the kernel), egress closes, and
the child exits when its live orders are swept or `sweep_timeout_s` is over. While a kill is in
force and an order is live it stays until the broker confirmed every order gone, but at most a day,
or until another child waits for its lock. Two children never share a store.
"""

import ctypes
import fcntl
import gc
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from fix.build import identity
from fix.dialects.profile import Profile, parse_profile
from fix.durable.continuity import stored_numbers
from fix.durable.inbox import Inbox, read_from
from fix.durable.journal import Journal
from fix.durable.kill_word import KillWord, monotonic_us
from fix.durable.resets import Sequence
from fix.durable.wire_log import WireLog, message_log, scrub_since
from fix.errors import FixError, JournalError, StoreInUseError
from fix.session.dictionaries import words_of
from fix.session.guard import Gate
from fix.session.initiator import INBOX_LOST, Callbacks, InitiatorSession
from fix.session.link import Frame, decode, encode, frames, number, text
from fix.session.listener import Listener, Traffic
from fix.session.sweep_worker import Parts
from fix.session.worker import SessionWorker

WATCH_S = 0.01
VITALS_S = 1.0
LOCK_MARGIN_S = 5
EXIT_MARGIN_S = 3
EXIT_CONFIG = 78
EXIT_FAULT = 70
ORPHAN_S = 86_400
_NEXT = "session.next"
_PR_SET_PDEATHSIG = 1
_EVENTS_MAX = 100_000


def wall_us() -> int:
    """Return wall clock microseconds, for ``send_before`` and TransactTime."""
    return time.time_ns() // 1000  # noqa: TID251  # this process cannot see the gateway's clock


class Outbox:
    """Queues events for the gateway; a thread writes them, so that posting never waits."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._events: queue.Queue[Frame] = queue.Queue(_EVENTS_MAX)
        threading.Thread(target=self._write, name="outbox", daemon=True).start()

    def post(self, event: Frame) -> None:
        """Queue an event, or drop it if the queue is full."""
        try:
            self._events.put_nowait(event)
        except queue.Full:
            sys.stderr.write("fix child: event dropped, the gateway does not read\n")

    def drain(self, timeout_s: float) -> None:
        """Wait for queued events to be written, up to `timeout_s`."""
        until = time.monotonic() + timeout_s
        while self._events.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            event = self._events.get()
            try:
                self._link.sendall(encode(event))
            except OSError:
                return  # the reader sees the end of file and acts on it
            self._events.task_done()


def die_with_parent() -> bool:
    """Ask the kernel for SIGTERM when the parent ends; return False if it has ended already."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return os.getppid() == parent


def lock_store(folder: Path, patience_s: float) -> int:
    """Take the session's lock and return its descriptor, which must stay open.

    Raises:
        StoreInUseError: another child still holds it after `patience_s`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "session.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    waiting = os.open(folder / _NEXT, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(waiting, fcntl.LOCK_SH)
    until = time.monotonic() + patience_s
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > until:
                    raise StoreInUseError(path=str(path)) from None
                time.sleep(0.02)
            else:
                return descriptor
    finally:
        os.close(waiting)


def successor_waits(folder: Path) -> bool:
    """Return whether another child waits for this one's lock; for one thread only."""
    descriptor = os.open(folder / _NEXT, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def open_journal(path: Path) -> tuple[Journal, bool]:
    """Return the journal and whether a damaged one was set aside."""
    try:
        return Journal(path), False
    except JournalError as error:
        sys.stderr.write(f"fix child: {error}\n")
        path.replace(path.with_suffix(f".damaged-{path.stat().st_mtime_ns}"))
        return Journal(path), True


def build_worker(
    profile: Profile, folder: Path, kill_word: Path, outbox: Outbox, *, last_reset: int = 0
) -> SessionWorker:
    """Open every part inside `folder` and say hello; nothing connects yet."""
    for name in ("store", "log"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    word = KillWord(kill_word)
    inbox = Inbox(folder / "inbox")
    journal, damaged = open_journal(folder / "journal")
    gate = Gate(word.read, wall_us, monotonic_us)
    workers: list[SessionWorker] = []
    listener = Listener(
        received=lambda entry: workers[0].received(entry),  # noqa: PLW0108  # set below
        logged_on=lambda logon_no: workers[0].logged_on(logon_no),  # noqa: PLW0108
        logged_off=lambda reason: workers[0].logged_off(reason),  # noqa: PLW0108
        fault=lambda where, detail: _tell_fault(outbox, where, detail),
        reset=lambda found: workers[0].reset(found),  # noqa: PLW0108
        heartbeat=lambda test_req_id: workers[0].heartbeat(test_req_id),  # noqa: PLW0108
    )
    scrub_since(message_log(profile, folder), folder / "log.scrubbed")
    wire = WireLog(message_log(profile, folder), profile.target_comp_id)
    stored = stored_numbers(folder)
    sequence = Sequence(folder, profile, wall_us, stored=stored, on_record=last_reset)
    callbacks = Callbacks(gate, inbox, wire, listener, sequence)
    session = InitiatorSession(profile, folder, callbacks)
    session.opened()  # the gateway reads a reset from the file `resets`, before any logon
    worker = SessionWorker(
        Parts(
            profile=profile,
            session=session,
            gate=gate,
            journal=journal,
            inbox=inbox,
            word=word,
            post=outbox.post,
            monotonic_us=monotonic_us,
            wall_us=wall_us,
        )
    )
    workers.append(worker)
    offset = journal.inbox_offset
    while entries := read_from(folder / "inbox", offset):
        worker.catch_up(entries)
        offset = entries[-1].next_offset
    worker.forget_strangers()
    sender, target = session.numbers()
    outbox.post(
        {
            "ev": "hello",
            "next_sender": sender,
            "next_target": target,
            "live": [order.cl_ord_id for order in journal.live()],
            "damaged": damaged,
            **identity(profile, words_of(profile)),
        }
    )
    threading.Thread(target=_watch, args=(word, worker), name="kill watch", daemon=True).start()
    watched = (session, callbacks.traffic, outbox)
    threading.Thread(target=_tell_vitals, args=watched, name="vitals", daemon=True).start()
    return worker


def _tell_fault(outbox: Outbox, where: str, detail: str) -> None:
    outbox.post({"ev": "fault", "where": where, "detail": detail})
    if where == INBOX_LOST:
        outbox.drain(0.2)  # the process ends as soon as this returns


def _tell_vitals(session: InitiatorSession, traffic: Traffic, outbox: Outbox) -> None:
    """Tell the gateway every second what went over the session."""
    while True:
        time.sleep(VITALS_S)
        sender, target = session.numbers()
        numbers: Frame = {"next_sender": sender, "next_target": target}
        outbox.post({"ev": "vitals", **numbers, **traffic.frame()})


def _watch(word: KillWord, worker: SessionWorker) -> None:
    """Wake the worker for each press of the kill word; the gate reads the word itself."""
    seen = -1
    while True:
        state = word.read()
        if state.killed and state.kill_epoch != seen:
            seen = state.kill_epoch
            worker.wake()
        time.sleep(WATCH_S)


def _read_commands(
    link: socket.socket, worker: SessionWorker, orphan: Callable[[str], None]
) -> None:
    try:
        for frame in frames(link):
            if frame.get("op") == "kill":
                worker.confirm_kill(frame)
            elif frame.get("op") == "drill":
                worker.confirm_drill(frame)
            else:
                worker.command(frame)
    except FixError as error:
        orphan(str(error))
    orphan("the gateway is gone")


def install_signals(on_terminate: Callable[[], None]) -> None:
    """Ignore SIGINT and handle SIGTERM; importing quickfix sets SIGINT to its C default.

    Ctrl-C is the gateway's; the pipe shows when it ends. The kernel also sends SIGTERM then.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: on_terminate())


def leave_in_time(worker: SessionWorker, folder: Path, rest_s: float) -> None:
    """End this process when its time is over; the next child continues from the journal."""
    began = time.monotonic()
    while True:
        age_s = time.monotonic() - began
        stays = worker.goes_on and age_s < ORPHAN_S and folder.exists()
        if (age_s > rest_s and not stays) or (stays and successor_waits(folder)):
            os._exit(0)
        time.sleep(0.1)


def _first_line(link: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = link.recv(1)
        if not piece:
            break
        line += piece
    return line


def main(arguments: list[str]) -> int:
    """Run the child until it is stopped or its parent is gone; return the exit code."""
    link = socket.socket(fileno=int(arguments[0]))
    if not die_with_parent():
        return 0
    outbox = Outbox(link)
    try:
        frame = decode(_first_line(link))
        profile = parse_profile(text(frame, "profile"))
        folder = Path(text(frame, "folder"))
        lock = lock_store(folder, profile.pace.sweep_timeout_s + LOCK_MARGIN_S)
        worker = build_worker(
            profile,
            folder,
            Path(text(frame, "kill_word")),
            outbox,
            last_reset=number(frame, "last_reset"),
        )
    except (FixError, OSError) as error:
        sys.stderr.write(f"fix child: {error}\n")
        outbox.post({"ev": "fault", "where": "start", "detail": str(error)})
        outbox.drain(0.2)
        return EXIT_CONFIG

    leaving = threading.Lock()  # taken once: two threads in `successor_waits` see each other

    def orphan(why: str) -> None:
        worker.orphaned(why)
        if not leaving.acquire(blocking=False):
            return
        rest_s = profile.pace.sweep_timeout_s + EXIT_MARGIN_S
        threading.Thread(target=leave_in_time, args=(worker, folder, rest_s), daemon=True).start()

    gc.freeze()  # what is loaded by now stays; a collection must not fall between go and wire
    install_signals(lambda: orphan("told to terminate"))
    threading.Thread(
        target=_read_commands, args=(link, worker, orphan), name="commands", daemon=True
    ).start()
    worker.run()
    outbox.drain(0.5)
    os.close(lock)
    return 0


if __name__ == "__main__":
    code = EXIT_FAULT
    try:
        code = main(sys.argv[1:])
    finally:
        sys.stderr.flush()
        os._exit(code)  # quickfix's threads and destructors get no chance to hang the exit
