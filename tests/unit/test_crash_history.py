"""What the crash harness calls a meeting: two writers at work on one log, each on its own."""

from pathlib import Path

from tests.crash.ledger_history import History, Voice, met

DONE = f"0:{'00' * 32}"


def heard(folder: Path, *said: str) -> bool:
    """Let writers say things (`writer word time ...`) and say whether two of them met."""
    voices: dict[str, Voice] = {}
    history = History()
    for line in said:
        name, _, event = line.partition(" ")
        voice = voices.setdefault(name, Voice(folder / f"{len(said)}-{name}.events"))
        with voice.path.open("a") as file:
            file.write(f"{event}\n")
        history.read(voice)
    assert history.broken == []
    return met([*voices.values()])


def test_who_only_takes_turns_never_meets(tmp_path: Path) -> None:
    a = ("a open 10 0", "a start 11 a.t0.0-0 1", f"a ack 12 a.t0.0-0 {DONE}")
    b = ("b open 20 0", "b start 21 b.t0.0-0 1", f"b ack 22 b.t0.0-0 {DONE}")
    assert not heard(tmp_path)
    assert not heard(tmp_path, *a, *b)
    late = ("a start 19 a.t0.0-1 1", f"a ack 40 a.t0.0-1 {DONE}")
    assert not heard(tmp_path, *a, *late, *b), "begun before the other had opened"
    told = ("a start 30 a.t0.0-1 1",)
    assert not heard(tmp_path, *a, *b, *told), "and never answered"
    again = (*b, f"a ack 30 a.t0.0-0 {DONE}", f"a ack 31 b.t0.0-0 {DONE}")
    assert not heard(tmp_path, *a, *again), "the answer to an old question, or another's"
    anew = ("a open 30 1", "a start 31 a.t0.1-0 1", f"a ack 32 a.t0.1-0 {DONE}", "a stop 33 None")
    assert not heard(tmp_path, *a, *b, *anew), "a takes over; b has ended"


def test_two_at_work_have_met(tmp_path: Path) -> None:
    opened = ("a open 10 0", "b open 20 0")
    a = ("a start 21 a.t0.0-0 1", f"a ack 50 a.t0.0-0 {DONE}")
    b = ("b start 22 b.t0.0-0 1", f"b ack 60 b.t0.0-0 {DONE}")
    assert heard(tmp_path, *opened, *a, *b)
    assert heard(tmp_path, *opened, *b, *a, "a stop 70 None")
