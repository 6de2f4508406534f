"""Packs of jurisdictions as files, verbs and a page; a policy that names packs keeps them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.errors import RequestError
from gateway.installation.policies.origins import origins_document
from gateway.installation.policies.packs import newest, packs_by_code, packs_said, shipped
from gateway.installation.policies.policy_files import read_policy
from risk.errors import PolicyError
from risk.policy.changes import Looseness, policy_changes
from risk.policy.jurisdiction import parse_pack
from risk.policy.merging import merged, overruled
from risk.policy.policy import Policy, parse_policy, policy_document, policy_from_document
from risk.policy.text import parse_policy_text, policy_text

POLICIES = Path(__file__).parents[4] / "risk/policy/policies"
SHIPPED, FIRST = POLICIES / "desk.json", POLICIES / "playback.json"
DESK = parse_policy(SHIPPED.read_bytes())


def do(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def edited(policy: Policy, *path: str | int, value: object) -> Policy:
    document: Any = policy_document(policy)
    node = document
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value
    return policy_from_document(document)


def test_the_five_packs_ship_with_sources_that_say_how_far_they_were_read() -> None:
    assert [one.code for one in newest()] == ["CN", "EU", "HK", "JP", "US"]
    assert len({(one.code, one.version) for one in shipped()}) == len(shipped())
    marks = {pack.code: {one.mark for one in (*pack.limits, *pack.rules)} for pack in newest()}
    assert marks["JP"] == {"O"}, "no Japanese text was read"
    assert all(one.set_by == "house" for pack in newest() for one in pack.limits if one.mark == "O")
    (barred,) = packs_by_code(["cn"])[0].barred
    assert barred.asset_class == "crypto"
    with pytest.raises(RequestError, match="the packs are CN, EU, HK, JP, US"):
        packs_by_code(["XX"])


def test_a_draft_is_merged_and_says_where_each_number_comes_from(tmp_path: Path) -> None:
    out = tmp_path / "merged.toml"
    done = do("policy", "merge", SHIPPED, "--pack", "EU", "--pack", "us", "--out", out)
    assert done.exit_code == 0, done.output
    assert "account.net_max = 10000 bp, from US  differs (own: 11000)" in done.output
    assert "index R23 armed by US" in done.output
    strict = read_policy(out).policy
    assert [one.code for one in strict.packs or ()] == ["EU", "US"]
    assert strict.account.net_max.owner == "head of compliance"
    assert "from US" in do("policy", "origins", out).output
    assert do("policy", "show", out).exit_code == 0
    again = tmp_path / "again.toml"
    assert do("policy", "merge", out, "--pack", "CN", "--out", again).exit_code == 0
    assert [one.code for one in read_policy(again).policy.packs or ()] == ["CN", "EU", "US"]
    refused = do("policy", "merge", out, "--pack", "CN", "--out", again)
    assert isinstance(refused.exception, RequestError), "nothing is written over"
    assert "names no pack" in do("policy", "origins", SHIPPED).output
    assert "RTS 6 art. 15(1)(a) [S]" in do("policy", "packs", "EU").output
    first = do("policy", "merge", FIRST, "--pack", "EU", "--out", tmp_path / "first.toml")
    assert "use format 2" in str(first.exception)


def test_a_barred_class_has_limits_of_zero() -> None:
    document: Any = policy_document(DESK)
    crypto = json.loads(json.dumps(document["classes"][0]).replace('"index"', '"crypto"'))
    document["classes"].append(crypto)
    document["instruments"][1]["asset_class"] = "crypto"
    policy = policy_from_document(document)
    kept, coin = merged(policy, packs_by_code(["CN"])).instruments
    assert (coin.order_qty_max.value, coin.position_max.value) == (0, 0)
    assert kept.order_qty_max == policy.instruments[0].order_qty_max
    rows = origins_document(merged(policy, packs_by_code(["CN"])))["numbers"]
    assert {one["from"] for one in rows if one["field"] == "instruments.NDXN.order_qty_max"} == {
        "CN"
    }


def test_a_policy_that_is_looser_than_its_packs_is_refused(tmp_path: Path) -> None:
    strict = merged(DESK, packs_by_code(["EU", "US"]))
    assert packs_said(strict) == packs_said(DESK) == ""
    looser = edited(strict, "account", "net_max", "value", value=10_001)
    assert "looser in account.net_max" in packs_said(looser)
    unarmed = edited(
        strict,
        *("classes", 0, "arming", 23),
        value={"rule": "R23", "armed": False, "reason": "tested"},
    )
    assert "arming.R23" in packs_said(unarmed)
    strange = edited(strict, "packs", 0, "digest", value="0" * 64)
    assert "does not ship with this version" in packs_said(strange)
    draft = tmp_path / "looser.toml"
    draft.write_text(policy_text(looser))
    key = tmp_path / "risk.key"
    place = ("--state", tmp_path / "state")
    assert do("officer-key", key, "--role", "risk", *place).exit_code == 0
    signed = do("policy", "sign", draft, "--key", key, *place)
    assert "is looser in account.net_max" in str(signed.exception)


def test_a_merged_policy_goes_through_toml_and_a_pack_more_tightens() -> None:
    strict = merged(DESK, packs_by_code(["EU"]))
    assert parse_policy_text(policy_text(strict)) == strict
    added, *_ = [one for one in policy_changes(DESK, strict) if one.field.startswith("packs")]
    gone, *_ = [one for one in policy_changes(strict, DESK) if one.field.startswith("packs")]
    assert (added.effect, gone.effect) == (Looseness.TIGHTENS, Looseness.LOOSENS)
    assert "packs" not in policy_document(DESK), "a policy without packs has its old digest"
    assert overruled(strict, packs_by_code(["EU"])) == ()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"field": "approval.no_such"}, "neither direction"),
        ({"field": "sizing.steps_per_year"}, "neither direction"),
        ({"value": -1}, "value"),
        ({"mark": "X"}, "mark"),
        ({"unit": "minor"}, "unit"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_pack_that_is_none_is_refused(changed: dict[str, Any], says: str) -> None:
    document: Any = packs_by_code(["EU"])[0].model_dump(mode="json")
    document["limits"][0] |= changed
    with pytest.raises(PolicyError, match=says):
        parse_pack(json.dumps(document).encode())


def test_a_pack_that_fits_no_number_of_the_policy_is_refused() -> None:
    document: Any = packs_by_code(["EU"])[0].model_dump(mode="json")
    document["limits"][0] |= {"unit": "pct"}
    pack = parse_pack(json.dumps(document).encode())
    with pytest.raises(PolicyError, match=r"price_collar is no number .* in pct"):
        merged(DESK, (pack,))
    with pytest.raises(PolicyError, match="named twice"):
        merged(DESK, (pack, pack))
