"""What is kept as sums and indexes says what going through everything says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gateway.walk.deadlines import KEPT_US, Deadlines, Moment
from gateway.walk.projections.mandates import Used, UsedBudgets
from risk.state.state import HISTORY_US, SeenIntent, SeenIntents, relevant_history, seen
from tests.doubles.risk_cases import INTENT

NAMES = st.sampled_from("abcde")
KEYS = st.sampled_from(["one", "two"])
ACCOUNTS = st.sampled_from(["x", "y"])
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, KEYS, ACCOUNTS, st.integers(0, 9)),
    st.tuples(st.just("drop"), NAMES, KEYS, ACCOUNTS, st.just(0)),
    st.tuples(st.just("replaced"), NAMES, KEYS, ACCOUNTS, st.integers(0, 9)),
    st.tuples(st.just("day"), NAMES, KEYS, ACCOUNTS, st.just(0)),
)


@given(st.lists(STEPS, max_size=25), KEYS, st.none() | st.integers(0, 25), NAMES)
def test_a_keys_day_is_the_sum_of_its_orders(
    steps: list[tuple[str, str, str, str, int]], key: str, before_seq: int | None, beside: str
) -> None:
    kept, plain = UsedBudgets(), dict[str, Used]()
    for seq, (what, name, of_key, account, minor) in enumerate(steps):
        match what:
            case "put":
                plain[name] = Used(key=of_key, account=account, seq=seq, minor=minor)
                kept.put(name, plain[name])
            case "drop":
                plain.pop(name, None)
                kept.drop(name)
            case "replaced":
                if name in plain:
                    plain[name] = replace(plain[name], minor=minor)
                kept.replaced(name, minor)
            case _:
                plain = {n: one for n, one in plain.items() if one.account != account}
                kept.drop_account(account)
    assert kept.minor(key, before_seq, beside) == sum(
        one.minor
        for name, one in plain.items()
        if one.key == key and name != beside and (before_seq is None or one.seq < before_seq)
    )


@given(
    came=st.lists(st.tuples(NAMES, st.integers(0, 3 * HISTORY_US)), max_size=20),
    now_us=st.integers(0, 3 * HISTORY_US),
    alike=st.booleans(),
)
def test_the_relevant_intents_are_found_by_time_and_name(
    came: list[tuple[str, int]], now_us: int, *, alike: bool
) -> None:
    kept, plain = SeenIntents(), list[SeenIntent]()
    for name, time_us in came:
        entry = seen(replace(INTENT, decision_id=name), time_us)
        if alike and name == "b":  # the same digest under another name, and the other way round
            entry = replace(entry, decision_id="z")
        elif alike and name == "c":
            entry = replace(entry, intent_digest="0" * 64)
        kept.add(entry)
        plain.append(entry)
    for name in "abcz":
        intent = replace(INTENT, decision_id=name)
        assert kept.relevant(intent, now_us) == relevant_history(plain, intent, now_us)


@given(st.lists(st.tuples(NAMES, st.integers(-2, 2), st.integers(0, KEPT_US)), max_size=20))
def test_a_deadline_is_forgotten_a_while_after_its_end(came: list[tuple[str, int, int]]) -> None:
    now_us, plain = 10 * KEPT_US, dict[str, Moment]()

    def monotonic_us() -> int:
        return now_us

    kept = Deadlines(monotonic_us)
    for name, life, passed_us in came:
        now_us += passed_us
        plain[name] = Moment(wall_us=0, monotonic_us=now_us + life * KEPT_US)
        kept.keep(name, plain[name])
        plain = {n: one for n, one in plain.items() if one.monotonic_us >= now_us - KEPT_US}
        assert {n: end for n in "abcde" if (end := kept.end(n)) is not None} == plain
