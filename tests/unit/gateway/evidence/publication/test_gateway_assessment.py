"""Each sentence of the yearly assessment names records, or says that the topic is not covered."""

import re
from pathlib import Path

from audit.records.kinds import Kind
from gateway.evidence.publication.assessment import TOPICS, assessment
from tests.doubles.memory_desk import MemoryDesk, memory_desk

EVER = 1 << 62


def assessed(desk: MemoryDesk, since_us: int = 0, until_us: int = EVER) -> str:
    records = desk.log.records()
    return assessment(records, origin="desk.test", since_us=since_us, until_us=until_us)


def test_each_sentence_names_its_records_or_says_not_covered(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    for _ in range(7):
        desk.ask()
    desk.small.desk.kill_switch.press(actor="ops", reason="a test")
    text = assessed(desk)
    sections = text.split("\n## ")[1:]
    assert len(sections) == len(TOPICS)
    for topic, section in zip(TOPICS, sections, strict=True):
        sentence = section.split("\n\n")[1]
        named = (
            [int(n) for n in re.findall(r"records ([\d, ]+)\)", sentence)[0].split(", ")]
            if ("Not covered" not in sentence)
            else []
        )
        kinds = {record.kind for record in desk.log.records() if record.seq in named}
        assert kinds <= set(topic.kinds)
        assert bool(named) == bool(topic.kinds and desk_has(desk, *topic.kinds))
    assert "There are 7 verdicts of the rules on record (the newest 5 of them" in text


def desk_has(desk: MemoryDesk, *kinds: Kind) -> bool:
    return any(record.kind in kinds for record in desk.log.records())


def test_records_of_another_year_do_not_count(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.ask()
    assert "verdicts of the rules on record (" not in assessed(desk, until_us=1)
    assert "there are no verdicts of the rules" in assessed(desk, since_us=EVER - 1)
