"""A policy as commented text is the same policy, and what differs between two is said."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from risk.errors import PolicyError
from risk.numbers.stated import Stated
from risk.policy.changes import (
    HIGHER_LOOSENS,
    LOWER_LOOSENS,
    NEITHER,
    Looseness,
    PolicyChange,
    policy_changes,
)
from risk.policy.policy import Policy, policy_digest, policy_document, policy_from_document
from risk.policy.text import parse_policy_text, policy_text
from tests.doubles.risk_cases import PLAYBACK

Document = dict[str, Any]
Alter = Callable[[Document], object]
TEXT = policy_text(PLAYBACK)
LINES = TEXT.split("\n")


def after(header: str, entry: str) -> int:
    """Return the number of the first line that begins with `entry` after a header."""
    start = LINES.index(header)
    return next(n for n, line in enumerate(LINES[start:], start + 1) if line.startswith(entry))


def altered(change: Alter) -> Policy:
    document: Document = policy_document(PLAYBACK)
    change(document)
    return policy_from_document(document)


def test_the_text_is_the_policy_and_comments_do_not_count() -> None:
    assert policy_digest(parse_policy_text(TEXT)) == policy_digest(PLAYBACK)
    bare = "\n".join(line for line in LINES if not line.startswith("#"))
    assert policy_digest(parse_policy_text(bare)) == policy_digest(PLAYBACK)
    assert sum("#" in line for line in LINES) > 60, "it is commented"


@pytest.mark.parametrize("said", ['a "quote" \\ and\ttab\nline', "\x7f\x01", "ünïcödé 😀", "# no"])
def test_any_text_survives(said: str) -> None:
    def change(document: Document) -> None:
        document["account"]["gross_max"]["rationale"] = said

    policy = altered(change)
    assert parse_policy_text(policy_text(policy)) == policy


@pytest.mark.parametrize(
    ("header", "old", "new", "said"),
    [
        ("[classes.price_collar]", "value = 300", "value = 3.5", "price_collar.value"),
        ("[classes.price_collar]", "value = 300", 'value = "300"', "price_collar.value"),
        ("[instruments.short_max]", "value = 0", "value = -1", "instruments.0.short_max.value"),
        ("[account.gross_max]", "unit =", 'unit = "lots" #', "account.gross_max.unit"),
        ("[account.gross_max]", "owner =", 'ownr = "x" #', "account.gross_max.owner"),
    ],
)
def test_a_wrong_number_is_named_with_its_line(header: str, old: str, new: str, said: str) -> None:
    number = after(header, old)
    lines = list(LINES)
    lines[number - 1] = lines[number - 1].replace(old, new, 1)
    with pytest.raises(PolicyError, match=said) as refused:
        parse_policy_text("\n".join(lines))
    named = int(str(refused.value).partition(":")[0].removeprefix("line "))
    assert named in {number, LINES.index(header) + 1}


def test_the_second_instrument_has_its_own_lines() -> None:
    first = TEXT.index("[instruments.position_max]")
    at = TEXT.index("[instruments.position_max]", first + 1)
    spoiled = TEXT[:at] + TEXT[at:].replace("value = ", "value = x", 1).replace("x", '"', 1)
    with pytest.raises(PolicyError, match=r"line \d+, column \d+: not TOML"):
        parse_policy_text(spoiled)
    spoiled = TEXT[:at] + TEXT[at:].replace("value = ", "value = -", 1)
    with pytest.raises(PolicyError, match=r"instruments\.1\.position_max") as refused:
        parse_policy_text(spoiled)
    assert f"line {TEXT[:at].count(chr(10)) + 2}: " in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "format"),
        ("a = [", "line 1"),
        ("name = 2026-11-22", "a date or time"),
        (TEXT.replace("signatures_min = 2", "signatures_min = 1"), "signatures_min"),
        (TEXT + "\n[sizing.more]\nvalue = 1\n", r"line \d+: sizing.more"),
        (TEXT.replace("expires_us = ", "expires_us = 1 # "), "ends before it begins"),
    ],
)
def test_text_that_is_no_policy_is_refused(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        parse_policy_text(text)


def numbers(model: type[BaseModel] = Policy) -> set[str]:
    """Return the name of every number in the policy's classes."""
    found: set[str] = set()
    for name, info in model.model_fields.items():
        kinds = (info.annotation, *getattr(info.annotation, "__args__", ()))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Stated):
                found.add(name)
            elif isinstance(kind, type) and issubclass(kind, BaseModel):
                found |= numbers(kind)
    return found


def test_each_number_says_which_way_is_looser() -> None:
    others = {"expires_us", "not_before_us", "signatures_min", "armed"}
    others |= {"loosening_wait_us", "buys", "sells"}
    assert numbers() == (HIGHER_LOOSENS | LOWER_LOOSENS | NEITHER) - others
    assert not HIGHER_LOOSENS & LOWER_LOOSENS


def put(*path: str | int, value: object) -> Alter:
    def change(document: Document) -> None:
        at: Any = document
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "field", "effect"),
    [
        (put("account", "gross_max", "value", value=12_501), "account.gross_max.value", "loosens"),
        (put("account", "gross_max", "value", value=1), "account.gross_max.value", "tightens"),
        (put("account", "gross_max", "owner", value="x"), "account.gross_max.owner", "-"),
        (put("account", "cooling_days", "value", value=0), "account.cooling_days.value", "loosens"),
        (put("sizing", "steps_per_year", "value", value=1), "sizing.steps_per_year.value", "-"),
        (put("signatures_min", value=3), "signatures_min", "tightens"),
        (put("author", value="x"), "author", "-"),
        (
            put("instruments", 1, "short_max", "value", value=5),
            "instruments.NDXN.short_max.value",
            "loosens",
        ),
    ],
)
def test_a_change_is_named_with_its_effect(change: Alter, field: str, effect: str) -> None:
    (found,) = policy_changes(PLAYBACK, altered(change))
    assert (found.field, found.effect.value) == (field, effect)
    (back,) = policy_changes(altered(change), PLAYBACK)
    turned = {"loosens": "tightens", "tightens": "loosens", "-": "-"}
    assert back == PolicyChange(
        field=field, before=found.after, after=found.before, effect=Looseness(turned[effect])
    )


def test_a_rule_that_is_disarmed_loosens() -> None:
    def disarm(document: Document) -> None:
        document["classes"][0]["arming"][4] |= {"armed": False, "reason": "no collar"}

    rule = PLAYBACK.classes[0].arming[4].rule
    found = policy_changes(PLAYBACK, altered(disarm))
    assert [(one.field, one.effect) for one in found] == [
        (f"classes.index.arming.{rule}.armed", Looseness.LOOSENS),
        (f"classes.index.arming.{rule}.reason", Looseness.NEITHER),
    ]


def test_an_instrument_more_loosens_and_one_less_tightens() -> None:
    fewer = altered(lambda document: document["instruments"].pop())
    (gone,) = policy_changes(PLAYBACK, fewer)
    assert (gone.field, gone.effect) == ("instruments.NDXN", Looseness.TIGHTENS)
    (more,) = policy_changes(fewer, PLAYBACK)
    assert (more.field, more.effect) == ("instruments.NDXN", Looseness.LOOSENS)


def test_order_is_no_difference() -> None:
    assert policy_changes(PLAYBACK, altered(lambda d: d["instruments"].reverse())) == ()


def test_a_section_less_hides_no_change_of_a_longer_name() -> None:
    both = altered(lambda d: d["instruments"][1].update(symbol="SPXN.B"))

    def drop(document: Document) -> None:
        document["instruments"][1]["symbol"] = "SPXN.B"
        document["instruments"][1]["position_max"]["value"] += 1
        del document["instruments"][0]

    found = {one.field: one.effect.value for one in policy_changes(both, altered(drop))}
    assert found == {
        "instruments.SPXN": "tightens",
        "instruments.SPXN.B.position_max.value": "loosens",
    }
