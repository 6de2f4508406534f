"""Acts that change a book beside its orders, and what they would change."""

from typing import Final

from gateway.acts.act import Act
from gateway.desk.agents.allocation import AllocationBody
from gateway.desk.bodies.requests import AdjustRequest, ResolveRequest

BOOKING: Final = (
    Act(
        name="adjustments.list",
        summary="Cash and lots of each account, and the log id that a statement names",
        says="Return what an adjustment would change.",
        action="watch",
        path="/v1/adjustments",
        noted="adjustments",
    ),
    Act(
        name="adjustments.adjust",
        summary="Adjust a book: opening, split, dividend, fee, cash, trade, give-up",
        says="Record an adjustment that both officers signed; the same again changes nothing.",
        action="resolve",
        path="/v1/adjustments",
        body=AdjustRequest,
    ),
    Act(
        name="differences.list",
        summary="Where the book and the broker differ",
        says="Return the open differences, oldest first; their instruments take no new order.",
        action="watch",
        path="/v1/differences",
        noted="differences",
    ),
    Act(
        name="differences.resolve",
        summary="Resolve a difference; two signatures if a book changes",
        says="Record which side is right, why, and what shows it.",
        action="resolve",
        path="/v1/differences/{seq}/resolve",
        ids={"seq": int},
        body=ResolveRequest,
    ),
    Act(
        name="allocation.read",
        summary="How is the order split across clients?",
        says="Return the sealed shares, what has traded, and the only split of it.",
        action="watch",
        path="/v1/decisions/{decision_id}/allocation",
        noted="decision/{decision_id}",
    ),
    Act(
        name="allocation.split",
        summary="Put the split of a done order on record",
        says="Record what each client account gets, in lots; any split but the sealed one"
        " is a 409.",
        action="resolve",
        path="/v1/decisions/{decision_id}/allocation",
        body=AllocationBody,
    ),
)
