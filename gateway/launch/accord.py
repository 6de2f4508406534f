"""What must agree with the ledger before a run begins: officers, policy, instruments' terms.

Nothing is recorded before these checks have passed.
"""

from collections.abc import Mapping

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway import clock
from gateway.errors import InstrumentsError, SettingsError
from gateway.feeds.instruments.fit import changes
from gateway.installation.keys.succession import OfficerHistory
from gateway.launch.plan import Plan
from gateway.walk.journal.run import InstrumentListed, PolicyInForce
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.projections.outbox import Orders
from risk.policy.policy import Policy, policy_digest
from risk.policy.signing import PolicyStanding, signed_policy_from_document, verify_signatures


def refuse_stray_policy(plan: Plan, reader: LedgerReader) -> None:
    """Refuse a policy or officers that neither are the newest on record nor follow them.

    Otherwise whoever may write the key folder could bring back looser limits that both officers
    signed once. `run` always uses the shipped policy.

    Raises:
        SettingsError: it is so; says what the policy must name.
    """
    if plan.tags.dev:
        return
    refuse_stray_officers(plan.keyring.public_keys(), plan.origin, reader)
    if said := stray_said(plan.policy.policy, reader):
        problem = f"the policy in {plan.keyring.folder} {said}"
        raise SettingsError(name="COUNTERSIGN_KEYS", problem=problem)


def refuse_stray_officers(keys: Mapping[str, bytes], origin: str, reader: LedgerReader) -> None:
    """Refuse officers' keys that are neither those of the policy on record nor their successors.

    Otherwise whoever may write the key folder could put two keys of his own there.

    Raises:
        SettingsError: it is so.
    """
    history = OfficerHistory(reader, keys, origin)
    for record in reader.records(
        stream="control", kinds=(Kind.POLICY_ACTIVATED,), newest_first=True
    ):
        if record.body.get("dev"):
            continue  # of `run`, whose keys are its own
        signed = signed_policy_from_document(
            {"policy": record.body["policy"], "signatures": record.body["signatures"]}
        )
        standing = verify_signatures(signed, history.at(record.seq), clock.wall_us()).standing
        if standing is PolicyStanding.UNSIGNED:
            raise SettingsError(
                name="COUNTERSIGN_KEYS",
                problem="the officers' public keys are not those that signed the policy on record:"
                " put their .pub files back, or let both officers record the change with"
                " `countersign key replace-officer`",
            )
        return


def stray_said(policy: Policy, reader: LedgerReader) -> str:
    """Return why a policy is neither the newest on record nor its successor, "" if it is one."""
    control = reader.records(stream="control", kinds=(Kind.POLICY_ACTIVATED,))
    on_record = [PolicyInForce.of(record) for record in control]
    if not on_record:
        return ""
    active = on_record[-1]
    version = int(active.policy["version"])
    follows = policy.parent == active.policy_digest and policy.version > version
    if follows or policy_digest(policy) == active.policy_digest:
        return ""
    return (
        "does not follow the one on record: it must have"
        f' parent = "{active.policy_digest}" and a version above {version}; make it with'
        " `countersign policy new --from` the policy in force"
    )


def refuse_changed_terms(plan: Plan, reader: LedgerReader, orders: Orders) -> None:
    """Refuse a table that changes or drops an instrument which has orders on record.

    Raises:
        InstrumentsError: the table does so; nothing was recorded.
    """
    listed = reader.records(kinds=[Kind.INSTRUMENT_LISTED])
    ordered = {
        VerdictGiven.of(standing.verdict).instrument
        for name in orders.names()
        if (standing := orders.by_cl_ord_id(name)) is not None and standing.verdict is not None
    }
    found = tuple(changes(plan.instruments, map(InstrumentListed.of, listed), ordered))
    if found:
        file = plan.settings.instruments or "the playback's table"
        raise InstrumentsError(file=str(file), faults=found)
