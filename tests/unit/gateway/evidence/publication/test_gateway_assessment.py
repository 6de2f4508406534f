"""Each sentence of the yearly assessment names records, or says that the topic is not covered."""

import re
from dataclasses import replace
from pathlib import Path

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.evidence.publication.assessment import TOPICS, assessment
from gateway.walk.journal.control.modes import mode_entered, promotion_tested
from gateway.walk.ports import Tags
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
        counted = [r for r in desk.log.records() if r.kind in topic.kinds and topic.counts(r)]
        assert bool(named) == bool(counted)
    assert "There are 7 verdicts of the rules on record (the newest 5 of them" in text


def test_no_sentence_says_more_than_its_records(tmp_path: Path) -> None:
    """What a development run did is no officer's act, and a new account is no change of mode."""
    desk = memory_desk(tmp_path)
    (active,) = desk.log.of_kind(Kind.POLICY_ACTIVATED)
    desk.log.append(
        Draft(
            stream="control",
            kind=Kind.POLICY_ACTIVATED,
            payload={**active.body, "dev": True},
            actor="gateway",
            idem_key="policy:of a development run",
        )
    )
    tags = Tags(account="desk", run_id="r1", mode="pilot", dev=False)
    for number, before in enumerate(("paper", "pilot", "pilot")):
        one = replace(tags, run_id=f"r{number}")
        desk.log.append(mode_entered(one, before=before, sender="A", target="B", signatures={}))
    text = assessed(desk)
    for said in (
        "There are 1 activations, at starts and changes, of policies that two officers signed",
        "There are 1 changes of mode, the first mode included",
    ):
        assert said in text, text


def test_what_is_tested_before_deployment_is_covered_once_it_is_on_record(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    assert "there are no tests of model pairs" in assessed(desk)
    desk.log.append(
        promotion_tested(
            model_id="pair",
            model_digest="5e" * 32,
            gate="gate/1",
            failed=("coverage",),
            report_blob=desk.log.put_blob(b"{}"),
            actor="ada",
            reason="a test",
            number=1,
        )
    )
    assert "There are 1 tests of model pairs by the promotion gate" in assessed(desk)


def test_records_of_another_year_do_not_count(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.ask()
    assert "verdicts of the rules on record (" not in assessed(desk, until_us=1)
    assert "there are no verdicts of the rules" in assessed(desk, since_us=EVER - 1)
