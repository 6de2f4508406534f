"""Acts that change a book beside its orders, and what they would change."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.verb import Verb
from gateway.desk.bodies.booking import AdjustRequest, AllocationBody, ResolveRequest

BOOKING: Final = (
    Act(
        name="adjustments.list",
        summary="Cash and lots of each account, and the log id that a statement names",
        says="Return what an adjustment would change.",
        action="watch",
        path="/v1/adjustments",
        noted="adjustments",
        verb=Verb(
            words="book show",
            example="",
        ),
    ),
    Act(
        name="adjustments.adjust",
        summary="Adjust a book: opening, split, dividend, fee, cash, trade, give-up",
        says="Record an adjustment that both officers signed; the same again changes nothing.",
        action="resolve",
        path="/v1/adjustments",
        body=AdjustRequest,
        verb=Verb(
            words="adjust",
            example="split --ref SPXN-2026 --instrument SPXN --ratio 2:1"
            ' --reason "split of 20 November" --evidence "notice 7"',
            line="{sort} {ref}: record {seqs}",
            arguments={"sort": "split, dividend, fee, cash, trade, give_up or mark"},
            signs="/v1/adjustments",
        ),
    ),
    Act(
        name="differences.list",
        summary="Where the book and the broker differ",
        says="Return the open differences, oldest first; their instruments take no new order.",
        action="watch",
        path="/v1/differences",
        noted="differences",
        left_out="`countersign differences` says what to do about each",
    ),
    Act(
        name="differences.resolve",
        summary="Resolve a difference; two signatures if a book changes",
        says="Record which side is right, why, and what shows it.",
        action="resolve",
        path="/v1/differences/{seq}/resolve",
        ids={"seq": int},
        body=ResolveRequest,
        left_out="`countersign resolve` signs only where a book changes",
    ),
    Act(
        name="allocation.read",
        summary="How is the order split across clients?",
        says="Return the sealed shares, what has traded, and the only split of it.",
        action="watch",
        path="/v1/decisions/{decision_id}/allocation",
        noted="decision/{decision_id}",
        verb=Verb(
            words="allocation show",
            example="r1-0007",
            arguments={"decision_id": "id from `countersign decisions`"},
        ),
    ),
    Act(
        name="allocation.split",
        summary="Put the split of a done order on record",
        says="Record what each client account gets, in lots; any split but the sealed one"
        " is a 409.",
        action="resolve",
        path="/v1/decisions/{decision_id}/allocation",
        body=AllocationBody,
        verb=Verb(
            words="allocation split",
            example="r1-0007 parts.json",
            line="the split of {decision_id} is on record as {seq}",
            arguments={"decision_id": "id from `countersign decisions`"},
            file=True,
        ),
    ),
)
