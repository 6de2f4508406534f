"""Acts about fairness: criteria, runs of the tests, swaps, justifications."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.verb import Verb
from gateway.desk.bodies.fairness import CriteriaBody, FairnessRunBody, JustificationBody, SwapsBody
from gateway.desk.bodies.oversight import EndRequest

FAIRNESS: Final = (
    Act(
        name="fairness.list",
        summary="Which tests of fairness were run, and what did they find?",
        says="Return the newest fifty runs, each with every test and why one did not apply.",
        action="watch",
        path="/v1/fairness",
        noted="fairness",
        left_out="`countersign fairness` makes a run; the page lists them",
    ),
    Act(
        name="criteria.list",
        summary="By which criteria are the tests of fairness run?",
        says="Return the criteria on record, newest first, with who agreed or objected.",
        action="watch",
        path="/v1/fairness/criteria",
        noted="fairness_criteria",
        left_out="`countersign criteria show` reads the ledger, without a gateway",
    ),
    Act(
        name="criteria.agree",
        summary="Put criteria of fairness on record",
        says="Record criteria that both officers signed; they count from their effective day on.",
        action="resolve",
        path="/v1/fairness/criteria",
        body=CriteriaBody,
        verb=Verb(
            words="criteria agree",
            example="next.json",
            line="on record as {seq}: criteria {criteria_digest}",
            file=True,
        ),
    ),
    Act(
        name="fairness.record",
        summary="Put a run of the tests of fairness on record",
        says="Record a run of `countersign fairness`; its root must be this log's at its size.",
        action="test",
        path="/v1/fairness",
        body=FairnessRunBody,
        left_out="`countersign fairness` makes the run and records it",
    ),
    Act(
        name="swaps.record",
        summary="Put a run of counterfactual swaps on record",
        says="Record a run of `countersign swaps`; rule R48 reads it from the next verdict on.",
        action="test",
        path="/v1/fairness/swaps",
        body=SwapsBody,
        left_out="`countersign swaps --record` makes the run",
    ),
    Act(
        name="justifications.list",
        summary="Which justifications are registered, and are in force?",
        says="Return the newest entries, newest first, and the log id that a statement names.",
        action="watch",
        path="/v1/fairness/justifications",
        noted="justifications",
        verb=Verb(
            words="justify list",
            example="",
            line="record {seq}: {ref}, {attribute} by {mechanism}, {asset_class}, side {side}, at"
            " most {bound_bp} bp, from {valid_from_us} to {valid_to_us}, in force: {in_force}",
            items="justifications",
            none="no justification is registered: countersign justify add FILE",
            key="auditor",
        ),
    ),
    Act(
        name="justifications.enter",
        summary="Register a justification that both officers signed",
        says="Register an entry for 180 days at most; the same again changes nothing.",
        action="resolve",
        path="/v1/fairness/justifications",
        body=JustificationBody,
        verb=Verb(
            words="justify add",
            example="region-7.json",
            line="record {seq}: {ref}, {attribute} by {mechanism}, {asset_class}, side {side}, at"
            " most {bound_bp} bp, from {valid_from_us} to {valid_to_us}",
            file=True,
            signs="/v1/fairness/justifications",
        ),
    ),
    Act(
        name="justifications.end",
        summary="End a justification before its time",
        says="Both officers sign that the entry is not in force from the next verdict on.",
        action="resolve",
        path="/v1/fairness/justifications/{ref}/end",
        body=EndRequest,
        verb=Verb(
            words="justify end",
            example='region-7 --reason "the sanctions were lifted"',
            line="{ref} is not in force any more: record {seq}",
            arguments={"ref": "name of the entry, from `justify list`"},
            signs="/v1/fairness/justifications",
        ),
    ),
)
