"""The planted faults of `make mutate` still fit the code: a list that rots proves nothing."""

from pathlib import Path

from scripts.mutate import TABLE, Mutation, read_table

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS = read_table(TABLE)


def fits(mutation: Mutation) -> bool:
    """Say whether a fault can be planted: its text is there once, and the tests are files."""
    source = ROOT / mutation.file
    planted = source.is_file() and source.read_text().count(mutation.old) == 1
    return planted and all((ROOT / test.partition("::")[0]).is_file() for test in mutation.tests)


def test_every_planted_fault_can_be_planted() -> None:
    assert MUTATIONS
    assert [f"{one.file}: {one.promise}" for one in MUTATIONS if not fits(one)] == []


def test_every_planted_fault_changes_the_code_and_is_asked_of_a_test() -> None:
    assert [one.promise for one in MUTATIONS if one.old == one.new or not one.tests] == []
