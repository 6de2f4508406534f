"""Acts of those who watch over the desk: cases, reviews, publications, annotations."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.verb import Verb
from gateway.desk.bodies.oversight import (
    AnnotationBody,
    CaseNoteBody,
    CaseStateBody,
    EndRequest,
    PublicationBody,
    RemarkBody,
    ReviewAnswerBody,
    ReviewBody,
)

_SAMPLE: Final = (
    "review {seq}: {first_day} to {last_day}, {decisions:n} of {proposed} decisions,"
    " {cases} answers, {agreed} agree, kappa {kappa_ppm}"
)
_PUBLICATION: Final = (
    "record {seq}: {ref}, {instrument}, {published_us}, {medium} by {author}, {reference}"
)
_CASE: Final = {"case_id": "id from `countersign cases list`"}
_REVIEW: Final = {"seq": "number from `countersign review list`"}
_DECISION: Final = {"decision_id": "id from `countersign decisions`"}
OVERSIGHT: Final = (
    Act(
        name="forecasts.list",
        summary="Which forecast stands for each instrument, and how old is it?",
        says="Return each instrument's newest forecast: its id, inputs, age and what it says."
        " Every decision of the same inputs rests on the same one.",
        action="watch",
        path="/v1/forecasts",
        noted="forecasts",
        verb=Verb(
            words="forecasts list",
            example="",
            line="{instrument}  {outcome:10} {forecast_id} attempt {attempt}  age {age_s} s",
            items="forecasts",
            none="no instrument is traded here",
            key="auditor",
        ),
    ),
    Act(
        name="cases.list",
        summary="Which orders match an indicator of conduct?",
        says="Return the newest 500 cases, each with its evidence, state and notes.",
        action="review",
        path="/v1/cases",
        noted="cases",
        verb=Verb(
            words="cases list",
            example="",
            line="{case_id}  {state:10} {indicator:18} {instrument}  {evidence:n} records"
            "  {agents}",
            items="cases",
            none="no records match an indicator",
            key="auditor",
        ),
    ),
    Act(
        name="cases.read",
        summary="One case, with the draft of a report",
        says="Return a case; the draft says which records match, never what anybody intended.",
        action="review",
        path="/v1/cases/{case_id}",
        noted="case/{case_id}",
        verb=Verb(
            words="cases show",
            example="5d1f0c9a7be2443a90b1c6de",
            line="{draft_report}",
            key="auditor",
            arguments=_CASE,
        ),
    ),
    Act(
        name="cases.note",
        summary="Put a note on a case",
        says="Record a note under the reviewer's name.",
        action="review",
        path="/v1/cases/{case_id}/notes",
        body=CaseNoteBody,
        verb=Verb(
            words="cases note",
            example='5d1f0c9a7be2443a90b1c6de --text "asked the desk"',
            line="case {case_id}: noted (record {seq})",
            key="auditor",
            arguments=_CASE,
        ),
    ),
    Act(
        name="cases.move",
        summary="Move a case to another state",
        says="Record that a case is in review, reported or closed, with the reason; or open again.",
        action="review",
        path="/v1/cases/{case_id}/state",
        body=CaseStateBody,
        verb=Verb(
            words="cases close",
            example='5d1f0c9a7be2443a90b1c6de --reason "a hedge, see record 812"',
            line="case {case_id} is {state} (record {seq})",
            key="auditor",
            arguments=_CASE,
            called={"state": "--to"},
            given={"state": "closed"},
        ),
    ),
    Act(
        name="reviews.list",
        summary="Which blind reviews were drawn, and how far did people agree?",
        says="Return the newest samples, each with its number of answers and Cohen's kappa.",
        action="watch",
        path="/v1/reviews",
        noted="reviews",
        verb=Verb(
            words="review list",
            example="",
            line=_SAMPLE,
            items="reviews",
            none="no sample was drawn yet: countersign review draw --from 2026-11-16",
            key="auditor",
        ),
    ),
    Act(
        name="reviews.draw",
        summary="Draw a sample for a blind review",
        says="Draw decisions of these days by the log's root; the same days have one sample.",
        action="test",
        path="/v1/reviews",
        body=ReviewBody,
        verb=Verb(
            words="review draw",
            example="--from 2026-11-16 --to 2026-11-22",
            line=_SAMPLE,
            key="auditor",
            called={"first_day": "--from", "last_day": "--to"},
        ),
    ),
    Act(
        name="reviews.read",
        summary="One sample, without the answers that you have not given",
        says="Return what was known before each decision; the model's answer follows yours.",
        action="watch",
        path="/v1/reviews/{seq}",
        ids={"seq": int},
        noted="review/{seq}",
        verb=Verb(
            words="review show",
            example="4711",
            head=_SAMPLE,
            line="\n{decision_id}: you said {answer}, the model {model}\n"
            "  {sheet[instrument]}, last"
            " closes in ticks {sheet[closes]:10}\n  position {sheet[current_lots]} lots,"
            " {sheet[current_exposure_bp]} bp of equity\n  news: {sheet[news]}",
            items="items",
            key="approver",
            arguments=_REVIEW,
        ),
    ),
    Act(
        name="reviews.answer",
        summary="Answer for one decision of a sample",
        says="Record your answer; whoever opened the decision before is refused.",
        action="watch",
        path="/v1/reviews/{seq}/answers/{decision_id}",
        ids={"seq": int},
        body=ReviewAnswerBody,
        verb=Verb(
            words="review answer",
            example='4711 r1-0007 --say none --note "the range is too wide"',
            line="on record as {seq}: you said {answer}, the model {model}",
            key="approver",
            arguments={
                "seq": "number from `countersign review list`",
                "decision_id": "a decision of the sample",
            },
            called={"answer": "--say"},
        ),
    ),
    Act(
        name="approvals.by",
        summary="Which orders did this person approve or refuse between two days?",
        says="Return each answer to a held order with its record and reason, oldest first.",
        action="watch",
        path="/v1/approvals/{approver}/{first_day}/{last_day}",
        noted="approvals/{approver}/{first_day}/{last_day}",
        verb=Verb(
            words="approvals",
            example="approver 2026-11-01 2026-11-20",
            line="record {seq}  {at_us}  {answer:8} {decision_id}: {reason}",
            items="answers",
            none="{approver} answered nothing from {first_day} to {last_day} (UTC)",
            key="auditor",
            arguments={
                "approver": "name of the person's key",
                "first_day": "first UTC day, such as 2026-11-01",
                "last_day": "last UTC day",
            },
        ),
    ),
    Act(
        name="publications.list",
        summary="What did the firm itself publish, and on which instruments?",
        says="Return the newest acts on record, newest first.",
        action="watch",
        path="/v1/publications",
        noted="publications",
        verb=Verb(
            words="publications list",
            example="",
            line=f"{_PUBLICATION}; ended by record {{ended_seq}}",
            items="publications",
            none="no own publication is on record: countersign publications add",
        ),
    ),
    Act(
        name="publications.note",
        summary="Record an own publication; rule R49 reads it from the next verdict on",
        says="Record an act; the same again changes nothing.",
        action="hold",
        path="/v1/publications",
        body=PublicationBody,
        verb=Verb(
            words="publications add",
            example="note-7 --instrument SPXN --author research-eq --medium research"
            " --reference https://firm.example/notes/7",
            line=_PUBLICATION,
            arguments={"ref": ""},
            called={"published_us": "--at-us"},
        ),
    ),
    Act(
        name="publications.end",
        summary="End an own publication that was recorded by mistake",
        says="Both officers sign that the act does not count from the next verdict on.",
        action="resolve",
        path="/v1/publications/{ref}/end",
        body=EndRequest,
        verb=Verb(
            words="publications end",
            example='note-7 --reason "named the wrong instrument"',
            line="{ref} does not count any more: record {seq}",
            arguments={"ref": "name of the act, from `publications list`"},
            signs="/v1/publications",
        ),
    ),
    Act(
        name="annotations.list",
        summary="What did persons remark about it?",
        says="Return the annotations of a decision with author and role, oldest first.",
        action="watch",
        path="/v1/decisions/{decision_id}/annotations",
        noted="decision/{decision_id}",
        verb=Verb(
            words="annotations",
            example="r1-0007",
            line="record {seq}  {role}:{actor_name}  {sort}, instead: {instead}: {text}",
            items="annotations",
            none="nobody has annotated {decision_id}",
            key="approver",
            arguments=_DECISION,
        ),
    ),
    Act(
        name="annotations.note",
        summary="Remark on a decision, or dissent",
        says="Record your words under your name and role; they change nothing that is on record.",
        action="annotate",
        path="/v1/decisions/{decision_id}/annotations",
        body=AnnotationBody,
        verb=Verb(
            words="annotate",
            example='r1-0007 --text "the print was late" --sort dissent --instead none',
            line="{sort} on {decision_id} is on record as {seq}",
            key="approver",
            arguments=_DECISION,
            called={"about_seq": "--about"},
        ),
    ),
    Act(
        name="annotations.remark",
        summary="Remark on a decision that you asked for",
        says="Record an agent's words beside its decision; they change nothing that is on record.",
        action="submit",
        path="/v1/decisions/{decision_id}/remarks",
        body=RemarkBody,
        verb=Verb(
            words="remark",
            example='agent-0f3a.. --text "the order was for the index review"',
            line="the remark on {decision_id} is on record as {seq}",
            key="agent",
            arguments={"decision_id": "id in the answer to your intent"},
            called={"about_seq": "--about"},
        ),
    ),
)
