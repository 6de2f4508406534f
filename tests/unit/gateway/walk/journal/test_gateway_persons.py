"""What stands on record is a pseudonym already: it is not taken out a second time."""

from typing_extensions import override

from gateway.walk.journal.persons import RECORDED, Nobody, hide
from tests.doubles.answering_broker import framed

RAW = framed("8", ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "2"), (58, "p-1"), (448, "p-2")))


class Anna(Nobody):
    """Knows everybody by one pseudonym."""

    @override
    def subject(self, name: str) -> str:
        return f"p-{len(name)}"

    @override
    def subject_of_words(self, text: str) -> str:
        return f"w-{len(text)}"

    @override
    def named_in(self, text: str) -> str | None:
        return "p-9" if "Anna" in text else None


def test_a_message_from_the_record_is_read_as_it_stands() -> None:
    assert hide(RAW, RECORDED) == (RAW, ())


def test_a_name_goes_and_what_the_profile_declares_stays() -> None:
    raw = framed("8", ((49, "EMSSIM"), (56, "COUNTERSIGN"), (34, "2"), (9001, "Anna B"), (55, "X")))
    text, personal = hide(raw, Anna())
    assert "Anna" not in text
    assert [(one.value, one.retention) for one in personal] == [("Anna B", "order")]
    plain = raw.replace("Anna B", "desk 7")
    assert hide(plain, Anna(), (9001,)) == (plain, ())
