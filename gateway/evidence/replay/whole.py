"""Replay of every decision of a ledger; on request the engine samples all of them again.

One engine serves all forecasts of one pair, drafter and look-ahead. A decision that differs is
named and the others go on: whoever asks for all wants to know which.
"""

import sys
from dataclasses import dataclass, field

from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.engine import again, engine_of
from gateway.evidence.replay.replay import replay
from gateway.evidence.replay.weights import RowQuestion, regenerated
from gateway.installation.place import Place
from gateway.telemetry.console import Progress
from inference.speculation.rounds import DrafterKind
from inference.speculation.totals import paths

_Key = tuple[DrafterKind, int]


@dataclass(slots=True)
class _Replayed:
    """What has been replayed."""

    steps: int = 0
    forecasts: int = 0
    sampled: int = 0
    trajectories: int = 0
    tokens: int = 0
    elsewhere: int = 0
    differing: dict[str, str] = field(default_factory=dict)


def replay_all(place: Place, *, engine: bool = False) -> int:
    """Replay every decision, print what differs and a line of counts; return 1 if any differs.

    With `engine`, sample every forecast again too, of the pair that the settings name.
    """
    bar, found = Progress(sys.stderr), _Replayed()
    ids = tuple(one.removeprefix("decision/") for one in place.reader.streams("decision/"))
    if not ids:
        sys.stdout.write("no decision on record\n")
        return 0
    asked: dict[_Key, list[tuple[str, RowQuestion]]] = {}
    pair, table = place.pair, place.table
    for done, decision_id in enumerate(ids):
        bar.show("replay", done, len(ids))
        try:
            steps = replay(place.reader, table, decision_id)
            for question in steps.rows:
                regenerated(question, pair)
        except ReplayDiffersError as difference:
            found.differing[decision_id] = str(difference)
            continue
        found.steps += len(steps.lines)
        for question in steps.rows:
            found.forecasts += 1
            if question.model_digest != pair.manifest_digest:
                found.elsewhere += 1
                continue
            evidence = question.evidence
            asked.setdefault((evidence.drafter, evidence.spec_k), []).append(
                (decision_id, question)
            )
    if engine:
        for questions in asked.values():
            _sample(place, questions, found, bar)
    bar.end()
    _say(ids, found, engine=engine)
    return 1 if found.differing else 0


def _sample(
    place: Place, questions: list[tuple[str, RowQuestion]], found: _Replayed, bar: Progress
) -> None:
    table = place.table
    with engine_of(place.pair, questions[0][1].evidence) as child:
        for done, (decision_id, question) in enumerate(questions):
            bar.show("sampled again", done, len(questions))
            try:
                again(question, child, table)
            except ReplayDiffersError as difference:
                found.differing[decision_id] = str(difference)
                continue
            found.sampled += 1
            found.trajectories += len(question.evidence.seeds)
            found.tokens += sum(len(path) for path in paths(question.evidence))


def _say(ids: tuple[str, ...], found: _Replayed, *, engine: bool) -> None:
    for decision_id, difference in found.differing.items():
        sys.stdout.write(f"DIFFERS {decision_id}: {difference}\n")
    if found.elsewhere:
        sys.stdout.write(f"weights not at hand for {found.elsewhere} forecasts: not regenerated\n")
    if engine:
        sys.stdout.write(
            f"engine  {found.sampled} forecasts sampled again to the same bits:"
            f" {found.trajectories} trajectories, {found.tokens} tokens\n"
        )
    sys.stdout.write(
        f"REPLAYED {len(ids) - len(found.differing)} of {len(ids)} decisions:"
        f" {found.steps} records recompute to the same bytes, {found.forecasts} forecasts\n"
    )
