"""What is sent again is old if it, or a later word about its order, was heard before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fix.wire.resends import Heard, Word, word_of

FIRST = "8=FIX.4.4|35=8|34=7|49=B|52=20180102-15:00:00.5|11=A|"
AGAIN = "8=FIX.4.4|35=8|34=7|43=Y|49=B|52=20180103-09:00:00|122=20180102-15:00:00.500|11=A|"


def word(text: str) -> Word:
    found = word_of(text.replace("|", "\x01"))
    assert found is not None
    return found


def heard(*texts: str) -> Heard:
    found = Heard()
    for text in texts:
        found.take(word(text))
    return found


def test_a_resend_says_what_the_first_said_when() -> None:
    assert word(AGAIN) == Word(name="A", resent=True, said=word(FIRST).said)
    assert heard(FIRST).is_old(word(AGAIN))
    assert not heard().is_old(word(AGAIN)), "nothing was heard of it"


@pytest.mark.parametrize(
    ("change", "old"),
    [
        (("34=7", "34=6"), True),
        (("34=7", "34=8"), False),
        (("122=20180102-15:00:00.500", "122=20180102-15:00:00.499999"), True),
        (("122=20180102-15:00:00.500", "122=20180102-15:00:01"), False),
        (("11=A", "11=B"), False),
        (("11=A", "11=C|41=A"), True),
        (("43=Y", "43=N"), False),
        (("122=20180102-15:00:00.500|", ""), False),
        (("122=20180102-15:00:00.500", "122=yesterday"), False),
        (("34=7", "34=x"), False),
    ],
)
def test_what_is_old(change: tuple[str, str], *, old: bool) -> None:
    assert heard(FIRST).is_old(word(AGAIN.replace(*change))) is old


def test_the_newest_word_counts_in_whatever_order_they_came() -> None:
    newer = FIRST.replace("34=7", "34=9")
    assert heard(newer, FIRST).is_old(word(AGAIN.replace("34=7", "34=8")))


@given(st.text())
def test_any_text_is_a_word_or_none(text: str) -> None:
    found = word_of(text)
    Heard().take(found)
    assert word_of(f"35=0\x01{text}") is None
