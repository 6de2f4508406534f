"""Every field of a governed record, changed alone, is found without an officer's key.

But for those named here, which say what neither verifier can hold against another record.

A comparison that a verifier drops makes a field free, and one that it gains must be named no more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from tests.doubles.both_verifiers import judged_by_both
from tests.doubles.broker_files import SignedLog, written_again
from tests.doubles.forged_scenes import SCENES

_SIGNED = frozenset({"signatures.compliance", "signatures.risk"})
"""Which bytes a signature covers is checked with the officers' keys (`forged_logs.SIGNED`)."""
_TOLD = frozenset({"reason", "market_now_us"})
"""Words of a person, a time that no other record has."""
_POLICY = frozenset({"policy_digest", "policy_version"})
"""Which policy was in force is judged of verdicts."""
FREE: Mapping[Kind, frozenset[str]] = {
    Kind.SNAPSHOT_TAKEN: _POLICY | {"as_of_us", "bars_digest", "n_bars", "n_news", "news_digest"},
    Kind.FORECAST_SEALED: frozenset(),
    Kind.FORECAST_TAKEN: _POLICY
    | {"attempt", "author", "session_date", "session_index", "strategy"},
    Kind.PATHS_JOINED: frozenset({"keep_bp", "shrunk_bp"}),
    Kind.APPROVAL_GIVEN: _TOLD | {"shown.sheet_digest"},
    Kind.ORDER_SENDING: _TOLD | {"decided_us"},
    Kind.REPLACE_REQUESTED: _TOLD | {"client_key", "requested_by", "role", "session"},
    Kind.REPLACE_SENT: _TOLD | {"msg_seq_num", "session_epoch"},
    Kind.KILL_RELEASED: _TOLD | _SIGNED | {"released_by"},
    Kind.STOP_ENDED: _TOLD | _SIGNED | {"ended_by"},
    Kind.MODEL_PROMOTED: _SIGNED,
    Kind.FAIRNESS_AGREED: _SIGNED | {"actor_name", "notice_days"},
    Kind.JUSTIFICATION_ENTERED: _SIGNED
    | {"actor_name"}
    | {f"terms.{name}" for name in ("asset_class", "attribute", "bound_bp", "dissent", "side")}
    | {f"terms.{name}" for name in ("horizon_us_max", "mechanism", "proposer", "supersedes")}
    | {f"terms.{name}" for name in ("valid_from_us", "valid_to_us")},
    Kind.DIFFERENCE_RESOLVED: _SIGNED | {"market_time_us", "resolved_by", "terms.side"},
    Kind.PUBLICATION_ENDED: _SIGNED | _TOLD | {"ended_by"},
    Kind.BOOK_ADJUSTED: _SIGNED | {"adjusted_by", "market_time_us"},
    Kind.MODE_ENTERED: _SIGNED | {"account", "dev", "limits", "run_id", "sender", "target"},
}

COMPARED: Mapping[str, frozenset[str]] = {
    scene: frozenset({"forecast_taken author"}) for scene in ("joint", "direct")
}
"""Free fields that a scene has a second record of, by scene.

A playback's decision has no request: its author is compared with the intent's.
"""


def other(value: JSON) -> JSON:
    """Return another value of the same form; None for what has parts."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value[:-1]}{'2' if value.endswith('1') else '1'}"
        case _:
            return None


def fields_in(payload: Mapping[str, JSON], within: str = "") -> Iterator[str]:
    """Yield the names of the single values, those of a part behind its name and a dot."""
    for name, value in payload.items():
        if isinstance(value, Mapping) and within.count(".") < 2:
            yield from fields_in(value, f"{within}{name}.")
        elif other(value) is not None:
            yield f"{within}{name}"


def changed(payload: Mapping[str, Any], field: str) -> dict[str, Any]:
    name, _, rest = field.partition(".")
    if name not in payload or (rest and not isinstance(payload[name], Mapping)):
        return {**payload}
    now = changed(payload[name], rest) if rest else other(payload[name])
    return {**payload, name: now}


def forged(log: SignedLog, kind: Kind, field: str) -> SignedLog:
    def change(draft: Draft) -> Draft:
        if draft.kind is not kind:
            return draft
        return replace(draft, payload=changed(draft.payload, field))

    return written_again(log, change)


@pytest.mark.parametrize("scene", SCENES)
def test_a_field_that_is_changed_alone_is_found_unless_it_is_named_free(
    tmp_path: Path, scene: str
) -> None:
    log = SCENES[scene](tmp_path).ledger()
    drafts: dict[Kind, Draft] = {}

    def seen(draft: Draft) -> Draft:
        drafts.setdefault(draft.kind, draft)
        return draft

    written_again(log, seen)
    asked: dict[str, tuple[SignedLog, list[str]]] = {
        f"{kind.value} {field}": (forged(log, kind, field), [])
        for kind, draft in drafts.items()
        if kind in FREE
        for field in fields_in(draft.payload)
    }
    found = judged_by_both(asked, tmp_path)
    free = {name for name, (code, _) in found.items() if code == 0}
    named = {f"{kind.value} {field}" for kind in drafts for field in FREE.get(kind, ())}
    assert free == (named & asked.keys()) - COMPARED.get(scene, frozenset())


def test_each_kind_is_in_a_scene(tmp_path: Path) -> None:
    kinds: set[Kind] = set()
    for name, scene in SCENES.items():
        (tmp_path / name).mkdir()

        def seen(draft: Draft) -> Draft:
            kinds.add(draft.kind)
            return draft

        written_again(scene(tmp_path / name).ledger(), seen)
    assert kinds >= FREE.keys()
