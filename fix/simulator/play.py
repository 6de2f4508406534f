"""Play the simulated broker by hand: ``python -m fix.simulator.play FOLDER WHAT ..``.

    deal fill reject ..       outcomes of the next orders
    cancels reject            how requests to cancel are answered from now on; `replaces` likewise
    bust [ORDER] [--qty 5]    an act on the newest order that it fits, or on this ClOrdID
    disconnect                an act on the session
    list                      everything that can be played

FOLDER is the simulator's (`state/ems` under `countersign run`). The simulator follows within 20 ms.

Not here: what an act does (`fix.simulator.acts`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fix.simulator.acts import ACTS, MANNERS, MARKET_ACTS, OUTCOMES, SESSION_ACTS, BrokerAct
from fix.simulator.control import read_control, write_control

_CHANGES = ("cancels", "replaces")


def play(path: Path, act: BrokerAct) -> None:
    """Ask the simulator with this control file for one act.

    Raises:
        ValueError: there is no such act.
    """
    known = ACTS | SESSION_ACTS | MARKET_ACTS
    if act.what not in known:
        raise ValueError(f"no act {act.what!r}; there are: {', '.join(known)}")
    control = read_control(path)
    write_control(path, control._replace(acts=(*control.acts, (*act,))))


def deal(path: Path, *outcomes: str) -> None:
    """Deal these outcomes to the next orders.

    Raises:
        ValueError: there is no such outcome.
    """
    unknown = [word for word in outcomes if word not in {str(one) for one in OUTCOMES}]
    if unknown:
        raise ValueError(f"no outcome {unknown[0]!r}; there are: {', '.join(OUTCOMES)}")
    control = read_control(path)
    write_control(path, control._replace(deal=(*control.deal, *outcomes)))


def answer(path: Path, requests: str, manner: str) -> None:
    """Answer `cancels` or `replaces` in this manner from now on.

    Raises:
        ValueError: there is no such manner.
    """
    if requests not in _CHANGES or manner not in {str(one) for one in MANNERS}:
        raise ValueError(f"{requests} {manner}: say cancels or replaces, and {', '.join(MANNERS)}")
    control = read_control(path)
    changed = (
        control._replace(cancels=manner)
        if requests == "cancels"
        else control._replace(replaces=manner)
    )
    write_control(path, changed)


def listing() -> str:
    """Return everything that can be played, one a line."""
    parts = (
        ("outcomes, for `deal`", OUTCOMES),
        ("answers, for `cancels` and `replaces`", MANNERS),
        ("acts on an order", ACTS),
        ("acts on the session", SESSION_ACTS),
        ("acts on the market data", MARKET_ACTS),
    )
    lines: list[str] = []
    for title, table in parts:
        lines += [title, *(f"  {name:16} {what}" for name, what in table.items()), ""]
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Play one thing; 2 if there is no such thing."""
    parser = argparse.ArgumentParser(
        prog="python -m fix.simulator.play",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="the simulator's folder")
    parser.add_argument("what", help="an act, deal, cancels, replaces or list")
    parser.add_argument("words", nargs="*", help="a ClOrdID, outcomes, or a manner")
    parser.add_argument("--qty", type=int, default=0)
    parser.add_argument("--price", default="")
    given = parser.parse_args(words)
    path = given.folder / "control.json"
    if given.what != "list" and not path.exists():
        sys.stderr.write(f"no simulator works in {given.folder}\n")
        return 2
    try:
        if given.what == "list":
            sys.stdout.write(listing())
        elif given.what == "deal":
            deal(path, *given.words)
        elif given.what in _CHANGES:
            answer(path, given.what, *given.words[:1] or [""])
        else:
            order = given.words[0] if given.words else ""
            play(path, BrokerAct(given.what, order, given.qty, given.price))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
