"""The crash tests' judge on its own: real-time order and the tree, against slower definitions."""

from collections.abc import Sequence
from hashlib import sha256

import pytest

from audit.tlog.merkle import Frontier
from tests.crash.ledger_cell import deck
from tests.crash.ledger_faults import FAULTS, Need
from tests.crash.ledger_history import History, Operation
from tests.crash.ledger_oracle import Tree, reordered


def operation(start_ns: int, ack_ns: int | None, *numbers: int) -> Operation:
    return Operation(len(numbers), start_ns, ack_ns, tuple((seq, bytes(32)) for seq in numbers))


@pytest.mark.parametrize(
    ("operations", "found"),
    [
        ([operation(0, 10, 0), operation(11, 20, 1)], 0),
        ([operation(0, 10, 1), operation(11, 20, 0)], 1),
        ([operation(0, 10, 1), operation(9, 20, 0)], 0),
        ([operation(0, 10, 5), operation(1, 30, 1), operation(31, 40, 3, 4)], 1),
        ([operation(0, 10, 5, 6), operation(11, None)], 0),
    ],
    ids=["in order", "swapped", "at the same time", "one of three", "never answered"],
)
def test_an_append_that_started_later_stands_later(
    operations: Sequence[Operation], found: int
) -> None:
    assert len(reordered(operations)) == found


def test_a_swapped_pair_is_found_anywhere_among_many() -> None:
    many = [operation(10 * seq, 10 * seq + 5, seq) for seq in range(500)]
    assert reordered(many) == []
    for place in (0, 250, 498):
        swapped = [*many]
        swapped[place] = operation(10 * place, 10 * place + 5, place + 1)
        swapped[place + 1] = operation(10 * place + 10, 10 * place + 15, place)
        assert len(reordered(swapped)) == 1


def test_the_judge_folds_leaves_as_the_ledger_does() -> None:
    tree, frontier = Tree(), Frontier()
    for number in range(70):
        assert tree.root() == frontier.root()
        leaf = sha256(b"%d" % number).digest()
        tree.add(leaf)
        frontier = frontier.append(leaf)


def test_an_answer_that_changes_is_noticed() -> None:
    history = History()
    history.operations["k"] = Operation(1, 0)
    leaf, other = bytes(32), bytes(31) + b"\x01"
    for said in (leaf, leaf, other):
        history.acknowledge(5, "k", f"3:{said.hex()}")
    assert len(history.broken) == 1
    assert history.pending() == ()


def test_a_deck_holds_every_fault_that_the_machine_can_do() -> None:
    cards = deck(60, "1", {Need.NOTHING, Need.SHIM}.__contains__)
    assert len(cards) == 60
    assert set(cards) == {name for name, fault in FAULTS.items() if fault.need is not Need.IMAGE}
    assert cards == deck(60, "1", {Need.NOTHING, Need.SHIM}.__contains__)
    assert set(deck(200, "1", lambda _: True)) == set(FAULTS)
