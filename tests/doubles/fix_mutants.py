"""FIX children that are wrong on purpose: ``python -m tests.doubles.fix_mutants MUTATION FD``.

A test that stays green with one of these has no teeth. No product code knows about them.
"""

import dataclasses
import os
import signal
import sys
from typing import Any

import fix.durable.inbox
import fix.orders.hearing
import fix.orders.sweeper
import fix.session.guard
import fix.session.initiator
import fix.session.main
from fix.dialects.engine_settings import initiator_settings
from fix.orders.sweeper import SweepPhase, SweepStep
from fix.session.guard import Refusal


def resends_kept() -> None:
    """The engine keeps sent messages and would send them again; the guard is in place."""

    def keeping(*arguments: Any, **named: Any) -> str:  # noqa: ANN401
        text = initiator_settings(*arguments, **named)
        return text.replace("PersistMessages=N", "PersistMessages=Y")

    replace(fix.session.initiator, "initiator_settings", keeping)


def resends_kept_and_no_guard() -> None:
    """As above, and the guard says yes to everything."""
    resends_kept()
    replace(fix.session.guard.Gate, "judge", lambda *_a, **_k: None)


def kill_word_ignored() -> None:
    """The guard never looks at the kill word."""
    real = fix.session.guard.Gate.judge

    def judge(*arguments: Any, **named: Any) -> Refusal | None:  # noqa: ANN401
        found = real(*arguments, **named)
        return None if found in {Refusal.KILLED, Refusal.KILL_EPOCH_OLD} else found

    replace(fix.session.guard.Gate, "judge", judge)


def dies_before_wire() -> None:
    """SIGKILL after the journal has the order, before a byte leaves."""
    real = fix.session.guard.Gate.judge

    def judge(gate: Any, fields: Any, *, logged_on: bool) -> Refusal | None:  # noqa: ANN401
        if fields[35] == "D":
            os.kill(os.getpid(), signal.SIGKILL)
        return real(gate, fields, logged_on=logged_on)

    replace(fix.session.guard.Gate, "judge", judge)


def dies_after_wire() -> None:
    """SIGKILL after the bytes left, before the gateway hears of it."""
    real = fix.session.initiator.InitiatorSession.send

    def send(session: Any, fields: Any) -> Any:  # noqa: ANN401
        result = real(session, fields)
        if dict(fields)[35] == "D":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    replace(fix.session.initiator.InitiatorSession, "send", send)


def raises_in_to_app() -> None:
    """A mistake where a message is about to leave."""
    replace(fix.session.guard.Gate, "judge", _raising)


def raises_in_from_app() -> None:
    """A mistake where a message has come in."""
    replace(fix.session.initiator.Callbacks, "_on_app", _raising)


def raises_in_on_logon() -> None:
    """A mistake at logon."""
    replace(fix.session.initiator.Callbacks, "_on_logon", _raising)


def disk_refuses() -> None:
    """The inbox cannot be written."""
    replace(fix.durable.inbox.Inbox, "append", _raising)


def sweeps_once() -> None:
    """A kill's sweep ends with the profile's patience and asks for nothing anew after a logon."""

    def step(sweeper: Any, view: Any) -> Any:  # noqa: ANN401
        ended = getattr(sweeper, "ended_once", False)
        done = real(sweeper, dataclasses.replace(view, logon_no=min(view.logon_no, 1), resent_us=0))
        over = any(phase not in {SweepPhase.BEGAN, SweepPhase.REVIVED} for phase, _ in done.told)
        sweeper.ended_once = ended or over
        return SweepStep() if ended else done

    real = fix.orders.sweeper.Sweeper.step
    replace(fix.orders.sweeper.Sweeper, "step", step)


def busts_forgotten() -> None:
    """An order that a bust lets live again is not noticed."""
    replace(fix.orders.hearing, "lives_again", lambda _report: False)


def _raising(*_arguments: object) -> Any:  # noqa: ANN401
    raise ValueError("a mistake in a callback")


def replace(owner: object, name: str, value: object) -> None:
    """Put a mistake in place."""
    setattr(owner, name, value)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    code = fix.session.main.main(sys.argv[2:])
    os._exit(code)
