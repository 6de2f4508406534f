"""Replay of every decision and forecast of a ledger; on request the engine samples them again.

One engine serves all forecasts of one pair, drafter and look-ahead. A decision that differs is
named and the others go on: whoever asks for all wants to know which. A forecast that several
decisions name counts once.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from gateway.errors import PairMissingError, ReplayDiffersError
from gateway.evidence.replay.engine import again, engine_of
from gateway.evidence.replay.forecasts.again import ForecastsAgain
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.replay import replay, replay_forecast
from gateway.evidence.replay.weights import RowQuestion, regenerated
from gateway.installation.place import Place
from gateway.telemetry.console import Progress
from gateway.walk.projections.forecasts import decision_records
from inference.speculation.rounds import DrafterKind
from inference.speculation.totals import paths
from inference.weights.registry import ModelPair, load_table

_Key = tuple[Path, DrafterKind, int]


@dataclass(slots=True)
class _Asked:
    """Forecasts that one engine can sample again by name, each with the first decision of it."""

    pair: ModelPair
    questions: dict[str, tuple[str, RowQuestion]] = field(default_factory=dict)


@dataclass(slots=True)
class _Replayed:
    """What has been replayed; `seqs` are the records, `forecasts` those that differ unnamed."""

    seqs: set[int] = field(default_factory=set)
    sampled: int = 0
    trajectories: int = 0
    tokens: int = 0
    differing: dict[str, str] = field(default_factory=dict)
    forecasts: dict[str, str] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)


def replay_all(place: Place, *, engine: bool = False) -> int:
    """Replay every decision, print what differs and a line of counts; return 1 unless all agree.

    With `engine`, sample every forecast again too. A decision whose weights are not at hand is not
    judged, and does not count as replayed.
    """
    bar, found = Progress(sys.stderr), _Replayed()
    ids = tuple(one.removeprefix("decision/") for one in place.reader.streams("decision/"))
    if not ids:
        sys.stdout.write("no decision on record\n")
        return 0
    asked: dict[_Key, _Asked] = {}
    known: set[str] = set()
    pairs, forecasts = Pairs(place.settings.engine.model), ForecastsAgain()
    for done, decision_id in enumerate(ids):
        bar.show("replay", done, len(ids))
        try:
            pair = pairs.of(decision_records(place.reader, decision_id))
            text = text_codec_of(pair)
            steps = replay(place.reader, load_table(pair), decision_id, text, forecasts)
            for question in steps.rows:
                if question.name not in known:
                    regenerated(question, pair)
                    known.add(question.name)
        except ReplayDiffersError as difference:
            found.differing[decision_id] = str(difference)
            continue
        except PairMissingError as missing:
            found.unjudged[decision_id] = str(missing)
            continue
        found.seqs.update(steps.seqs)
        for question in steps.rows:
            key = (pair.directory, question.evidence.drafter, question.evidence.spec_k)
            at = asked.setdefault(key, _Asked(pair)).questions
            at.setdefault(question.name, (decision_id, question))
    for one in asked.values() if engine else ():
        _sample(one, found, bar)
    _unnamed(place, pairs, found)
    bar.end()
    _say(ids, found, engine=engine)
    return 1 if found.differing or found.forecasts or found.unjudged else 0


def _unnamed(place: Place, pairs: Pairs, found: _Replayed) -> None:
    """Replay the attempts that no decision covered: failed ones, and those of what differs."""
    for stream in place.reader.streams("forecast/"):
        records = tuple(place.reader.records(stream=stream))
        if records[0].seq in found.seqs:
            continue
        try:
            pair = pairs.of(records)
            name = stream.removeprefix("forecast/")
            steps = replay_forecast(place.reader, load_table(pair), name, text_codec_of(pair))
            for question in steps.rows:
                regenerated(question, pair)
            found.seqs.update(steps.seqs)
        except ReplayDiffersError as difference:
            found.forecasts[stream] = str(difference)
        except PairMissingError as missing:
            found.forecasts[stream] = f"not judged: {missing}"


def _sample(asked: _Asked, found: _Replayed, bar: Progress) -> None:
    table = load_table(asked.pair)
    questions = tuple(asked.questions.values())
    with engine_of(asked.pair, questions[0][1].evidence) as child:
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
    for decision_id, difference in (*found.differing.items(), *found.forecasts.items()):
        sys.stdout.write(f"DIFFERS {decision_id}: {difference}\n")
    for decision_id, missing in found.unjudged.items():
        sys.stdout.write(f"NOT JUDGED {decision_id}: {missing}\n")
    if engine:
        sys.stdout.write(
            f"engine  {found.sampled} forecasts sampled again to the same bits:"
            f" {found.trajectories} trajectories, {found.tokens} tokens\n"
        )
    sys.stdout.write(
        f"REPLAYED {len(ids) - len(found.differing) - len(found.unjudged)} of {len(ids)} decisions:"
        f" {len(found.seqs)} records recompute to the same bytes\n"
    )
