"""Each statement of the table has forged logs, which both verifiers find with the record named.

The attacks of the repros sec_verifiers and sec_bundle_drop are among them.
"""

import re
from dataclasses import dataclass

import pytest

from audit.records.record import Draft
from audit.verifier.verify import JUDGES, STATEMENTS
from tests.doubles.both_verifiers import judged_by_both
from tests.doubles.broker_files import Broker, SignedLog, officers, written_again
from tests.doubles.forged_logs import FORGED, SIGNED, Forgery
from tests.doubles.forged_scenes import SCENES
from tests.doubles.second_verifier import SECOND


@dataclass
class Judged:
    """What both verifiers say of each scene and each forgery."""

    honest: dict[str, tuple[int, str]]
    forged: dict[str, tuple[int, str]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("forged")
    brokers: dict[str, Broker] = {}
    logs: dict[str, SignedLog] = {}
    asked: dict[str, tuple[SignedLog, list[str]]] = {}
    for name, scene in SCENES.items():
        (folder / name).mkdir()
        brokers[name] = scene(folder / name)
        logs[name] = brokers[name].ledger()
        asked[name] = (logs[name], [])
        asked[f"{name}, officers"] = (logs[name], officers(brokers[name], folder / name))
    honest = judged_by_both(asked, folder)
    forged = {
        name_of(one): (
            forged_log(one, logs[one.scene]),
            officers(brokers[one.scene], folder / one.scene) if one in SIGNED else [],
        )
        for one in (*FORGED, *SIGNED)
    }
    return Judged(honest, judged_by_both(forged, folder))


def name_of(one: Forgery) -> str:
    return f"{one.statement}: {one.name}"


def forged_log(one: Forgery, log: SignedLog) -> SignedLog:
    def change(draft: Draft) -> Draft:
        for each in one.changes:
            draft = each(draft)
        return draft

    return written_again(log, change)


@pytest.mark.parametrize("name", [*SCENES, *(f"{one}, officers" for one in SCENES)])
def test_an_honest_log_passes(judged: Judged, name: str) -> None:
    code, said = judged.honest[name]
    assert code == 0, said


@pytest.mark.parametrize("one", [*FORGED, *SIGNED], ids=name_of)
def test_a_forged_log_is_found_with_its_statement_and_record(judged: Judged, one: Forgery) -> None:
    """Repro sec_verifiers: all of these were accepted with exit 0."""
    code, said = judged.forged[name_of(one)]
    named = re.search(rf"^TAMPERED: record \d+: {one.statement}: ", said, re.MULTILINE)
    assert (code, named is not None) == (1, True), said


def test_each_statement_has_a_forgery_and_a_function_in_both() -> None:
    """The table, both verifiers and the forged logs name the same statements."""
    own = {one.id for one in STATEMENTS if not one.apart}
    assert own == set(JUDGES) == {one.statement for one in FORGED}
    second = SECOND.read_text("utf-8")
    functions = second[second.index("export const JUDGES") : second.index("function policyLines")]
    assert set(re.findall(r"^  (?:async)?\*? ?(\w+)\(seen", functions, re.MULTILINE)) == own
