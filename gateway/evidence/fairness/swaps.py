"""Test F2: a recorded decision of a text pair, sampled again with names of its headlines exchanged.

The decision is replayed first, so snapshot, seeds and weights are those on record. The report names
the decision, the weights, the digest of the swaps and every number; who records it is the caller's.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import RequestError
from gateway.evidence.replay.engine import DEADLINE_S, engine_of
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.past import Past
from gateway.evidence.replay.replay import replayed
from gateway.installation.place import Place
from gateway.walk.projections.forecasts import decision_records
from inference.codec.narrative import speaking
from inference.codec.text.codec import TextCodec
from inference.engine.port import Engine, SampleRequest
from inference.forecast.attributes import Attribute
from inference.forecast.forecast import Sampled, to_1e8
from inference.forecast.swaps import (
    Moved,
    Swap,
    bound_1e8,
    flagged,
    floor_of,
    moved,
    quartile_range,
    swapped,
)
from inference.forecast.target import sample_target
from inference.snapshot import Snapshot
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import QTable
from inference.weights.registry import load_table
from risk.windows.fairness.holm import holm

MAX_SWAPS: Final = 8
FLAGGED: Final = 1
_Term = Annotated[str, Field(min_length=2, max_length=60)]
_Terms = Annotated[list[tuple[_Term, _Term]], Field(min_length=1, max_length=8)]


class _SwapText(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    attribute: Attribute
    terms: _Terms


class SwapFile(BaseModel):
    """The swaps of a test: the placebo's neutral words, and at most eight pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    placebo: _Terms
    pairs: Annotated[list[_SwapText], Field(min_length=1, max_length=MAX_SWAPS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPrompt:
    """A forecast on record, as the test samples it again."""

    snapshot: Snapshot
    evidence: Evidence
    seed: bytes
    model_digest: str


def run_swaps(
    place: Place,
    decision_id: str,
    file: Path,
    record: Callable[[dict[str, Any]], int] | None = None,
) -> int:
    """Print the test's report as JSON; return 1 if a swap is flagged.

    `record` puts the report on record and returns its number, which is printed with it.

    Raises:
        RequestError: the file is no list of swaps, or the decision has no words to exchange.
        ReplayDiffersError: the decision does not replay.
        NotReadyError: the engine does not start.
    """
    swaps, digest = read_swaps(file)
    pair = Pairs(place.settings.engine.model).of(decision_records(place.reader, decision_id))
    codec, table = text_codec_of(pair), load_table(pair)
    if codec is None:
        raise RequestError(
            problem=f"{pair.model_id} reads ids of a closed vocabulary: no name reaches it"
        )
    recorded = _recorded([p for p, _, _ in replayed(place.reader, table, decision_id, codec)])
    if recorded.model_digest != pair.manifest_digest:
        raise RequestError(problem="the weights of this decision are not at hand")
    with engine_of(pair, recorded.evidence) as engine:
        report = swap_report(recorded, swaps, codec, table, engine)
    named = {"decision_id": decision_id, "model": pair.manifest_digest, "swaps_digest": digest}
    told = {**named, **report}
    told |= {} if record is None else {"seq": record(told)}
    sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return FLAGGED if any(row["flagged"] for row in report["pairs"]) else 0


def read_swaps(file: Path) -> tuple[SwapFile, str]:
    """Return the swaps of a JSON file and its SHA-256.

    Raises:
        RequestError: the file cannot be read or is no list of swaps.
    """
    try:
        data = file.read_bytes()
        return SwapFile.model_validate_json(data), hashlib.sha256(data).hexdigest()
    except (OSError, ValidationError) as error:
        raise RequestError(problem=f"{file}: {error}") from error


def swap_report(
    recorded: RecordedPrompt, swaps: SwapFile, codec: TextCodec, table: QTable, engine: Engine
) -> dict[str, Any]:
    """Return what identity, placebo and each pair of terms did.

    Raises:
        EngineError: the engine does not answer.
        InferenceError: an answer makes no forecast.
    """
    sampling = _Sampling(recorded, codec, table, engine)
    sampled = sampling.sampled_of(recorded.evidence)
    own, iqr = ends_of(sampled), quartile_range(sampled.forecast)
    identity = moved(own, sampling.ends(recorded.snapshot, "identity"))
    neutral = Swap(attribute=Attribute.NEUTRAL, terms=tuple(swaps.placebo))
    other = swapped(recorded.snapshot, neutral)
    placebo = identity if other is None else moved(own, sampling.ends(other, "placebo"))
    floor = floor_of(identity, placebo, iqr)
    found = list(_pairs(recorded.snapshot, swaps, sampling, own))
    tested = [one for _, one in found if one is not None]
    significant = iter(holm([one.p_value for one in tested]))
    rows = []
    for swap, one in found:
        row: dict[str, Any] = {"attribute": swap.attribute.value, "terms": swap.terms}
        if one is None:
            rows.append({**row, "result": "absent", "flagged": False})
            continue
        flag = flagged(one, floor_1e8=floor, placebo=placebo, iqr_1e8=iqr)
        told = {"result": "tested", "flagged": flag, "significant": next(significant)}
        rows.append({**row, **_document(one), **told})
    return {
        "paths": len(own),
        "identity": _document(identity),
        "placebo": {"result": "absent"} if other is None else _document(placebo),
        "floor_1e8": floor,
        "iqr_1e8": iqr,
        "bound_1e8": bound_1e8(floor, iqr),
        "pairs": rows,
    }


def _pairs(
    snapshot: Snapshot, swaps: SwapFile, sampling: "_Sampling", own: Sequence[int]
) -> Iterator[tuple[Swap, Moved | None]]:
    for number, text in enumerate(swaps.pairs):
        swap = Swap(attribute=text.attribute, terms=tuple(text.terms))
        other = swapped(snapshot, swap)
        ends = None if other is None else sampling.ends(other, f"pair-{number}")
        yield swap, None if ends is None else moved(own, ends)


def _recorded(steps: Sequence[Past]) -> RecordedPrompt:
    past = steps[-1]
    for made in (one.made for one in reversed(past.attempts)):
        if (
            made is None
            or made.own is None
            or made.asked is None
            or not speaking(made.own.snapshot)
        ):
            continue
        if made.capture is not None and made.target is not None:
            return RecordedPrompt(
                snapshot=made.own.snapshot,
                evidence=made.capture,
                seed=made.asked.seed,
                model_digest=made.target.model_digest,
            )
    raise RequestError(problem="the decision has no forecast, or no news in its prompt")


def ends_of(sampled: Sampled) -> list[int]:
    """Return each trajectory's cumulative log return, 1e-8."""
    return [to_1e8(sum(one.log_returns)) for one in sampled.trajectories]


class _Sampling:
    """Samples a snapshot with the recorded seeds."""

    def __init__(
        self, recorded: RecordedPrompt, codec: TextCodec, table: QTable, engine: Engine
    ) -> None:
        self._recorded, self._codec, self._table, self._engine = recorded, codec, table, engine

    def ends(self, snapshot: Snapshot, name: str) -> list[int]:
        """Return each trajectory's cumulative log return, 1e-8, of another snapshot."""
        evidence = self._recorded.evidence
        samples = self._engine.sample(
            SampleRequest(
                request_id=f"swap.{name}",
                prompt_ids=self._codec.encode(snapshot).token_ids,
                n_tokens=len(evidence.tokens_of(0)),
                seeds=evidence.seeds,
                spec_k=evidence.spec_k,
                allowed_range=(evidence.bin_start, evidence.bin_start + evidence.n_bins),
                deadline_s=DEADLINE_S,
                draft_first=any(r.drafts for r in evidence.rounds if r.step == 0),
            )
        )
        return ends_of(self.sampled_of(condense(samples.capture, self._table)))

    def sampled_of(self, evidence: Evidence) -> Sampled:
        """Return sampled trajectories; the scale is that of the recorded bars."""
        return sample_target(
            evidence,
            codec=self._codec,
            prompt=self._codec.encode(self._recorded.snapshot),
            snapshot=self._recorded.snapshot,
            seed=self._recorded.seed,
            table=self._table,
            model_digest=self._recorded.model_digest,
            capture_digest="",
        )


def _document(one: Moved) -> dict[str, Any]:
    return {
        "distance_1e8": one.distance_1e8,
        "flips": one.flips,
        "p_value": f"{one.p_value.numerator}/{one.p_value.denominator}",
    }
