"""Plays the walk as `countersign run` does, with the scripted engine and, on demand, a mutant.

Run as `python -m tests.doubles.walk_driver STATE DECISIONS [MUTANT [BEHAVIOUR]]`; the failpoint
comes by environment, the behaviour is the scripted engine's. Everything but the model is the
product: PostgreSQL, ledger, FIX over TCP, simulator, rules, pages.
"""

import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from audit.sequencer.ledger import Lane
from fix.wire.identity import cl_ord_id
from fix.wire.messages import new_order
from gateway.cli.main import exit_code_of
from gateway.desk import desk
from gateway.feeds.sessions import load_playback
from gateway.installation import settings
from gateway.launch.paper.play import play
from gateway.launch.plan import development_plan
from gateway.walk.approval import order_of
from gateway.walk.dispatch import DispatchTools
from gateway.walk.failpoints import reach
from gateway.walk.journal import order as journal_orders
from gateway.walk.journal.standing import Standing
from tests.doubles.programs import use_first_parts
from tests.doubles.scripted_pair import scripted_pair


class Mutant(StrEnum):
    """A known-bad change of the walk that the oracle must catch."""

    NONE = "none"
    SEND_BEFORE_COMMIT = "send_before_commit"


FAR_US = 1 << 60
"""A monotonic time that never comes: the mutant is judged by the ledger, not by a clock."""


def send_before_commit(standing: Standing, tools: DispatchTools) -> None:
    """Hand the order out first and announce it afterwards: what must never happen."""
    if standing.approving is None:
        return
    order = order_of(standing, tools.section())
    instrument = tools.instrument(order.intent.instrument)
    name = cl_ord_id(standing.approving.leaf)
    fields = new_order(
        order,
        profile=tools.profile,
        tick_minor=instrument.tick_minor,
        lot=instrument.lot,
        transact_time_us=tools.wall_us(),
    )
    tools.broker.hand(name, fields, order.kill_epoch, order.send_before_us, FAR_US)
    reach("dispatch.sending_committed")
    sending = journal_orders.order_sending(
        standing,
        fields,
        session=tools.profile.name,
        kill_epoch=order.kill_epoch,
        send_before_us=order.send_before_us,
        market_now_us=tools.market_now_us(),
        decided_us=standing.approving.recorded_at_us,
    )
    tools.orders.catch_up(tools.ledger.append(sending, lane=Lane.URGENT))


def main() -> int:
    """Play and return the exit code."""
    state, decisions = Path(sys.argv[1]), int(sys.argv[2])
    mutant = Mutant(sys.argv[3]) if len(sys.argv) > 3 else Mutant.NONE
    behaviour = sys.argv[4] if len(sys.argv) > 4 else "well"
    if mutant is Mutant.SEND_BEFORE_COMMIT:
        desk.dispatch = send_before_commit  # type: ignore[attr-defined]  # the mutant, on purpose
    use_first_parts()
    base = settings.load(state=state)
    chosen = base.model_copy(
        update={
            "api": base.api.model_copy(update={"port": 0}),
            "engine": base.engine.model_copy(
                update={
                    "drafter": "network",
                    "paths": 16,
                    "horizon": 4,
                    "model": scripted_pair(base.engine.model),
                    "deadline_s": 4.0,
                }
            ),
            "playback": base.playback.model_copy(
                update={"decisions": decisions, "exit": True, "demo_agent": False}
            ),
        }
    )
    playback = load_playback()
    plan = development_plan(chosen, playback)
    program = (sys.executable, "-m", "tests.doubles.scripted_engine", behaviour)
    return play(replace(plan, engine_program=program), playback)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
