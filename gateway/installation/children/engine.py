"""Supervisor of the engine child.

Rules:

- A failure of the engine delays only callers of `sample`, and only to their deadline.
- What would not be answered in its deadline, at the speed that the engine has, is refused and not
  begun; what finds the engine idle is always tried, or one slow measure would refuse for ever.
- At a deadline the request is aborted. The thread that steps beats once a second: a child is killed
  when the beat has stopped and two deadlines were missed, or when it has stopped for a minute. A
  busy one that beats is never killed: its death would cost everybody's forecast.
- After a death the child is restarted with a back-off of 1 to 60 seconds. Five deaths in ten
  minutes end in FAILED, until a person restarts the gateway.
- A failed self-test, or another build or model than ours, is final: REFUSING, without a restart.
- An answer must be a whole, canonical capture that belongs to the request and recomputes from its
  own numbers; anything else ends the child.
"""

import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Condition, Event, Lock, Thread

from gateway.installation.children.child import ChildProcess, Handshake
from gateway.installation.children.engine_pace import EnginePace
from gateway.installation.children.engine_process import (
    EngineChildConfig,
    own_identity,
    spawn,
    table_of,
)
from inference.engine.frames import (
    Frame,
    description_from,
    read_frame,
    request_fields,
    samples_from,
    write_frame,
)
from inference.engine.port import (
    EngineDescription,
    EngineState,
    SampleRequest,
    Samples,
)
from inference.errors import (
    EngineBusyError,
    EngineDeadError,
    EngineDeadlineError,
    EngineError,
    EngineFailedError,
    EngineRefusedError,
    FrameError,
    InferenceError,
)

_CODES = {EngineRefusedError.code: EngineRefusedError, FrameError.code: EngineRefusedError}

_LOOK_S = 0.1
_STOOD_STILL_S = 1.0
_WRITE_TIMEOUT_S = 1.0
"""A child that stops reading must not hold a caller for longer."""

EventSink = Callable[[str, Mapping[str, str]], None]


@dataclass(slots=True)
class _Pending:
    request: SampleRequest
    limit: float  # monotonic clock
    done: Event = field(default_factory=Event)
    samples: Samples | None = None
    error: EngineError | None = None


class EngineChild:
    """The engine in a process of its own. Any thread may call `sample`."""

    def __init__(self, config: EngineChildConfig, on_event: EventSink | None = None) -> None:
        """Prepare; `start` starts it.

        `on_event` is called from the supervisor's threads with "started", "ready", "refusing",
        "deadline_missed", "killed", "died", "restarting", "failed" or "stopped".

        Raises:
            RegistryError: the model pair or the drafter's table cannot be read.
        """
        self._config = config
        self._on_event = on_event or (lambda _event, _detail: None)
        self._table = table_of(config.engine)
        self.agreement = Handshake("engine child", own_identity(config))
        self._changed = Condition(Lock())
        self._state = EngineState.STOPPED
        self._refusal = ""
        self._description: EngineDescription | None = None
        self._pending: dict[str, _Pending] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._killed: subprocess.Popen[bytes] | None = None  # one kill is told once
        self._pipe: ChildProcess | None = None
        self._missed = 0
        self.pace = EnginePace(clock=time.monotonic)
        self._deaths: deque[float] = deque()
        self._stopping = Event()
        self._thread: Thread | None = None

    @property
    def state(self) -> EngineState:
        """The engine's state."""
        return self._state

    @property
    def pid(self) -> int | None:
        """The child's process id while it lives."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        """Start the child and its supervisor; return at once."""
        if self._thread is not None:
            return
        self._set(EngineState.STARTING)
        self._thread = Thread(target=self._supervise, name="engine", daemon=True)
        self._thread.start()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until the engine serves or will not; return whether it serves."""
        final = (EngineState.READY, EngineState.REFUSING, EngineState.FAILED)
        with self._changed:
            self._changed.wait_for(lambda: self._state in final, timeout_s)
            return self._state is EngineState.READY

    def stop(self) -> None:
        """End the child; pending requests fail."""
        self._stopping.set()
        self._tell(write_frame(Frame(op="stop")))
        process = self._process
        if process is not None:
            try:
                process.wait(2.0 if self._state is EngineState.READY else 0.0)
            except subprocess.TimeoutExpired:
                process.kill()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)
        self._set(EngineState.STOPPED)
        self._event("stopped")

    def describe(self) -> EngineDescription:
        """Return the engine's description, as `Engine.describe`."""
        if self._state is EngineState.FAILED:
            raise EngineFailedError("the engine died too often")
        if self._description is None:
            raise EngineDeadError(f"the engine is {self._state}")
        return self._description

    @property
    def refusal(self) -> str:
        """The reason why the engine refuses to serve, or ""."""
        return self._refusal

    def sample(self, request: SampleRequest) -> Samples:
        """Return every trajectory of a request, as `Engine.sample`.

        Raises:
            FrameError: when the request is too long for a frame.
        """
        self._refuse_late(request.deadline_s, request.size)
        return self._answered(self._asked(request))

    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        """Return a request's samples, and its twin's or why there are none.

        Both wait for their own deadlines, from now. One silence is one missed deadline: a request
        that is given up takes its twin with it, which counts as nothing.

        Raises:
            FrameError: when the request is too long for a frame.
        """
        self._refuse_late(request.deadline_s, request.size + twin.size)
        own = self._asked(request)
        try:
            beside: _Pending | EngineError = self._asked(twin)
        except EngineError as error:
            beside = error
        try:
            samples = self._answered(own)
        except EngineError:
            if isinstance(beside, _Pending):
                self._drop(beside)
            raise
        try:
            return samples, beside if isinstance(beside, EngineError) else self._answered(beside)
        except EngineError as error:
            return samples, error

    def _refuse_late(self, deadline_s: float, tokens: int) -> None:
        """Refuse what would end after its deadline.

        Raises:
            EngineBusyError: what is pending and this take longer.
        """
        with self._changed:
            pending = sum(one.request.size for one in self._pending.values())
        needs_s = self.pace.needs_s(tokens, pending)
        if needs_s > deadline_s:
            raise EngineBusyError(f"it would take {needs_s:.1f} s, {deadline_s:g} s are allowed")

    def _asked(self, request: SampleRequest) -> _Pending:
        """Send a request to the child."""
        frame = write_frame(Frame(op="sample", fields={"request": request_fields(request)}))
        pending = _Pending(request, limit=time.monotonic() + request.deadline_s)
        with self._changed:
            self._require_ready()
            if request.request_id in self._pending:
                raise EngineRefusedError(f"request {request.request_id} is already running")
            self._pending[request.request_id] = pending
        self.pace.asked(request.size)
        self._tell(frame)
        return pending

    def _answered(self, pending: _Pending) -> Samples:
        """Wait for the answer to a request."""
        request = pending.request
        if not pending.done.wait(max(0.0, pending.limit - time.monotonic())):
            self._miss(pending)
        if pending.error is not None:
            raise pending.error
        if pending.samples is None:
            raise EngineDeadlineError(f"{request.request_id}: not within {request.deadline_s} s")
        return pending.samples

    def _drop(self, pending: _Pending) -> None:
        """Give up a request whose answer nobody needs."""
        with self._changed:
            if self._pending.pop(pending.request.request_id, None) is None:
                return
        self._tell(write_frame(Frame(op="abort", fields={"id": pending.request.request_id})))

    def _require_ready(self) -> None:
        match self._state:
            case EngineState.READY if self._pipe is not None:
                return
            case EngineState.READY:  # `_fail_pending` is next, and fails only what came before
                raise EngineDeadError("the engine has ended")
            case EngineState.FAILED:
                raise EngineFailedError("the engine died too often")
            case EngineState.REFUSING:
                raise EngineRefusedError(self._refusal)
            case _:
                raise EngineDeadError(f"the engine is {self._state}")

    def _miss(self, pending: _Pending) -> None:
        """Give up a request; whoever watches kills the child if it shows no life meanwhile."""
        with self._changed:
            if self._pending.pop(pending.request.request_id, None) is None:
                return  # it was answered just now
            self._missed += 1
            missed = self._missed
        self._event("deadline_missed", request=pending.request.request_id, missed=str(missed))
        self._tell(write_frame(Frame(op="abort", fields={"id": pending.request.request_id})))

    def _kill(self, why: str) -> None:
        process = self._process
        if process is not None and process is not self._killed and process.poll() is None:
            self._killed = process
            self._event("killed", reason=why)
            process.send_signal(signal.SIGKILL)

    def _tell(self, frame: bytes) -> None:
        pipe = self._pipe
        if pipe is None:
            return
        try:
            pipe.write(frame, _WRITE_TIMEOUT_S)
        except OSError:  # the child is gone, or does not read
            self._kill("does not read its pipe")

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            try:
                reason = self._live_once()
            except OSError as error:  # no process, descriptor or log left
                reason = f"could not be started: {error}"
            self._fail_pending(EngineDeadError(reason))
            if self._stopping.is_set() or self._state is EngineState.REFUSING:
                return
            self._event("died", reason=reason)
            delay = self._after_death()
            if delay is None:
                self._set(EngineState.FAILED)
                self._event("failed", deaths=str(len(self._deaths)))
                return
            self._set(EngineState.RESTARTING)
            self._event("restarting", delay_s=f"{delay:.1f}")
            self._stopping.wait(delay)

    def _after_death(self) -> float | None:
        """Return the back-off in seconds; None after too many deaths."""
        now = time.monotonic()
        self._deaths.append(now)
        while self._deaths and now - self._deaths[0] > self._config.death_window_s:
            self._deaths.popleft()
        if len(self._deaths) >= self._config.max_deaths:
            return None
        delay = self._config.back_off_first_s * 2.0 ** (len(self._deaths) - 1)
        return min(delay, self._config.back_off_most_s)

    def _live_once(self) -> str:
        self._missed = 0
        self.pace.begin()
        self._set(EngineState.STARTING)
        self._pipe = child = spawn(self._config)
        self._process = child.process
        if self._stopping.is_set():  # `stop` came before there was a process to end
            self._kill("stopped while starting")
        self._event("started", pid=str(self._process.pid))
        watchdog = Event()
        Thread(target=self._watch, args=(watchdog, self._process), daemon=True).start()
        try:
            with child.link as link, link.makefile("rb") as stream:
                reason = self._read(stream.read)
        finally:
            self._pipe = None
            watchdog.set()
        if self._process.poll() is None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._kill("closed its pipe and did not end")
        status = self._process.wait()
        return f"{reason}, exit status {status}"

    def _watch(self, ended: Event, process: subprocess.Popen[bytes]) -> None:
        """Kill a child that does not start, or shows no life."""
        config, looked = self._config, time.monotonic()
        limit = looked + config.start_timeout_s
        while not ended.wait(_LOOK_S) and self._process is process:
            before, looked = looked, time.monotonic()
            if looked - before > _STOOD_STILL_S:
                continue  # we stood still, and what the child said meanwhile is not read yet
            if self._state is EngineState.STARTING:
                if time.monotonic() >= limit:
                    self._kill(config.too_slow)
                continue
            silent_s = self.pace.silent_s()
            if silent_s >= config.silent_s and self._missed >= config.max_missed:
                self._kill("two deadlines without a sign of life")
            elif silent_s >= config.hung_s:
                self._kill(f"no sign of life for {config.hung_s:g} s")

    def _read(self, read: Callable[[int], bytes]) -> str:
        try:
            while (frame := read_frame(read)) is not None:
                self._take(frame)
        except InferenceError as error:
            self._kill("said something that makes no sense")
            return error.detail
        except OSError as error:
            return f"pipe: {error.strerror}"
        return "closed its pipe"

    def _take(self, frame: Frame) -> None:
        self.pace.heard()
        match frame.op:
            case "beat":
                self.pace.beat(frame.fields)
            case "ready":
                described = description_from(frame.fields.get("description"))
                self._description = described
                said = {"build": frame.fields.get("build"), "model": described.model_digest}
                if problem := self.agreement.meet(said):
                    self._decline(problem)
                    self._kill("disagrees with the gateway")
                else:
                    self._set(EngineState.READY)
                    self._event("ready", self_test=described.self_test.detail)
            case "refusing":
                self._refuse(frame)
            case "samples":
                self._settle(frame, None)
            case "failed":
                kind = _CODES.get(str(frame.fields.get("code")), EngineError)
                self._settle(frame, kind(str(frame.fields.get("detail"))))
            case "aborted":
                self._missed = 0
            case _:
                raise FrameError(f"unknown op {frame.op}")

    def _refuse(self, frame: Frame) -> None:
        described = frame.fields.get("description")
        detail = str(frame.fields.get("detail", ""))
        if described is not None:
            self._description = description_from(described)
            detail = f"self-test: {self._description.self_test.detail}"
        self._decline(detail)

    def _decline(self, detail: str) -> None:
        self._refusal = detail
        self._set(EngineState.REFUSING)
        self._event("refusing", reason=detail)

    def _settle(self, frame: Frame, error: EngineError | None) -> None:
        """Give an answer to its waiting caller, or drop it if none waits."""
        with self._changed:
            pending = self._pending.get(str(frame.fields.get("id")))
        if pending is None:
            return
        samples = None if error is not None else samples_from(pending.request, frame, self._table)
        with self._changed:
            if self._pending.pop(pending.request.request_id, None) is None:
                return
        self._missed = 0
        pending.samples, pending.error = samples, error
        pending.done.set()

    def _fail_pending(self, error: EngineError) -> None:
        with self._changed:
            waiting = list(self._pending.values())
            self._pending.clear()
        for pending in waiting:
            pending.error = error
            pending.done.set()

    def _set(self, state: EngineState) -> None:
        with self._changed:
            if self._stopping.is_set() and state is not EngineState.STOPPED:
                return
            self._state = state
            self._changed.notify_all()

    def _event(self, event: str, **detail: str) -> None:
        self._on_event(event, detail)
