"""A token says its slot, and two symbols of different slots may be one vocabulary id."""

import numpy as np

from inference.codec.alphabet import Alphabet

RETURNS = Alphabet.of_range(128, 256)
WORDS = Alphabet(start=0, ids=(10, 11, 20, 21, 20, 21, 7), slots=((0, 2), (2, 4), (4, 6), (6, 7)))


def test_a_bin_is_its_own_id() -> None:
    assert RETURNS.columns == slice(128, 384)
    assert RETURNS.masks([0, 5]) is None
    assert [RETURNS.token_at(3, one) for one in (128, 383, 7)] == [128, 383, 7]
    assert RETURNS.id_of(200) == 200


def test_the_same_id_is_another_token_at_another_place() -> None:
    assert [WORDS.token_at(place, 20) for place in (1, 2, 5)] == [2, 4, 2]
    assert {WORDS.id_of(token) for token in (2, 4)} == {20}
    assert WORDS.ids_of(np.array([0, 6])).tolist() == [10, 7]


def test_an_id_outside_the_slot_is_no_token() -> None:
    assert WORDS.token_at(0, 20) == WORDS.n
    assert WORDS.token_at(3, 10) == WORDS.n


def test_only_a_places_own_symbols_may_stand_there() -> None:
    masks = WORDS.masks(range(5))
    assert masks is not None
    assert masks.sum(axis=1).tolist() == [2, 2, 2, 1, 2]
    assert np.flatnonzero(masks[4]).tolist() == [0, 1]
