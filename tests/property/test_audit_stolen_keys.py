"""Whatever the thief of an ended key writes: nothing he holds counts beyond that key's end."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.tlog.rotation import parse_key_record, trusted_keys
from audit.verifier.verify import SIZE_MAX, Report, Trust, read_vkey
from tests.doubles.audit_log import ORIGIN
from tests.doubles.key_thief import BEYOND, HONEST, theft

SIZES = (0, 10, 11, 15, 20, 21, BEYOND - 1)


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_a_thief_signs_no_tree_beyond_the_end_of_what_he_stole(chance: Random) -> None:
    case = theft(chance)
    trust = Trust([str(one.vkey) for one in case.roots])
    assert trust.give(Report(), case.given, ORIGIN)
    for statement in case.inside:
        trust.follow(statement, ORIGIN)
    trust.settle(Report())
    for key in {read_vkey(str(one.vkey)) for one in case.held} & trust.keys:
        counted = [size for size in SIZES if not trust.counts([key], size, SIZE_MAX)]
        assert max(counted, default=-1) <= case.limit


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_who_holds_the_newest_key_follows_the_log_s_own_records_as_safely(chance: Random) -> None:
    case = theft(chance)
    records = [parse_key_record(one.encode()) for one in (*case.inside, *case.given)]
    found = {item.key: item for item in trusted_keys([HONEST[2].vkey], records)}
    for one in case.held:
        item = found.get(one.vkey)
        counted = [size for size in SIZES if item is not None and item.counts(size, None)]
        assert max(counted, default=-1) <= case.limit


@settings(max_examples=50)
@given(st.randoms(use_true_random=False))
def test_the_order_in_which_changes_are_given_changes_nothing(chance: Random) -> None:
    case = theft(chance)
    found = []
    for given_now in (case.given, case.given[::-1]):
        trust, report = Trust([str(one.vkey) for one in case.roots]), Report()
        trust.give(report, given_now, ORIGIN)
        trust.settle(report)
        found.append((trust.keys, trust.until, trust.revoked, report.exit_code))
    assert found[0] == found[1]
