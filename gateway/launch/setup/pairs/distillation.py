"""The verb distill: a new drafter's table, learnt from the forecasts on this ledger.

The result is a model pair beside the old one: the same target, a new table, its own manifest and
card, which name the ledger, the records and the parent. It serves like any other pair, and with
money after the same promotion gate.

Rules:

- A forecast teaches once, however many decisions rest on it.
- Only rows that the gateway wrote teach, and only captures whose every accept and reject follows
  again from the record.
- The folder is written only if held-out forecasts say that the new drafts are accepted more often.
- The card's cutoff is the day of the newest forecast, so that the gate judges on later days only.

Not here: the learning (`inference.training.recorded`), the gate (`promotion`).
"""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import RequestError
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.rotation import held_against_key
from gateway.installation.place import attached
from gateway.installation.settings import Settings
from gateway.telemetry.console import Progress
from gateway.walk.journal.forecast import ForecastMade, RoundsCaptured, SnapshotTaken
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import DrafterKind, QTable
from inference.training.recorded import Distilled, DrawnTokens, distil_table, drawn_tokens
from inference.weights.promotion import CARD, Card, read_card
from inference.weights.registry import (
    MANIFEST,
    TABLE,
    ModelPair,
    load_pair,
    load_table,
    table_bytes,
)

NOT_BETTER: Final = 1
ABOUT: Final = "MODEL_CARD.md"
TAUGHT: Final = "this gateway's own forecasts: tokens that the target drew, from its ledger"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillAsked:
    """Where the new pair goes; the first and last market day of the forecasts that teach it."""

    folder: Path
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """One forecast on record: its capture's record and market day."""

    captured: Record
    blob: str
    day: date


def distill(settings: Settings, asked: DistillAsked) -> int:
    """Learn a table from the ledger and write a pair with it; return 1 if it is not better.

    Raises:
        RequestError: the folder is there already, or a capture does not follow from its record.
        RegistryError: the present pair is damaged, or has no whole card.
        TrainingDataError: there are too few forecasts of the present pair.
        NoLedgerError: there is no ledger.
    """
    if asked.folder.exists():
        raise RequestError(problem=f"{asked.folder} is there already: name a new folder with --to")
    pair = load_pair(settings.engine.model)
    card, table = read_card(pair.directory), load_table(pair)
    bar = Progress(sys.stderr)
    with attached(settings) as place, held_against_key(place) as reader:
        lessons = [one for one in _lessons(reader, pair) if _within(one.day, asked)]
        tokens = []
        for done, one in enumerate(lessons):
            bar.show("forecasts read", done, len(lessons))
            tokens.append(_tokens(reader, one, table))
        bar.end()
        found = distil_table(table, tokens)
        log = log_id(reader, settings.ledger.origin)
    sys.stdout.write(_said(found))
    if not found.better:
        sys.stdout.write("nothing was written: the present table drafts as well\n")
        return NOT_BETTER
    digest = _write(asked.folder, pair, card, found, _lineage(pair, found, lessons, log))
    sys.stdout.write(
        f"{asked.folder}: pair {digest[:16]}..\n"
        "next: COUNTERSIGN_ENGINE__MODEL names it, then `countersign promote run`\n"
    )
    return 0


def _lessons(reader: LedgerReader, pair: ModelPair) -> Iterator[_Lesson]:
    """Yield the forecasts that this pair made with its table, in the order of the log."""
    days: dict[str, date] = {}
    captured: dict[str, Record] = {}
    kinds = (Kind.SNAPSHOT_TAKEN, Kind.ROUNDS_CAPTURED, Kind.FORECAST_MADE)
    for record in reader.records(kinds=kinds):
        if record.kind is Kind.SNAPSHOT_TAKEN:
            since = timedelta(microseconds=SnapshotTaken.of(record).as_of_us)
            days[record.stream] = (_EPOCH + since).date()
        elif record.kind is Kind.ROUNDS_CAPTURED:
            if record.body.get("table_digest") == pair.files[TABLE]:
                captured[record.stream] = record
        else:
            made = ForecastMade.of(record)
            taught = captured.pop(record.stream, None)
            if taught is not None and made.model_digest == pair.manifest_digest:
                blob = RoundsCaptured.of(taught).capture_blob
                yield _Lesson(captured=taught, blob=blob, day=days[record.stream])


def _within(day: date, asked: DistillAsked) -> bool:
    return (asked.first is None or asked.first <= day) and (asked.last is None or day <= asked.last)


def _tokens(reader: LedgerReader, lesson: _Lesson, table: QTable) -> DrawnTokens:
    """Return a forecast's tokens, once its every accept and reject follows again."""
    data = reader.blob(lesson.blob)
    if data is None or hashlib.sha256(data).hexdigest() != lesson.blob:
        raise RequestError(
            problem=f"record {lesson.captured.seq}: its capture is missing or changed;"
            " `countersign verify` says more"
        )
    evidence = decode_evidence(data)
    faults = judge(evidence, table)
    if faults or evidence.drafter is not DrafterKind.TABLE:
        raise RequestError(
            problem=f"record {lesson.captured.seq}: {faults[0] if faults else 'no table drafted'};"
            " nothing is learnt from a capture that does not follow"
        )
    return drawn_tokens(evidence)


def _lineage(pair: ModelPair, found: Distilled, lessons: list[_Lesson], log: str) -> dict[str, Any]:
    return {
        "parent": pair.model_id,
        "parent_manifest": pair.manifest_digest,
        "parent_table": pair.files[TABLE],
        "log": log,
        "records": [one.captured.seq for one in lessons],
        "captures": hashlib.sha256("\n".join(one.blob for one in lessons).encode()).hexdigest(),
        "first_day": min(one.day for one in lessons).isoformat(),
        "last_day": max(one.day for one in lessons).isoformat(),
        "forecasts": found.forecasts,
        "tokens": found.tokens,
        "prior": found.prior,
        "accepted_before": round(found.before, 5),
        "accepted_after": round(found.after, 5),
        "gain_90": [round(found.gain_low, 5), round(found.gain_high, 5)],
    }


def _write(
    folder: Path, pair: ModelPair, card: Card, found: Distilled, lineage: dict[str, Any]
) -> str:
    """Write the pair beside its final place and move it there whole; return its digest."""
    manifest: dict[str, Any] = json.loads((pair.directory / MANIFEST).read_bytes())
    cutoff = max(card.data_cutoff.isoformat(), str(lineage["last_day"]))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        made = Path(scratch) / folder.name
        for name in pair.files:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            if name != TABLE:
                shutil.copyfile(pair.directory / name, made / name)
        n_bins = found.rows.shape[1]
        (made / TABLE).write_bytes(table_bytes(found.rows.astype("<f4").tobytes(), n_bins))
        files = {
            name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in pair.files
        }
        manifest.pop("acceptance", None)  # of the earlier table
        manifest |= {"files": files, "data_cutoff": cutoff, "distilled": lineage}
        (made / CARD).write_text(_card(card, cutoff, lineage), encoding="utf-8")
        (made / ABOUT).write_text(_about(lineage, cutoff), encoding="utf-8")
        (made / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
        digest = load_pair(made).manifest_digest
        made.rename(folder)
    return digest


def _card(card: Card, cutoff: str, lineage: dict[str, Any]) -> str:
    classes = "\n".join(f"  {json.dumps(one)}," for one in (*card.data_classes, TAUGHT))
    said = (
        f"{card.lineage}; drafter's table learnt again from {lineage['forecasts']} forecasts"
        f" of log {lineage['log']}, parent {lineage['parent_manifest']}"
    )
    return (
        f"objective = {json.dumps(card.objective)}\n"
        f"data_classes = [\n{classes}\n]\n"
        f"data_cutoff = {cutoff}\n"
        f"lineage = {json.dumps(said)}\n"
    )


def _about(lineage: dict[str, Any], cutoff: str) -> str:
    low, high = lineage["gain_90"]
    return f"""# Model card: a table distilled from a ledger

Written by `countersign distill`; every figure is from `manifest.json`.

The target is that of `{lineage["parent"]}` (manifest {lineage["parent_manifest"]}), byte for byte,
so the law of its forecasts is the same. The drafter's table was learnt again from
{lineage["tokens"]:,} tokens that the target drew in {lineage["forecasts"]} forecasts
of {lineage["first_day"]} to {lineage["last_day"]}, on record in log {lineage["log"]}.
The placebo twin, which is the table alone, changes with it.

On forecasts that it did not learn from, a draft is accepted with chance
{lineage["accepted_after"]:.4f}; the parent's table has {lineage["accepted_before"]:.4f}
(90 % interval of the difference {low:+.4f} to {high:+.4f}, whole forecasts drawn).

Cutoff: {cutoff}. The promotion gate judges it on later days.
"""


def _said(found: Distilled) -> str:
    return (
        f"{found.forecasts} forecasts, {found.tokens} tokens learnt from, prior {found.prior:.0f}\n"
        f"a draft is accepted: {found.before:.4f} before, {found.after:.4f} after"
        f" (gain {found.gain:+.4f}, 90 % interval {found.gain_low:+.4f} to {found.gain_high:+.4f},"
        " forecasts not learnt from)\n"
    )
