"""Acts about overrides and the policy in force."""

from typing import Final

from gateway.acts.act import Act
from gateway.acts.verb import Verb
from gateway.desk.bodies.governing import OverrideRequest, TrialBody, WithdrawRequest
from gateway.desk.bodies.stopping import StopRequest

GOVERNING: Final = (
    Act(
        name="overrides.list",
        summary="Which limits were lifted once, by whom, and for which order?",
        says="Return every override with its state, and what a new one must name.",
        action="watch",
        path="/v1/overrides",
        noted="overrides",
        verb=Verb(
            words="override list",
            example="",
            line="{override_id}  {state}  {rule_id} {check}: {side} at most {qty_max_lots} lots of"
            " {instrument} in {account}; {reason} (record {seq}); used by {used_by}",
            items="overrides",
            none="no override is on record",
            warns="open",
        ),
    ),
    Act(
        name="overrides.grant",
        summary="Lift one limit once, for one order",
        says="Record an override that both officers signed; the same again changes nothing.",
        action="resolve",
        path="/v1/overrides",
        body=OverrideRequest,
        left_out="`countersign override grant` reads the draft that both officers signed",
    ),
    Act(
        name="overrides.withdraw",
        summary="Withdraw an override",
        says="End an override before its time; an order that was approved under it is not"
        " recalled.",
        action="stop",
        path="/v1/overrides/{override_id}/withdraw",
        body=WithdrawRequest,
        verb=Verb(
            words="override withdraw",
            example='0f3a.. --reason "the client called it off"',
            line="override {override_id} is withdrawn: record {seq}",
            arguments={"override_id": "id from `countersign override list`"},
        ),
    ),
    Act(
        name="policy.read",
        summary="Which policy is in force?",
        says="Return the policy's digest, version, standing, signers and end.",
        action="watch",
        path="/v1/policy",
        noted="policy",
        left_out="`countersign policy show` reads the bundle in the key folder",
    ),
    Act(
        name="policy.origins",
        summary="Where does each number of the policy in force come from?",
        says="Return each number with who gave it, the policy's own or a pack, and what"
        " others asked.",
        action="watch",
        path="/v1/policy/origins",
        noted="policy_origins",
        left_out="`countersign policy origins` reads a draft, too, without a gateway",
    ),
    Act(
        name="policy.trials",
        summary="Which drafts were tried on recorded decisions?",
        says="Return the newest fifty trials on record: range, number, verdicts that"
        " differ, digest.",
        action="watch",
        path="/v1/policy/trials",
        noted="policy_trials",
        left_out="`countersign policy trials` reads the ledger, without a gateway",
    ),
    Act(
        name="policy.try",
        summary="Put a trial of a draft on record",
        says="Record a trial that `countersign policy try` made; it must be of this"
        " ledger, and whole. Both officers sign the digest that is returned, before"
        " the draft may follow.",
        action="test",
        path="/v1/policy/trials",
        body=TrialBody,
        left_out="`countersign policy try --record` makes the trial",
    ),
    Act(
        name="policy.follow",
        summary="Put the next policy in force",
        says="Put the signed bundle in the key folder in force, at one record, without a"
        " restart. Both officers signed it, and it names the policy in force as its"
        " parent. Decisions that are under way end under the old one first; what waits"
        " for a person must be asked for again.",
        action="resolve",
        path="/v1/policy/follow",
        body=StopRequest,
        left_out="`countersign policy activate` also works while no gateway runs",
    ),
)
