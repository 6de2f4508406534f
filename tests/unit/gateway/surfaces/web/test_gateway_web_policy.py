"""The page of the policy in force shows where each number comes from, and the trials."""

from pathlib import Path

from fastapi.testclient import TestClient

from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies.packs import packs_by_code
from gateway.walk.journal.control.oversight.trials import policy_tried
from gateway.walk.journal.run import policy_activated
from risk.policy.merging import merged
from risk.policy.policy import parse_policy, policy_digest
from risk.policy.signing import SignedPolicy, sign_policy
from risk.policy.trial import trial_bytes, trial_document
from tests.doubles.memory_desk import MemoryDesk

DESK = Path(__file__).parents[5] / "risk/policy/policies/desk.json"


def test_a_policy_of_format_1_names_no_pack(browser: TestClient) -> None:
    answer = browser.get("/policy")
    assert answer.status_code == 200
    assert "names no pack" in answer.text
    assert "No draft was tried on record yet" in answer.text


def test_the_page_names_the_pack_that_gave_a_number_and_the_trial(
    browser: TestClient, desk: MemoryDesk
) -> None:
    strict = merged(parse_policy(DESK.read_bytes()), packs_by_code(["EU", "US"]))
    before = policy_digest(desk.small.desk.own.section.policy)
    document = trial_document("memory.test", strict, before, (), ())
    trial = desk.log.put_blob(trial_bytes(document))
    desk.log.append(policy_tried(strict, document, "operator"))
    keys = desk.small.keyring
    signatures = tuple(
        sign_policy(strict, role, f"dev-{role}", keys.signing_key(role), trial)
        for role in SIGNING_ROLES
    )
    signed = SignedPolicy(policy=strict, signatures=signatures)
    desk.log.append(policy_activated(desk.small.tags, signed, reason="tested"))
    text = browser.get("/policy").text
    row = next(line for line in text.splitlines() if "account.net_max" in line)
    row = row[row.index("account.net_max") :].partition("</tr>")[0]
    assert "10,000" in row
    assert '<span class="tag good">US</span>' in row
    assert "RTS 6 art. 15(1)(a) [S]" in text
    assert trial in text
    assert policy_digest(strict)[:16] in text
