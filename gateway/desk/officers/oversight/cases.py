"""What a reviewer does with a case: a note, another state.

Not here: who may (`surfaces`), reading a case (`case_files`).
"""

from typing import Any

from gateway.desk.bodies.oversight import CaseNoteBody, CaseStateBody
from gateway.desk.officers.oversight.case_files import CaseLook, draft_report, read_case, read_cases
from gateway.desk.parts import DeskParts
from gateway.walk.journal.control.oversight.cases import (
    CaseMoved,
    CaseNoted,
)
from gateway.walk.journal.words import CaseState


def cases_document(own: DeskParts) -> dict[str, Any]:
    """Return the cases on record, newest first."""
    return {"cases": [one.document() for one in read_cases(own.reader)]}


def case_document(own: DeskParts, case_id: str) -> dict[str, Any]:
    """Return one case with the draft of a report.

    Raises:
        UnknownDecisionError: there is none with this id.
    """
    case = read_case(own.reader, case_id)
    return case.document() | {"draft_report": draft_report(own.reader, case)}


def note_case(own: DeskParts, actor: str, case_id: str, body: CaseNoteBody) -> dict[str, Any]:
    """Put a note on record under the person's name."""
    found = read_case(own.reader, case_id)
    note = CaseNoted(case_id=found.opened.case_id, text=body.text, actor_name=actor)
    (record,) = own.tools.ledger.append(note.draft(client_key=body.client_key))
    return {"seq": record.seq}


def move_case(own: DeskParts, actor: str, case_id: str, body: CaseStateBody) -> dict[str, Any]:
    """Put another state on record; two persons at once get one answer and one refusal."""
    found: CaseLook = read_case(own.reader, case_id)
    moved = CaseMoved(
        case_id=found.opened.case_id,
        case_state=CaseState(body.state),
        reason=body.reason,
        actor_name=actor,
    )
    (record,) = own.tools.ledger.append(moved.draft(number=len(found.notes)))
    return {"seq": record.seq, "state": body.state}
