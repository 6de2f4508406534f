"""Merging packs: idempotent, in any order, and never looser than the policy or a pack."""

from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.installation.policies.packs import newest
from risk.numbers.sections import ALWAYS_ARMED
from risk.policy.changes import HIGHER_LOOSENS, LOWER_LOOSENS, loosened
from risk.policy.jurisdiction import BarredClass, Pack, PackLimit, PackRule
from risk.policy.merging import kept, merged, origins
from risk.policy.policy import (
    RULES_OF_2,
    Policy,
    parse_policy,
    policy_document,
    policy_from_document,
)

DESK = Path(__file__).parents[2] / "risk/policy/policies/desk.json"
OWN = parse_policy(DESK.read_bytes())
BOUNDED = {"directional_p_up_min", "message_rate", "message_burst", "joint_paths_min"}
"""Numbers that other numbers bound: a drawn one may make a policy that is none."""


def limitable() -> list[tuple[str, str, int]]:
    """Return field, unit and value of every number that a pack may limit here."""
    document: Any = policy_document(OWN)
    parts = {"classes.*": document["classes"][0], "instruments.*": document["instruments"][0]}
    parts |= {name: document[name] for name in ("account", "approval", "sizing")}
    parts |= {f"families.{name}": part for name, part in document["families"].items()}
    return [
        (f"{at}.{name}", node["unit"], node["value"])
        for at, part in parts.items()
        for name, node in part.items()
        if isinstance(node, dict)
        and name in HIGHER_LOOSENS | LOWER_LOOSENS
        and name not in BOUNDED
        and node["unit"] in {"lots", "bp", "pct", "us", "count", "ticks", "per_s"}
    ]


FIELDS = limitable()


@st.composite
def packs(draw: st.DrawFn) -> tuple[Pack, ...]:
    """Draw up to three packs around the desk's own numbers."""
    codes = draw(st.lists(st.sampled_from(["AA", "BB", "CC"]), unique=True, max_size=3))
    return tuple(_pack(draw, code) for code in codes)


def _near(value: int) -> st.SearchStrategy[int]:
    """Draw around a value; what is positive stays so, as the policy asks of some."""
    return st.integers(max(min(1, value), value - 3), min(value + 3, 9_999_999_999_999))


def _pack(draw: st.DrawFn, code: str) -> Pack:
    why = {"asks": "drawn", "source": "drawn", "mark": "O"}
    chosen = draw(st.lists(st.sampled_from(FIELDS), unique_by=lambda one: one[0], max_size=6))
    limits = [
        PackLimit.model_validate(
            {
                **why,
                "field": field,
                "value": draw(_near(value)),
                "unit": unit,
                "set_by": "house",
            }
        )
        for field, unit, value in chosen
    ]
    free = sorted(RULES_OF_2 - ALWAYS_ARMED)
    armed = draw(st.lists(st.sampled_from(free), unique=True, max_size=4))
    barred = [{**why, "asset_class": "index"}] if draw(st.booleans()) else []
    return Pack.model_validate(
        {
            "format": "countersign.pack/1",
            "code": code,
            "name": code,
            "version": 1,
            "note": "drawn",
            "owner": "nobody",
            "reviewed": "2026-11-21",
            "review_by": "2027-05-21",
            "limits": tuple(limits),
            "rules": tuple(PackRule.model_validate({**why, "rule": one}) for one in armed),
            "barred": tuple(BarredClass.model_validate(one) for one in barred),
        }
    )


def values(policy: Policy) -> list[int]:
    return [one.value for one in origins(policy, ())]


@given(packs())
@settings(max_examples=25, deadline=None)
def test_merging_is_idempotent_and_does_not_depend_on_the_order(drawn: tuple[Pack, ...]) -> None:
    once = merged(OWN, drawn)
    assert merged(once, drawn) == once
    assert merged(OWN, drawn[::-1]) == once
    assert kept(once, drawn) == ()
    one_by_one = reduce(lambda policy, pack: merged(policy, (pack,)), drawn, OWN)
    backwards = reduce(lambda policy, pack: merged(policy, (pack,)), drawn[::-1], OWN)
    assert values(one_by_one) == values(backwards) == values(once)
    assert one_by_one.packs == backwards.packs or not drawn


@given(packs())
@settings(max_examples=25, deadline=None)
def test_a_merged_policy_is_looser_than_no_input(drawn: tuple[Pack, ...]) -> None:
    strict = merged(OWN, drawn)
    assert loosened(OWN, strict) == ()
    for origin in origins(strict, drawn):
        name = origin.field.rpartition(".")[2]
        for said in origin.said:
            if name in HIGHER_LOOSENS:
                assert origin.value <= said.value
            elif said.by != "own":
                assert origin.value >= said.value
    wanted = {rule.rule for pack in drawn for rule in pack.rules}
    assert all(one.arming_of(rule).armed for one in strict.classes for rule in wanted)


@given(st.lists(st.sampled_from(newest()), unique_by=lambda one: one.code), st.data())
@settings(max_examples=15, deadline=None)
def test_the_packs_that_ship_merge_with_any_numbers(
    chosen: list[Pack], data: st.DataObject
) -> None:
    document: Any = policy_document(OWN)
    for name in ("gross_max", "net_max", "leverage_max", "duplicate_window"):
        node = document["account"][name]
        node["value"] = data.draw(st.integers(1, 2 * node["value"]))
    own = policy_from_document(document)
    strict = merged(own, chosen)
    assert loosened(own, strict) == ()
    assert kept(strict, chosen) == ()
