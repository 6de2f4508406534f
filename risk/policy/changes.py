"""What differs between two policies, and whether a change loosens or tightens; pure.

Not here: whether a change is right.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from risk.forms.canonical import JSON
from risk.numbers.looser import Looser
from risk.policy.policy import Policy, policy_document
from risk.rules.catalogue import loosening

HIGHER_LOOSENS: Final = frozenset(
    {
        *("price_collar", "quote_age_max", "clock_skew_max", "forecast_age_max"),
        *("narrative_age_max", "interval_width_max", "order_qty_max", "position_max", "short_max"),
        *("order_notional_max", "gross_max", "net_max", "leverage_max", "day_loss_max"),
        *("drawdown_max", "warn_at", "message_rate", "message_burst", "human_notional", "ttl"),
        *("price_band", "size_band", "exposure_band", "target_vol", "risk_share"),
        *("exposure_max", "limit_allowance", "expires_us", "buys", "sells"),
        *loosening(Looser.HIGHER),
    }
)
LOWER_LOOSENS: Final = frozenset(
    {
        *("directional_p_up_min", "paths_min", "cooling_days", "message_reserve"),
        *("duplicate_window", "no_trade_band", "signatures_min", "not_before_us", "armed"),
        *("loosening_wait_us", "sessions_min", "session_span_min", "trading_days_min"),
        *loosening(Looser.LOWER),
    }
)
OF_SHAPES: Final = frozenset(
    {"levels", "growing", "growth_bp", "withdrawn", "larger_bp", "reversals", "move_1e8"}
)
"""Floors in the deny list: a higher one denies less."""
NEITHER: Final = frozenset({"steps_per_year", "fast_look_ahead", "turbulence", "path_move_max"})
"""Numbers of which neither direction is looser: a person must judge."""
TERM: Final = frozenset({"not_before_us", "expires_us"})
PROSE: Final = frozenset(
    {"version", "parent", "author", "name", "rationale", "owner", "review_by", "why", "reason"}
)
"""What no rule reads."""

_NAMED_BY: Final = {
    "classes": "asset_class",
    "instruments": "symbol",
    "arming": "rule",
    "names": "name",
    "permits": "name",
    "mandates": "name",
    "packs": "code",
    "shapes": "name",
    "paths": "name",
    "words": "name",
}
_RESTRICTED: Final = "families.restricted.names."
_PERMITS: Final = "families.authority.permits."
_MANDATES: Final = "families.authority.mandates."
_PACKS: Final = "packs."
_DENIED: Final = ("families.denied.shapes.", "families.denied.paths.", "families.fairness.words.")


class Looseness(StrEnum):
    """What a change does to what may be traded."""

    LOOSENS = "loosens"
    TIGHTENS = "tightens"
    NEITHER = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """One field that differs; None where the section is not in that policy."""

    field: str
    before: JSON
    after: JSON
    effect: Looseness


def policy_changes(before: Policy, after: Policy) -> tuple[PolicyChange, ...]:
    """Return every field that differs, in the order of the policies."""
    old = dict(_leaves(policy_document(before), ""))
    new = dict(_leaves(policy_document(after), ""))
    gone, added = _sections(before) - _sections(after), _sections(after) - _sections(before)
    sections, whole = frozenset(_sections(before) | _sections(after)), gone | added
    found = [_whole(name, gone=True) for name in sorted(gone)]
    found += [_whole(name, gone=False) for name in sorted(added)]
    for field in dict.fromkeys((*old, *new)):
        if old.get(field) != new.get(field) and _section_of(field, sections) not in whole:
            effect = _effect(field, old.get(field), new.get(field))
            found.append(
                PolicyChange(
                    field=field, before=old.get(field), after=new.get(field), effect=effect
                )
            )
    return tuple(found)


def loosened(before: Policy, after: Policy) -> tuple[PolicyChange, ...]:
    """Return the changes that may permit more: those that loosen, and those nobody can order.

    The term is left out: within it the same is permitted. So is prose, which no rule reads.
    """
    left_out = TERM | PROSE
    return tuple(
        one
        for one in policy_changes(before, after)
        if one.effect is not Looseness.TIGHTENS and one.field.rpartition(".")[2] not in left_out
    )


def _sections(policy: Policy) -> set[str]:
    """Return the prefix of each class, instrument, pack, restricted name, permit and mandate."""
    found = {f"classes.{one.asset_class}." for one in policy.classes}
    found |= {f"instruments.{one.symbol}." for one in policy.instruments}
    found |= {f"{_PACKS}{one.code}." for one in policy.packs or ()}
    if policy.families is not None:
        found |= {f"{_RESTRICTED}{one.name}." for one in policy.families.restricted.names}
        found |= {f"{_PERMITS}{one.name}." for one in policy.families.authority.permits}
        found |= {f"{_MANDATES}{one.name}." for one in policy.families.authority.mandates}
        if (denied := policy.families.denied) is not None:
            found |= {f"{_DENIED[0]}{one.name}." for one in denied.shapes}
            found |= {f"{_DENIED[1]}{one.name}." for one in denied.paths}
        if (lexicon := policy.families.fairness) is not None:
            found |= {f"{_DENIED[2]}{one.name}." for one in lexicon.words}
    return found


def _section_of(field: str, sections: frozenset[str]) -> str:
    """Return the longest prefix: a field of BRK.B is not one of BRK."""
    return max((one for one in sections if field.startswith(one)), key=len, default="")


def _whole(name: str, *, gone: bool) -> PolicyChange:
    """What is not listed is refused: a section more loosens. Names, duties, packs, shapes: not."""
    tightens = gone != name.startswith((_RESTRICTED, _MANDATES, _PACKS, *_DENIED))
    return PolicyChange(
        field=name[:-1],
        before="listed" if gone else None,
        after=None if gone else "listed",
        effect=Looseness.TIGHTENS if tightens else Looseness.LOOSENS,
    )


def _effect(field: str, before: JSON, after: JSON) -> Looseness:
    parts = field.split(".")
    name = parts[-2] if parts[-1] == "value" else parts[-1]
    if name in LOWER_LOOSENS:
        before, after = after, before
    elif name not in HIGHER_LOOSENS | OF_SHAPES:
        return Looseness.NEITHER
    if not isinstance(before, int) or not isinstance(after, int):
        return Looseness.NEITHER
    return Looseness.LOOSENS if after > before else Looseness.TIGHTENS


def _leaves(value: JSON, at: str) -> Iterator[tuple[str, JSON]]:
    """Yield each single value under its dotted name; entries of a list by what names them."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        key = _NAMED_BY[at.rpartition(".")[2]]
        for inner in value:
            entry = cast("dict[str, JSON]", inner)
            yield from _leaves({k: v for k, v in entry.items() if k != key}, f"{at}.{entry[key]}")
    else:
        yield at, value
