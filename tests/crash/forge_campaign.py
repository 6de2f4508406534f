"""Forge logs: one field of one record changed, all signed again; both verifiers must find it.

    python -m tests.crash.forge_campaign --logs 2000 --seed 1 --write

Drawn over all fields of all kinds of the scenes: first a kind, then a field of it, then a record,
then a change. A field that a statement judges must be found in both verifiers, with a record named;
of the others only that both verifiers say the same is required. Honest logs come first and pass.
"""

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from audit.errors import AuditError
from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from gateway.evidence.publication.statements_page import judged
from tests.doubles.both_verifiers import judged_by_both
from tests.doubles.broker_files import Broker, SignedLog, officers, written_again
from tests.doubles.forged_scenes import SCENES
from tests.doubles.memory_desk import memory_desk
from tests.doubles.programs import use_first_parts
from tests.doubles.walk_scenes import SCENES as WALKS

PAGE = Path(__file__).resolve().parents[2] / "docs/measured/forged-logs.md"
BATCH = 50
Path_ = tuple[str | int, ...]
_LIST_MAX = 12
_FOUND = {1: "TAMPERED", 3: "NOT CHECKABLE"}
"""How a forgery is found; a rule of seeds that is not known yet is not called tampered."""
_WALKED = ("rejected", "not_sent", "killed", "taken_back_and_corrected", "nothing_to_trade")


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a record: where it is, and its dotted name without places in lists."""

    scene: str
    row: int
    kind: Kind
    path: Path_
    name: str

    @property
    def is_judged(self) -> bool:
        """Whether a statement of the table judges it."""
        return any(
            self.name == one or self.name.startswith(f"{one}.") for one in judged(KINDS[self.kind])
        )


@dataclass(slots=True)
class Tally:
    """What became of the forged logs, by kind and field."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    unjudged: Counter[tuple[str, str]] = field(default_factory=Counter)


class World:
    """Honest logs, signed by officers whose keys the verifiers get."""

    def __init__(self, folder: Path) -> None:
        """Play every scene; raise AssertionError if an honest log does not pass."""
        self.folder = folder
        self.logs: dict[str, SignedLog] = {}
        self.options: dict[str, list[str]] = {}
        for name in (*SCENES, *_WALKED):
            (folder / name).mkdir()
            broker = _played(name, folder / name)
            self.logs[name] = broker.ledger()
            self.options[name] = officers(broker, folder / name)
        asked = {name: (log, self.options[name]) for name, log in self.logs.items()}
        for name, (code, said) in judged_by_both(asked, folder).items():
            if code:
                raise AssertionError(f"the honest log {name} does not pass\n{said}")

    def places(self) -> dict[Kind, dict[str, list[Place]]]:
        """Return every field of every record, by kind and name."""
        found: dict[Kind, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
        for scene, log in self.logs.items():
            rows = [row for row in log.rows if row["kind"] != Kind.STREAM_HEADS]
            for at, row in enumerate(rows):
                kind, body = Kind(row["kind"]), json.loads(bytes(row["payload"]))
                for path, name in _fields(body):
                    found[kind][name].append(Place(scene, at, kind, path, name))
        return found


def _played(name: str, folder: Path) -> Broker:
    if name in SCENES:
        return SCENES[name](folder)
    desk = memory_desk(folder)
    WALKS[name](desk)
    return Broker(desk)


def _fields(value: object, path: Path_ = (), name: str = "") -> Iterator[tuple[Path_, str]]:
    """Yield the path and name of each value that is no object; an order's fields by tag."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            if key == "raw" and isinstance(below, str):
                tags = [part.partition("=")[0] for part in below.split("\x01") if part]
                yield from (((*path, key, tag), f"raw.{tag}") for tag in dict.fromkeys(tags))
            else:
                yield from _fields(below, (*path, key), f"{name}.{key}" if name else key)
    elif name == "fields" and isinstance(value, list):
        for at, (tag, _) in enumerate(value):
            yield (*path, at, 1), f"fields.{tag}"
    elif isinstance(value, list) and value:
        for at, below in enumerate(value[:_LIST_MAX]):
            yield from _fields(below, (*path, at), name)
    else:
        yield path, name


def _changed(value: object, drawn: random.Random) -> object:
    """Return another value of the same sort."""
    match value:
        case bool():
            return not value
        case int():
            return drawn.choice([value + 1, value * 100 + 7, -value - 1])
        case str() if re.fullmatch(r"[0-9.]+", value):
            return f"7{value}"
        case str() if re.fullmatch(r"[0-9a-f]{16,}", value):
            return ("0" if value[0] != "0" else "1") + value[1:]
        case str():
            return drawn.choice([f"{value}X", "other"])
        case _:
            return drawn.choice([1, "x"])


def put(value: Any, path: Path_, drawn: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a value with another one at a path; a message's digest is renewed by the caller."""
    if not path:
        return _changed(value, drawn)
    if isinstance(value, str):  # a message: the last part of the path is a tag
        parts = value.split("\x01")
        at = next(at for at, part in enumerate(parts) if part.partition("=")[0] == path[0])
        text = str(_changed(parts[at].partition("=")[2], drawn))
        return "\x01".join([*parts[:at], f"{path[0]}={text}", *parts[at + 1 :]])
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], drawn)  # type: ignore[index]
    return copy


def forged(log: SignedLog, place: Place, drawn: random.Random) -> SignedLog:
    """Return a log with one field of one record changed, every hash and signature anew."""
    count = iter(range(len(log.rows)))

    def change(draft: Draft) -> Draft:
        if next(count) != place.row:
            return draft
        payload = put(dict(draft.payload), place.path, drawn)
        if place.name.startswith("raw."):
            for name in {"raw_digest", "digest"} & payload.keys():
                payload[name] = hashlib.sha256(payload["raw"].encode("latin-1")).hexdigest()
        return replace(draft, payload=payload)

    return written_again(log, change)


def campaign(world: World, number: int, seed: int) -> Tally:
    """Forge so many logs and ask both verifiers about each."""
    drawn, tally, places = random.Random(seed), Tally(), world.places()  # noqa: S311 - a test's draw
    waiting: dict[str, tuple[Place, SignedLog]] = {}
    made = 0
    while made < number:
        kind = drawn.choice(sorted(places))
        name = drawn.choice(sorted(places[kind]))
        place = drawn.choice(places[kind][name])
        try:
            log = forged(world.logs[place.scene], place, drawn)
        except (AuditError, ValueError, TypeError):  # no writer would take it: no log has it
            continue
        made += 1
        waiting[f"{made} {kind} {name} in {place.scene}, record {place.row}"] = (place, log)
        if len(waiting) == BATCH:
            _ask(world, waiting, tally)
            sys.stderr.write(f"{made} of {number}, missed {len(tally.missed)}\n")
    if waiting:
        _ask(world, waiting, tally)
    return tally


def _ask(world: World, waiting: dict[str, tuple[Place, SignedLog]], tally: Tally) -> None:
    asked = {name: (log, world.options[place.scene]) for name, (place, log) in waiting.items()}
    for name, (code, said) in judged_by_both(asked, world.folder).items():
        place, _ = waiting[name]
        key = (str(place.kind), place.name)
        if code in _FOUND and re.search(rf"^{_FOUND[code]}: record \d+: ", said, re.MULTILINE):
            tally.found[key] += 1
        elif place.is_judged:
            tally.missed.append(name)
        else:
            tally.unjudged[key] += 1
    waiting.clear()


def page(tally: Tally, number: int, seed: int) -> str:
    """Return the page of a campaign."""
    found, silent = sum(tally.found.values()), sum(tally.unjudged.values())
    kinds = sorted({kind for kind, _ in (*tally.found, *tally.unjudged)})
    lines = [
        "# Forged logs",
        "",
        f"`make forge N={number} SEED={seed}` changed one field of one record in each of {number}",
        "logs, drawn over all fields of all kinds of its scenes, and signed everything again.",
        "Both verifiers said the same of each.",
        "",
        f"- found with a record named: {found}",
        f"- judged by a statement and not found: {len(tally.missed)}",
        f"- not judged by any statement ([list](../statements.md)), and accepted: {silent}",
        "",
        "| kind | found | accepted, not judged |",
        "|---|---|---|",
    ]
    for kind in kinds:
        caught = sum(n for (one, _), n in tally.found.items() if one == kind)
        left = sorted(name for one, name in tally.unjudged if one == kind)
        lines.append(f"| `{kind}` | {caught} | {', '.join(f'`{name}`' for name in left)} |")
    return "\n".join([*lines, *(f"\nMissed: {one}" for one in tally.missed), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign; return 1 if a judged field was not found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args(arguments)
    use_first_parts()
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(World(Path(folder)), asked.logs, asked.seed)
    text = page(tally, asked.logs, asked.seed)
    sys.stdout.write(text)
    if asked.write:
        PAGE.write_text(text, "utf-8")
    return 1 if tally.missed else 0


if __name__ == "__main__":
    sys.exit(main())
