"""One load on a served desk, and what it found: answers, memory, disk, CPU, the intent after it."""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from scripts.load.callers import OK, answered, ask, at_times, followed, sent, word_of
from scripts.load.disturbing import disturbed
from scripts.load.figures import Answer, reasons, shares
from scripts.load.market import resting_price, stretches
from scripts.load.plan import Scenario, wishes
from scripts.load.served import ServedDesk
from scripts.load.watching import EngineWatch, MemoryWatch, grown, rss_mib, used_by

OPERATOR: Final = "operator"
CANCEL_EVERY_S: Final = 1.0
STEADY_S: Final = 300.0
"""From when on memory is compared: caches have filled by then."""
TRIES: Final = 2
"""How many intents may be spent on each resting order: rules may refuse one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a scenario found.

    Attributes:
        facts: rows of what was measured and its value.
        told_seq: the last record of the ledger whose event was counted.
    """

    scenario: Scenario
    answers: list[Answer]
    cancels: list[Answer]
    facts: list[tuple[str, str]]
    told_seq: int


def rested(desk: ServedDesk, count: int, run: str) -> tuple[list[str], list[Answer]]:
    """Put up to so many orders to rest at the broker, one after the other.

    An instrument's stand at one price, each of another size: many prices would be a ladder (R53),
    one size a repeat (R16). Return their names and all answers.
    """
    names, answers = list[str](), list[Answer]()
    bars = stretches(len(desk.symbols))
    for number in range(TRIES * count):
        if len(names) == count:
            break
        turn, place = divmod(number, len(desk.symbols))
        symbol = desk.symbols[place]
        body = {"client_key": f"{run}-rest-{number}", "instrument": symbol}
        terms = {"target_exposure_bp": 4_000, "max_qty_lots": 1 + turn}
        limit = {"limit_price": resting_price(bars[symbol])}
        status, said = _posted(desk, "/v1/intents", {**body, **terms, **limit})
        answers.append(answered(OPERATOR, status, said, 0.0))
        if answers[-1].word == "approved":
            names.append(str(said["decision_id"]))
    return names, answers


def cancelled(desk: ServedDesk, names: Sequence[str]) -> list[Answer]:
    """Cancel an order each `CANCEL_EVERY_S`, in open loop; return the answers."""
    answers: list[Answer] = []

    def one(number: int, planned: float) -> None:
        body = {"client_key": f"cancel-{names[number]}"[:64], "reason": "bench"}
        status, said = _posted(desk, f"/v1/orders/{names[number]}/cancel", body)
        answer = answered(OPERATOR, status, said, time.monotonic() - planned)
        answers.append(replace(answer, word=f"cancel {answer.word}"))

    for thread in at_times([CANCEL_EVERY_S * (n + 1) for n in range(len(names))], one):
        thread.join()
    return answers


def played(desk: ServedDesk, scenario: Scenario, run: str, told_seq: int) -> Found:
    """Run a scenario, then one intent alone; events up to `told_seq` were counted before."""
    resting = int(scenario.seconds / CANCEL_EVERY_S) - 1 if scenario.cancels else 0
    (names, placed), cancels = rested(desk, resting, run), list[Answer]()
    pid, plan = desk.gateway.pid, wishes(scenario, desk.agents, desk.symbols, run)
    memory, disk = rss_mib(pid), desk.ledger_bytes()
    used, answers = used_by(pid), list[Answer]()
    operator = threading.Thread(target=lambda: cancels.extend(cancelled(desk, names)))
    with (
        EngineWatch(pid) as watch,
        MemoryWatch(pid, lambda: _decided(answers)) as sampled,
        disturbed(desk, scenario.beside, scenario.seconds) as disturbances,
    ):
        operator.start()
        began_s, own_s = time.monotonic(), time.process_time()
        sent(desk.address, plan, desk.tokens, answers)
        took_s = time.monotonic() - began_s
        operator.join()
        own_s = time.process_time() - own_s
    spent = {part: cpu_s - used.get(part, 0.0) for part, cpu_s in used_by(pid).items()}
    decided = _decided(answers)
    events, told_seq = followed(desk.address, desk.tokens[OPERATOR], told_seq)
    each = (desk.ledger_bytes() - disk) / max(1, decided) / 1_000
    facts = [
        ("decisions", f"{decided} of {len(plan)} intents, in {took_s:.1f} s"),
        ("orders that left, were filled", f"{_left(answers)}, {events['filled']} of {decided}"),
        ("did not leave because of", reasons(answers)),
        *disturbances,
        ("engine deaths", str(watch.deaths)),
        ("memory of the gateway", f"{memory:.0f} MiB before, {rss_mib(pid):.0f} MiB after"),
        ("memory from minute 5 on", grown(sampled.samples, STEADY_S)),
        ("ledger on disk", f"{each:.1f} kB a decision"),
        ("CPU", ", ".join(f"{part} {_cpu(cpu_s)}" for part, cpu_s in spent.items())),
        ("CPU of the generator, apart", f"{own_s:.1f} s"),
        ("last intent, alone", last(desk, f"{run}-{scenario.name}-last")),
    ]
    if scenario.agents > 1:
        facts.insert(1, ("shares of the callers", shares(answers)))
    if scenario.cancels:
        said = f"{len(names)} of {resting}; others did not leave because of {reasons(placed)}"
        facts.append(("resting orders that an operator cancelled", said))
    return Found(
        scenario=scenario, answers=answers, cancels=cancels, facts=facts, told_seq=told_seq
    )


def _cpu(used_s: float) -> str:
    """Return a difference of CPU times; a process that ended took its own along."""
    return f"{used_s:.1f} s" if used_s >= 0 else "not known, a process ended"


def _decided(answers: Sequence[Answer]) -> int:
    return sum(one.decided for one in [*answers])  # a copy: they come while it counts


def _left(answers: Sequence[Answer]) -> int:
    return sum(one.word == "approved" for one in answers)


def last(desk: ServedDesk, key: str) -> str:
    """Ask once more, alone, and return what was answered and when."""
    time.sleep(CANCEL_EVERY_S)  # the key's rate has room again: what is measured is the desk
    began_s = time.monotonic()
    body = {"client_key": key, "instrument": desk.symbols[0], "target_exposure_bp": 900}
    status, said = _posted(desk, "/v1/intents", {**body, "max_qty_lots": 1}, desk.agents[0])
    took_ms = (time.monotonic() - began_s) * 1_000
    ready = "ready" if desk.get("/readyz")[0] == OK else "not ready"
    return f"{status} {word_of(status, said)}, {took_ms:.0f} ms; the desk says {ready}"


def _posted(
    desk: ServedDesk, path: str, body: Mapping[str, object], holder: str = OPERATOR
) -> tuple[int, dict[str, Any]]:
    return ask(desk.address, path, desk.tokens[holder], json.dumps(body).encode())
