"""Criteria of fairness are agreed on record, and count from their day on."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import wall_us
from gateway.desk.bodies.fairness import CriteriaBody
from gateway.desk.officers.oversight.criteria import (
    agree_on,
    criteria_document,
    criteria_on,
    criteria_statement,
)
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from risk.forms.documents import document_of
from risk.windows.fairness.criteria import (
    NOTICE_DAYS,
    PRODUCT,
    FairnessCriteria,
    SignOff,
    criteria_digest,
    criteria_faults,
)
from tests.doubles.memory_desk import MemoryDesk, memory_desk

TODAY = datetime.fromtimestamp(wall_us() / 1_000_000, tz=UTC).date()
SOON = (TODAY + timedelta(days=NOTICE_DAYS + 1)).isoformat()
RISK = SignOff(role="risk", who="rita", vote="agreed", objection="")
COMPLIANCE = SignOff(role="compliance", who="carla", vote="agreed", objection="")
UNION = SignOff(role="desk", who="dora", vote="objected", objection="Sector is too coarse.")
NEXT = FairnessCriteria(
    version=2,
    proposer="pia",
    effective_day=SOON,
    attributes=("region", "sector"),
    protected=("gender",),
    proxies=("surname",),
    signed_off=(RISK, COMPLIANCE, UNION),
)


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    made = memory_desk(tmp_path)
    made.ask(20)
    return made


def agree(desk: MemoryDesk, criteria: FairnessCriteria, said: FairnessCriteria) -> dict[str, Any]:
    own = desk.small.desk.own
    signed = criteria_statement(log_id(own.reader, own.origin), said)
    keys = desk.small.keyring
    body = CriteriaBody(
        criteria=dict(document_of(criteria)),
        signatures={role: keys.signing_key(role).sign(signed).hex() for role in SIGNING_ROLES},
    )
    return agree_on(own, "operator", body)


def test_agreed_criteria_count_from_their_day_on(desk: MemoryDesk) -> None:
    done = agree(desk, NEXT, NEXT)
    reader = desk.small.reader
    assert done["criteria_digest"] == criteria_digest(NEXT)
    assert criteria_on(reader, SOON) == NEXT
    before = (date.fromisoformat(SOON) - timedelta(days=1)).isoformat()
    assert criteria_on(reader, before) == PRODUCT
    newest, product = criteria_document(reader)["criteria"]
    assert (newest["seq"], newest["signed_off"][2]["objection"]) == (
        done["seq"],
        "Sector is too coarse.",
    )
    assert product["digest"] == criteria_digest(PRODUCT)
    with pytest.raises(RequestError, match="version 2 does not follow version 2"):
        agree(desk, NEXT, NEXT)


def test_criteria_that_the_officers_did_not_sign_are_not_recorded(desk: MemoryDesk) -> None:
    size = desk.log.size
    with pytest.raises(RequestError, match="both officers sign criteria"):
        agree(desk, NEXT, replace(NEXT, proposer="somebody"))
    with pytest.raises(RequestError, match="no criteria"):
        agree_on(desk.small.desk.own, "operator", CriteriaBody(criteria={}, signatures={}))
    assert desk.log.size == size


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"version": 3}, "does not follow"),
        ({"effective_day": (TODAY + timedelta(days=NOTICE_DAYS - 1)).isoformat()}, "less than 14"),
        ({"effective_day": "soon"}, "not a day"),
        ({"attributes": ("height",)}, "attributes are some of"),
        ({"protected": ("Two Words",)}, "not one folded word"),
        ({"proposer": " "}, "nobody is named"),
        ({"proposer": "rita"}, "cannot agree"),
        ({"signed_off": (RISK, UNION)}, "compliance agreed"),
        ({"signed_off": (RISK, replace(COMPLIANCE, who="rita"))}, "votes twice"),
        ({"signed_off": (RISK, COMPLIANCE, replace(UNION, objection=""))}, "has a text"),
        ({"signed_off": (RISK, replace(COMPLIANCE, objection="but"))}, "has a text"),
        (
            {"signed_off": (RISK, COMPLIANCE, replace(UNION, vote="perhaps"))},
            "is agreed or objected",
        ),
    ],
)
def test_criteria_without_notice_or_agreement_may_not_follow(
    changed: dict[str, Any], says: str
) -> None:
    assert criteria_faults(NEXT, PRODUCT, TODAY) == ()
    assert says in "; ".join(criteria_faults(replace(NEXT, **changed), PRODUCT, TODAY))
