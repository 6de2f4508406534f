"""Statements about joint paths: what a set is joined from, and which set a decision names.

Not here: how the paths follow from the set (a replay joins them again).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.statements.attempts import FORECASTS, INDEXES, SETS
from audit.verifier.parts.contents.statements.forecasts import ended_attempt, forecast_name
from audit.verifier.parts.contents.statements.listings import PASSED_OVER
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    SeenSet,
    VerifiedRecord,
    list_of,
    mapping_of,
    same,
    whole_numbers,
)
from audit.verifier.parts.contents.statements.verdicts import Findings

_JOINED_BY: Final = b"countersign/joint/1"
_WHOLE_CORRELATION: Final = 1_000_000
_WHOLE_BP: Final = 10_000
_PARTS: Final = ("keep_bp", "without_bp", "shrunk_bp")
FEWEST_JOINED: Final = 2
_NEWS_PATHS: Final = "news_twin_made"
PATHS_OF: Final = {
    "intent_proposed": "forecast_made",
    "placebo_judged": "placebo_made",
    "gjr_judged": "gjr_made",
}
"""Whose paths a record rests on, by its kind."""


def judge_joint(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a set of joint paths, or a record that names one, says that others do not."""
    match said.kind:
        case "paths_joined":
            yield from _set_faults(seen, said)
        case "verdict_given":
            yield from _judged_faults(seen, said)
        case _:
            yield from _naming_faults(seen, said)


def _set_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    body, members = said.body, [mapping_of(one) for one in list_of(said.body.get("members"))]
    named = [
        [one.get(name) for name in ("instrument", "forecast_id", "attempt", "paths")]
        for one in members
    ]
    inputs = {name: body.get(name) for name in ("rule", "without_bp")}
    if said.head["stream"] != f"{SETS}{text_of(body.get('joint_id'))}":
        yield "it is in the stream of another set"
    if said.head["stream_seq"] != 0:
        yield "its set was joined before it"
    if not same(body.get("joint_id"), forecast_name({"members": named, **inputs})):
        yield "its joint_id is not that of its members"
    symbols = [text_of(one.get("instrument")) for one in members]
    if len(symbols) < FEWEST_JOINED or symbols != sorted(set(symbols)):
        yield "its members are not two or more instruments, each once, in order"
    kinds = sorted(text_of(one.get("paths")) for one in members)
    news = kinds.count(_NEWS_PATHS) == 1 and {*kinds} <= {_NEWS_PATHS, "forecast_made"}
    if not news and not (len({*kinds}) == 1 and kinds[0] in PATHS_OF.values()):
        yield "its members' paths are not of one kind"
    count, found = len(members), whole_numbers(list_of(body.get("correlation_1e6")))
    if (
        found is None
        or len(found) != count * (count - 1) // 2
        or any(abs(r) > _WHOLE_CORRELATION for r in found)
    ):
        yield "its correlation is not one number within one for each pair"
    parts = whole_numbers([body.get(name) for name in _PARTS])
    if parts is None or any(not 0 <= part <= _WHOLE_BP for part in parts):
        yield "a part of it is not between none and the whole"
    n_paths = body.get("n_paths")
    if type(n_paths) is not int or n_paths < 1:
        yield "it has no number of paths"
    yield from _members_faults(seen, said, members)


def _members_faults(
    seen: Earlier, said: VerifiedRecord, members: Sequence[Mapping[str, Any]]
) -> Findings:
    """Yield what a set says of its members that their own records do not."""
    seeds = list[bytes]()
    for one in members:
        stream = f"{FORECASTS}{text_of(one.get('forecast_id'))}.{text_of(one.get('attempt'))}"
        found = ended_attempt(seen, stream)
        if found is None or found.inputs is None:
            if seen.whole:
                yield "a forecast that it joins is not on record before it"
            continue
        seeds += [found.seed] if found.seed else []
        if not same(found.inputs.get("instrument"), one.get("instrument")):
            yield "a forecast that it joins is of another instrument"
        named = [one.get("of_seq"), one.get("of_leaf")]
        if found.outcome != "made" or found.made is None or not same([*found.made], named):
            yield "a record that it names is not the forecast that was made"
        elif found.made[0] >= said.seq:
            yield "a forecast that it joins is not before it"
    digest = hashlib.sha256(_JOINED_BY + b"".join(seeds)).hexdigest()
    if len(seeds) == len(members) and not same(said.body.get("seed"), digest):
        yield "its seed is not that of its members' seeds"


def _naming_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a record says of the set of joint paths that it names."""
    own, paths = seen.of(said), mapping_of(said.body.get("paths"))
    if own.gap:
        return
    yield from _read_faults(seen, said, paths)
    joint = mapping_of(paths.get("joint"))
    if not joint:
        return
    found = seen.joined.get(text_of(joint.get("joint_id")))
    if found is None:
        if seen.whole:
            yield "the joint paths that it names are not on record before it"
        return
    if not same([*found.place], [joint.get("of_seq"), joint.get("of_leaf")]):
        yield "it names another record than that of its joint paths"
    if not same([*found.result], [paths.get("digest"), paths.get("n_paths")]):
        yield "its joint paths are not those of the set"
    if own.taken is not None and own.taken.get("of_seq") is not None:
        yield from _standing_faults(seen, said, own.taken, found)


def _standing_faults(
    seen: Earlier, said: VerifiedRecord, taken: Mapping[str, Any], found: SeenSet
) -> Findings:
    """Yield which member is not the forecast that stood when the decision took its own."""
    symbol, wanted = text_of(taken.get("instrument")), PATHS_OF[said.kind]
    if symbol not in found.members:
        yield "its own forecast is not among the members of its joint paths"
    for instrument, (forecast_id, attempt, kind) in found.members.items():
        named = [forecast_id, attempt]
        if kind != wanted:
            yield "its joint paths are of another kind"
        if instrument == symbol:
            if not same(named, [taken.get("forecast_id"), taken.get("forecast_attempt")]):
                yield "its own forecast is not the member of its joint paths"
            continue
        index = seen.indexes.found.get(f"{INDEXES}{instrument}")
        if index is None:
            if seen.whole:
                yield f"of {instrument} no forecast stood"
        elif not index.gap and not same(list(index.stood(taken["seq"]) or ()), named):
            yield f"of {instrument} {PASSED_OVER}"


def _judged_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield that a verdict rests on other paths than the intent that it judges."""
    own = seen.of(said)
    if not own.gap and own.paths is not None:
        yield from _read_faults(seen, said, mapping_of(own.paths))


def _read_faults(seen: Earlier, said: VerifiedRecord, named: Mapping[str, Any]) -> Iterator[str]:
    """Yield that the rules of a record read other paths than those that are named.

    Without a set the paths are of the one instrument of the forecast that was taken.
    """
    inputs, taken = said.body.get("inputs"), seen.of(said).taken
    if not isinstance(inputs, dict):
        return
    read, joint = mapping_of(inputs.get("paths")), mapping_of(named.get("joint"))
    if not same(read.get("digest"), named.get("digest")):
        yield "its rules read other paths than those that are named"
    if not read:
        return
    if not joint and taken is not None and not same(read.get("instruments"), [taken["instrument"]]):
        yield "it rests on paths of other instruments, and no set is named"
    found = seen.joined.get(text_of(joint.get("joint_id"))) if joint else None
    if found is not None and not same(read.get("instruments"), [*found.members]):
        yield "its joint paths are of other instruments than the set"
