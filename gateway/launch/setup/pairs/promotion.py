"""The verb promote: judge a model pair by the promotion gate, sign the report, put it on record.

Rules:

- Every run of the gate is on record with its report, also one that refuses, so nobody shows only
  the run that went well.
- Officers sign one report of one model pair in one ledger, named by its record.

Not here: the gate's bars (`inference.weights.promotion`); which mode asks for a promotion
(`desk.persons.governing.modes`).
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway import clock
from gateway.desk.controls.statements import all_signed, signed_by, statement
from gateway.errors import RequestError, SettingsError
from gateway.installation.children.engine import EngineChild
from gateway.installation.children.engine_process import EngineChildConfig
from gateway.installation.keys.kept_signatures import PROMOTED, keep_signature, kept_signatures
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.log_id import log_id
from gateway.installation.keys.officers import read_officer
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.place import attached
from gateway.installation.settings import Settings
from gateway.telemetry.console import Progress
from gateway.walk.journal.control.modes import (
    ModelPromoted,
    PromotionTested,
    model_promoted,
    promotion_tested,
)
from inference.engine.port import EngineConfig
from inference.training.evaluation.stress import failed, stress_checks
from inference.training.evaluation.walkforward.judge import EvaluationAsked, evaluate
from inference.weights.promotion import (
    GATE,
    Card,
    GateCheck,
    card_checks,
    read_card,
    walk_forward_checks,
)
from inference.weights.registry import MANIFEST, ModelPair, load_pair, load_table

PURPOSE: Final = "model promotion"
REFUSED: Final = 1
_SAMPLED: Final = 1
_PATHS: Final = 128
_SEED: Final = 2016


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAsked:
    """What the walk-forward reads, who asks and why."""

    data: Path
    first: date
    last: date | None
    series: tuple[str, ...]
    every: int
    actor: str
    reason: str


def run_gate(settings: Settings, asked: GateAsked) -> int:
    """Judge the model pair of the settings; put the report on record; return 1 if it refuses.

    The gateway must be stopped. Scores are kept, so that the same command goes on after Ctrl-C.

    Raises:
        RequestError: no reason is given.
        RegistryError: the pair is damaged, or has no whole card.
        TrainingDataError: the data does not fit; it says which file.
        StateInUseError: a gateway runs.
        NoLedgerError: there is no ledger.
    """
    if not asked.reason:
        raise RequestError(problem="say why the model is judged: countersign promote run --reason")
    with stopped(settings):  # refuse now, not after an hour
        pass
    pair = load_pair(settings.engine.model)
    card, trained = read_card(pair.directory), _trained_until(pair)
    progress = Progress(sys.stderr)
    checks = list(card_checks(card, trained, asked.first))
    result = _walked(settings, asked, pair, progress)
    checks += [*walk_forward_checks(result, pair), *_engine_checks(pair, progress)]
    progress.end()
    report = _report(pair, card, result, checks)
    with stopped(settings) as place, open_ledger(place) as ledger:
        draft = promotion_tested(
            model_id=pair.model_id,
            model_digest=pair.manifest_digest,
            gate=GATE,
            failed=failed(checks),
            report_blob=ledger.put_blob(report),
            actor=asked.actor,
            reason=asked.reason,
            number=clock.wall_us(),
        )
        (record,) = ledger.append(draft)
        ledger.checkpoint_now()
    for one in checks:
        said = "passed" if one.passed else "FAILED"
        sys.stdout.write(f"{said}  {one.name}: {one.found} (bar: {one.bar})\n")
    refused = failed(checks)
    verdict = f"refused by {len(refused)} of {len(checks)}" if refused else "passed"
    sys.stdout.write(f"{GATE}: {pair.model_id} {verdict}; record {record.seq}\n")
    if not refused:
        sys.stdout.write("each officer now signs: countersign promote sign --key FILE\n")
    return REFUSED if refused else 0


def _walked(
    settings: Settings, asked: GateAsked, pair: ModelPair, progress: Progress
) -> dict[str, Any]:
    folder = settings.state / "evaluation"
    question = EvaluationAsked(
        data=asked.data,
        first=asked.first,
        last=asked.last,
        series=asked.series,
        pair=pair.directory,
        every=asked.every,
        sampled=_SAMPLED,
        paths=_PATHS,
        seed=_SEED,
        folder=folder / "scores",
        looks=folder / "looks.jsonl",
        who=asked.actor,
        why=f"promotion gate: {asked.reason}",
        at_us=clock.wall_us(),
    )
    return evaluate(
        question,
        progress.say,
        lambda done, total, name: progress.show(f"origins {name}", done, total),
    )


def _engine_checks(pair: ModelPair, progress: Progress) -> Iterator[GateCheck]:
    """Yield the engine's self-test and the made-up markets."""
    progress.say("engine  starting (half a minute)")
    with tempfile.TemporaryDirectory(prefix="countersign-promote-") as folder:
        config = EngineChildConfig(
            engine=EngineConfig(model_dir=str(pair.directory)), state_dir=Path(folder)
        )
        child = EngineChild(config)
        child.start()
        try:
            up = child.wait_ready(config.start_timeout_s)
            detail = child.describe().self_test.detail if up else child.refusal
            yield GateCheck(
                name="engine's self-test",
                bar="ok",
                found=detail or child.state.value,
                passed=up and child.describe().self_test.passed,
            )
            if up:
                progress.say("stress  made-up markets")
                yield from stress_checks(child.sample, pair, load_table(pair))
        finally:
            child.stop()


def _report(pair: ModelPair, card: Card, result: dict[str, Any], checks: list[GateCheck]) -> bytes:
    document = {
        "gate": GATE,
        "model": {"id": pair.model_id, "manifest": pair.manifest_digest, "files": pair.files},
        "card": {**asdict(card), "data_cutoff": card.data_cutoff.isoformat()},
        "checks": [asdict(one) for one in checks],
        "evaluation": result,
    }
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def _trained_until(pair: ModelPair) -> str:
    manifest: Any = json.loads((pair.directory / MANIFEST).read_bytes())
    return str(manifest["data_cutoff"])


def promotion_statement(log: str, tested: PromotionTested, seq: int) -> bytes:
    """Return the statement that promotes a model pair: its digest, the gate, report and record."""
    return statement(
        PURPOSE,
        log,
        f"model {tested.model_digest}",
        f"gate {tested.gate}",
        f"report {tested.report_blob}",
        f"record {seq}",
    )


def sign_promotion(settings: Settings, key_file: Path) -> int:
    """Sign the newest passed report of the settings' model pair with one officer's key.

    Raises:
        RequestError: there is no report, or it refuses the pair.
        SettingsError: the key file holds no officer's key, or does not name its role.
    """
    officer = read_officer(key_file, "--key")
    if not officer.role:
        problem = f"{key_file} does not name its officer's role: carry it over with `officer-key`"
        raise SettingsError(name="--key", problem=problem)
    with attached(settings) as place, held_against_key(place) as reader:
        record, tested = _newest(settings, reader)
        signed = promotion_statement(log_id(reader, settings.ledger.origin), tested, record.seq)
        text = officer.key.sign(signed).hex()
        path = keep_signature(place.state.keys, officer.role, text, PROMOTED)
    sys.stdout.write(f"{signed.decode()}signed by {officer.role}:{officer.name} into {path}\n")
    sys.stdout.write("with both signatures, stopped: countersign promote record\n")
    return 0


def record_promotion(settings: Settings) -> int:
    """Put a promotion that both officers signed on record; the gateway must be stopped.

    Raises:
        RequestError: there is no passed report, or a signature is missing.
        StateInUseError: a gateway runs.
        NoLedgerError: there is no ledger.
    """
    with stopped(settings) as place, open_ledger(place) as ledger:
        with held_against_key(place) as reader:
            record, tested = _newest(settings, reader)
            log = log_id(reader, settings.ledger.origin)
        signatures = kept_signatures(place.state.keys, PROMOTED)
        keys = Keyring(place.state.keys).public_keys()
        signed = promotion_statement(log, tested, record.seq)
        if not all_signed(signed, signatures, keys):
            missing = sorted(set(SIGNING_ROLES) - set(signed_by(signed, signatures, keys)))
            raise RequestError(
                problem=f"record {record.seq} is not signed by {' and '.join(missing)}: each"
                " officer runs `countersign promote sign --key FILE`"
            )
        given = {role: signatures[role] for role in SIGNING_ROLES}
        (promoted,) = ledger.append(model_promoted(tested, record.seq, log=log, signatures=given))
        ledger.checkpoint_now()
    sys.stdout.write(f"{tested.model_id} is promoted: record {promoted.seq}\n")
    return 0


def show_promotion(settings: Settings, *, as_json: bool) -> int:
    """Print what the records say of the settings' model pair; return 1 if it is not promoted.

    Raises:
        NoLedgerError: there is no ledger.
    """
    pair = load_pair(settings.engine.model)
    with attached(settings) as place, held_against_key(place) as reader:
        runs = [(r.seq, PromotionTested.of(r)) for r in _runs(reader, pair.manifest_digest)]
        promoted = [
            r.seq
            for r in reader.records(stream="control", kinds=(Kind.MODEL_PROMOTED,))
            if ModelPromoted.of(r).model_digest == pair.manifest_digest
        ]
    found = {
        "model": pair.model_id,
        "manifest": pair.manifest_digest,
        "promoted_by": promoted,
        "runs": [
            {
                "record": seq,
                "gate": one.gate,
                "passed": one.passed,
                "failed": list(one.failed),
                "reason": one.reason,
            }
            for seq, one in runs
        ],
    }
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write(f"{pair.model_id}  {pair.manifest_digest}\n")
        for seq, one in runs:
            said = "passed" if one.passed else f"refused: {'; '.join(one.failed)}"
            sys.stdout.write(f"record {seq}  {one.gate}  {said}\n")
        said = f"promoted by record {promoted[-1]}" if promoted else "not promoted"
        sys.stdout.write(f"{said}\n")
    return 0 if promoted else REFUSED


def _runs(reader: LedgerReader, model_digest: str) -> Iterator[Record]:
    for record in reader.records(stream="control", kinds=(Kind.PROMOTION_TESTED,)):
        if PromotionTested.of(record).model_digest == model_digest:
            yield record


def _newest(settings: Settings, reader: LedgerReader) -> tuple[Record, PromotionTested]:
    """Return the newest report of the settings' pair; the newest decides, not the best."""
    pair = load_pair(settings.engine.model)
    record = next(reversed(list(_runs(reader, pair.manifest_digest))), None)
    if record is None:
        raise RequestError(
            problem=f"{pair.model_id} was not judged in this ledger: countersign promote run"
        )
    tested = PromotionTested.of(record)
    if not tested.passed:
        raise RequestError(
            problem=f"the newest report, record {record.seq}, refuses {pair.model_id}:"
            f" {'; '.join(tested.failed)}"
        )
    return record, tested
