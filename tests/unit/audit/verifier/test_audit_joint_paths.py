"""Outsiders see which joint paths a decision rests on, and that no member of them was passed over.

In a whole log and in a decision's bundle, which has the set, its members and their indexes.
"""

import pytest

from audit.verifier import verify
from audit.verifier.verify import INCOMPLETE, OK, TAMPERED
from tests.doubles.audit_log import dump_of
from tests.doubles.forecast_log import ForecastLog
from tests.unit.audit.verifier.test_audit_forecasts import Ask, ask, bundle_of, log_of, without

__all__ = ["ask"]


def both_say(log: ForecastLog, ask: Ask, wanted: int, why: str) -> None:
    """The whole log and the decision's bundle have this verdict."""
    log.checkpoint()
    for data in (b"".join(dump_of(log)), bundle_of(log)):
        code, said = ask(data)
        assert (code, why in said) == (wanted, True), said


def test_a_decision_on_joint_paths_is_shown_with_the_set_and_its_members(ask: Ask) -> None:
    log = log_of()
    own, other = log.attempt(), log.attempt(instrument="NDXN")
    log.decide_jointly("d1", own, other)
    log.attempt(secure=True)
    log.attempt(instrument="NDXN", secure=True)
    both_say(log, ask, OK, "")
    stems = verify.read_bundle(bundle_of(log)).records
    assert sum("-forecast_made" in stem for stem in stems) == 2
    assert sum("-paths_joined" in stem for stem in stems) == 1


def test_a_member_that_was_passed_over_is_found(ask: Ask) -> None:
    """A newer forecast of the other instrument stood when the decision took its own."""
    log = log_of()
    own, other = log.attempt(), log.attempt(instrument="NDXN")
    log.attempt(instrument="NDXN", secure=True)
    log.decide_jointly("d1", own, other)
    log.attempt(instrument="NDXN")
    both_say(log, ask, TAMPERED, "a forecast that stood was passed over")


def test_a_set_without_the_decisions_own_forecast_is_found(ask: Ask) -> None:
    log = log_of()
    own, one, other = (log.attempt(instrument=name) for name in ("SPXN", "NDXN", "DAXN"))
    named = log.join(one, other)
    log.decide_jointly("d1", own, one, joint=named)
    both_say(log, ask, TAMPERED, "its own forecast is not among the members of its joint paths")


def test_a_set_that_was_joined_twice_is_found(ask: Ask) -> None:
    """The later record could say other paths than the one that decisions name."""
    log = log_of()
    own, other = log.attempt(), log.attempt(instrument="NDXN")
    log.join(own, other)
    log.decide_jointly("d1", own, other)
    both_say(log, ask, TAMPERED, "its set was joined before it")


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        (("forecast_made", "news_twin_made"), OK),
        (("placebo_made", "placebo_made"), OK),
        (("gjr_made", "gjr_made"), OK),
        (("news_twin_made", "news_twin_made"), TAMPERED),
        (("forecast_made", "placebo_made"), TAMPERED),
        (("news_twin_made", "gjr_made"), TAMPERED),
        (("rounds_captured", "rounds_captured"), TAMPERED),
    ],
)
def test_the_paths_of_a_set_are_of_one_kind(ask: Ask, kinds: tuple[str, str], wanted: int) -> None:
    """The news twin's are joined with the targets' of other instruments."""
    log = log_of()
    log.join(log.attempt(), log.attempt(instrument="NDXN"), kinds=kinds)
    log.checkpoint()
    code, said = ask(b"".join(dump_of(log)))
    found = "its members' paths are not of one kind" in said
    assert (code, found) == (wanted, wanted == TAMPERED), said


def test_a_decision_on_the_joint_paths_of_a_twin_is_found(ask: Ask) -> None:
    log = log_of()
    own, other = log.attempt(), log.attempt(instrument="NDXN")
    named = log.join(own, other, kinds=("placebo_made", "placebo_made"))
    log.decide_jointly("d1", own, other, joint=named)
    both_say(log, ask, TAMPERED, "its joint paths are of another kind")


def test_a_set_of_another_forecast_than_the_decisions_is_found(ask: Ask) -> None:
    """Its own instrument is in the set, by the forecast that stood before."""
    log = log_of()
    before, other = log.attempt(), log.attempt(instrument="NDXN")
    named = log.join(before, other)
    own = log.attempt(secure=True)
    log.decide_jointly("d1", own, other, joint=named)
    both_say(log, ask, TAMPERED, "its own forecast is not the member of its joint paths")


def test_a_member_of_which_nothing_stood_yet_is_found(ask: Ask) -> None:
    """It was made after the decision took its own forecast."""
    log = log_of()
    own = log.attempt()
    log.take("d1", own)
    log.decide_jointly("d1", own, log.attempt(instrument="NDXN"), taken=True)
    log.checkpoint()
    code, said = ask(b"".join(dump_of(log)))
    assert (code, "of NDXN a forecast that stood was passed over" in said) == (TAMPERED, True), said


@pytest.mark.parametrize("words", ["paths_joined", "instrument/NDXN"])
def test_a_bundle_without_the_set_or_a_members_index_is_incomplete(ask: Ask, words: str) -> None:
    log = log_of()
    log.decide_jointly("d1", log.attempt(), log.attempt(instrument="NDXN"))
    log.attempt(instrument="NDXN", secure=True)
    log.checkpoint()
    code, said = ask(without(bundle_of(log), words))
    assert code == INCOMPLETE, said


def test_a_bundle_without_a_member_is_incomplete(ask: Ask) -> None:
    log = log_of()
    own, other = log.attempt(), log.attempt(instrument="NDXN")
    log.decide_jointly("d1", own, other)
    log.checkpoint()
    code, said = ask(without(bundle_of(log), other.stream))
    assert (code, f"names forecast {other.forecast_id}.0: missing" in said) == (INCOMPLETE, True)
