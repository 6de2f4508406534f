"""Runs of counterfactual swaps, put on record by a person and listed.

The person's own process samples, so that it takes no time from the gateway. The gateway checks
that the decision's forecast is of these weights and has as many paths and these quartiles, that the
identity moved nothing, and that floor, bound and flags follow from the effects.
"""

from fractions import Fraction
from typing import Any, Final

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.fairness import EffectBody, SwapsBody
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError
from gateway.walk.journal.control.oversight.swaps import TESTED, SwapsTested, swaps_tested
from gateway.walk.journal.forecast import ForecastMade
from gateway.walk.projections.forecasts import decision_records
from inference.forecast.forecast import Forecast
from inference.forecast.swaps import (
    UNMOVED,
    Moved,
    bound_1e8,
    flagged,
    floor_of,
    quartile_range,
)
from risk.forms.canonical import digest
from risk.forms.documents import value_of
from risk.numbers.lexicon import FairnessLexicon
from risk.windows.fairness.holm import holm

LISTED_MAX: Final = 50


def record_swaps(own: DeskParts, actor: str, body: SwapsBody) -> dict[str, Any]:
    """Put a run on record under the person's name; every verdict after it reads it.

    Raises:
        RequestError: the decision has no forecast of these weights, its record says otherwise, or
            bound and flags do not follow from the effects.
        AuditError: the ledger does not take it.
    """
    records = decision_records(own.reader, body.decision_id)
    stated = [ForecastMade.of(one) for one in records if one.kind is Kind.FORECAST_MADE]
    made = [one for one in stated if one.model_digest == body.model]
    if not made:
        raise RequestError(
            problem=f"{body.decision_id} has no forecast of the weights {body.model[:16]} in this"
            " ledger: run the swaps on a decision of this installation"
        )
    _refuse_unrecorded(body, value_of(Forecast, made[-1].forecast))
    _refuse_unfounded(body)
    families = own.section.policy.families
    run = SwapsTested.read(
        {
            **body.model_dump(exclude={"decision_id", "model"}),
            "tested_id": body.decision_id,
            "model_digest": body.model,
            "lexicon_digest": lexicon_digest(None if families is None else families.fairness),
            "outside": sum(row.flagged for row in body.pairs),
            "actor_name": actor,
        }
    )
    (record,) = own.tools.ledger.append(swaps_tested(run))
    return {"seq": record.seq, "outside": run.outside}


def lexicon_digest(lexicon: FairnessLexicon | None) -> str:
    """Return the digest of a policy's lexicon; empty without one."""
    if lexicon is None:
        return ""
    return digest("countersign.fairness_lexicon/1", lexicon.model_dump(mode="json"))


def recorded_swaps(reader: LedgerReader) -> list[dict[str, Any]]:
    """Return the newest runs on record, newest first."""
    found = reader.records(
        stream="control", kinds=(Kind.SWAPS_TESTED,), newest_first=True, limit=LISTED_MAX
    )
    return [{"seq": one.seq, **SwapsTested.of(one).document()} for one in found]


def _refuse_unrecorded(body: SwapsBody, forecast: Forecast) -> None:
    """Refuse a run whose paths, quartiles or identity are not those of the recorded forecast."""
    follows = {
        "paths": body.paths == forecast.n_paths + forecast.n_dropped,
        "iqr_1e8": body.iqr_1e8 == quartile_range(forecast),
        "identity": body.identity.result == TESTED and _moved(body.identity) == UNMOVED,
    }
    if wrong := [name for name, good in follows.items() if not good]:
        raise RequestError(
            problem=f"{', '.join(wrong)} is not what the recorded forecast of {body.decision_id}"
            " gives: run `countersign swaps` with this installation's weights and engine"
        )


def _refuse_unfounded(body: SwapsBody) -> None:
    """Refuse a run whose floor, bound, flags or significance its own effects contradict."""
    identity, placebo = _moved(body.identity), _moved(body.placebo)
    if body.placebo.result != TESTED:
        placebo = identity
    floor = floor_of(identity, placebo, body.iqr_1e8)
    tested = [row for row in body.pairs if row.result == TESTED]
    wanted = iter(holm([_moved(row).p_value for row in tested]))
    flags = [
        row.result == TESTED
        and flagged(_moved(row), floor_1e8=floor, placebo=placebo, iqr_1e8=body.iqr_1e8)
        for row in body.pairs
    ]
    follows = {
        "floor_1e8": body.floor_1e8 == floor,
        "bound_1e8": body.bound_1e8 == bound_1e8(floor, body.iqr_1e8),
        "flagged": [row.flagged for row in body.pairs] == flags,
        "significant": [row.significant for row in tested] == list(wanted),
    }
    if wrong := [name for name, good in follows.items() if not good]:
        raise RequestError(
            problem=f"{', '.join(wrong)} does not follow from the effects: send what"
            " `countersign swaps` printed"
        )


def _moved(one: EffectBody) -> Moved:
    try:
        return Moved(distance_1e8=one.distance_1e8, flips=one.flips, p_value=Fraction(one.p_value))
    except ZeroDivisionError:
        raise RequestError(problem=f"{one.p_value} is no probability") from None
