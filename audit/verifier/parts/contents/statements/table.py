"""The statements: what must be true of records, by which other records, signed by whom.

Both verifiers and `docs/statements.md` are built from this table; each verifier has one function
for each `id` (`make verifier` writes the table into verify.mjs). A finding begins with the id.

`judges` has, for each kind, the fields that are compared: a dotted path covers all below it. A
field that no statement names is listed as not judged. `apart` says that a class of its own judges
the statement, as it did before this table.
"""

from collections.abc import Mapping
from typing import NamedTuple

from audit.verifier.parts.contents.statements.signed_kinds import SIGNED_FIELDS, SIGNED_KINDS


class Statement(NamedTuple):
    """One statement: its name, its sentence, and the fields of each kind that it judges."""

    id: str
    says: str
    judges: Mapping[str, str]
    apart: bool = False


_ORDER_TAGS = "fields.35 fields.11 fields.1 fields.55 fields.54 fields.38 fields.40 fields.44"
_PLACE = "account decision_id"
_REPORTED = "ord_status average_price commission cum_qty exec_id exec_type last_price last_qty"
_REPORTED += " leaves_qty order_id orig_cl_ord_id exec_ref_id cl_ord_id"

STATEMENTS = (
    Statement(
        "run",
        "A record of a decision or a forecast follows the start of the run that it names; every"
        " record that names a run on record has its mode and its mark as a development run, and"
        " one of a decision, a forecast or joint paths that names none has a mode of a run on"
        " record.",
        {
            "*": "",
            "decision": "run_id mode dev",
            "forecast": "run_id mode dev",
            "paths_joined": "mode",
        },
    ),
    Statement(
        "decision",
        "Each record of a decision names that decision, and the account of its first record.",
        {
            "decision": _PLACE,
            "order_allocated": "decision_id account",
        },
    ),
    Statement(
        "forecast",
        "A forecast's id is that of its inputs, and it is asked for and made by them, after its"
        " capture; one that is drawn directly has the rule, the seed and the size of its"
        " request, and no word acts in its prompt. An attempt follows the recorded failure of"
        " the one before it, and nothing follows its seal. A decision names the record of a"
        " forecast of its instrument that was sealed before, or the failure on record; an intent"
        " rests on such a forecast.",
        {
            "snapshot_taken": "forecast_id attempt instrument snapshot_blob inputs",
            "mode_chosen": "attempt",
            "forecast_requested": "attempt prompt prompt_ids prompt_digest codec_digest sampler"
            " spec_k drafter news_twin",
            "rounds_captured": "attempt",
            "tokens_drawn": "attempt rule seed table_digest paths n_tokens",
            "forecast_failed": "attempt reason",
            "forecast_made": "attempt forecast.instrument forecast.source forecast.model_digest"
            " forecast.codec_digest",
            "placebo_made": "attempt",
            "gjr_made": "attempt",
            "news_twin_made": "attempt",
            "forecast_sealed": "instrument outcome",
            "forecast_taken": "instrument forecast_id forecast_attempt of_seq of_leaf missing",
            "intent_proposed": "intent.instrument",
        },
    ),
    Statement(
        "index",
        "The index of an instrument has a line for each forecast that is opened or ends, right"
        " after the record of it, and one where an earlier forecast stands again. A decision names"
        " the forecast that stands: the last one made, or standing again, before it.",
        {
            "*": "",
            "forecast_listed": "instrument event forecast_id attempt again",
            "forecast_taken": "instrument forecast_id forecast_attempt",
        },
    ),
    Statement(
        "joint",
        "Joint paths are those of a set of forecasts on record, each instrument's once, in one"
        " record; the set's id is that of its members and its seed that of theirs. A decision names"
        " the set of the forecasts that stood when it took its own, which is among them; its"
        " verdict rests on the paths of its intent, and without a set on those of its instrument"
        " alone.",
        {
            "paths_joined": "joint_id members rule without_bp seed",
            "intent_proposed": "paths.joint",
            "placebo_judged": "paths.joint inputs.paths",
            "gjr_judged": "paths.joint inputs.paths",
            "verdict_given": "inputs.paths",
        },
    ),
    Statement(
        "intent",
        "An intent is what was asked for: the author, instrument and account of the request; its"
        " digest is that of its bytes.",
        {
            "intent_proposed": "intent.decision_id intent.account intent.author intent.instrument"
            " intent_digest",
        },
    ),
    Statement(
        "verdict",
        "A verdict judges the intent that was proposed, under the policy in force at its number;"
        " every check of every rule of that policy has one result, which follows from the measured"
        " value, the limit and the policy's arming; and it reserves exactly that intent.",
        {
            "verdict_given": "intent intent_digest policy_digest policy_status.policy_digest"
            " policy_status.standing verdict.action verdict.intent_digest verdict.policy_digest"
            " verdict.results.rule_id verdict.results.check verdict.results.action"
            " verdict.results.outcome verdict.results.margin verdict.results.bound"
            " reservation result state.killed state.kill_epoch state.egress_epoch kill_epoch",
        },
    ),
    Statement(
        "hold",
        "A held order is released by a person who is not its author, who read its sheet, within"
        " the band and the time that the policy gives, for the intent and the rules that he saw;"
        " the order that leaves is inside that band.",
        {
            "approval_requested": "verdict_seq intent_digest policy_digest author verdict_digest"
            " band",
            "approval_given": "verdict_seq approver intent_digest verdict_digest band expires_us"
            " shown.read_seq policy_digest author",
            "approval_refused": "verdict_seq",
            "verdict_given": "approval renewal",
        },
    ),
    Statement(
        "order",
        "An announced order is the one approved, at its number and leaf: account, instrument,"
        " side, quantity, limit, type, time in force and currency, each tag once; it is announced"
        " once, for its run's session, under the verdict's kill epoch, before its time is over.",
        {
            "order_sending": "approving_seq approving_leaf cl_ord_id kill_epoch send_before_us "
            + _ORDER_TAGS
            + " fields.59 fields.15 session",
        },
    ),
    Statement(
        "wire",
        "The message that left has the fields that were announced, and its digest.",
        {
            "order_sent": "cl_ord_id raw_digest raw.11 raw.1 raw.55 raw.54 raw.38 raw.40 raw.44"
            " raw.59 raw.15 raw.35",
            "replace_sent": "raw_digest raw.11 raw.41 raw.1 raw.55 raw.54 raw.38 raw.40 raw.44"
            " raw.59 raw.35",
            "fix_inbound": "digest",
        },
    ),
    Statement(
        "replace",
        "A replace is on record before it leaves, begins from the terms that the order has, and"
        " reserves the larger of both; unless it only reduces, a verdict on exactly its terms"
        " allowed it.",
        {
            "replace_requested": "orig_cl_ord_id before after reservation judged.intent"
            " judged.intent_digest judged.policy_digest judged.verdict.action"
            " judged.verdict.intent_digest judged.verdict.policy_digest"
            " judged.verdict.results.rule_id judged.verdict.results.check"
            " judged.verdict.results.action judged.verdict.results.outcome"
            " judged.verdict.results.margin judged.verdict.results.bound",
            "replace_sent": "cl_ord_id orig_cl_ord_id",
            "replace_ended": "cl_ord_id orig_cl_ord_id",
        },
    ),
    Statement(
        "fill",
        "A report says what the message on record says, and books its quantity, price and fee in"
        " the units of the instrument, for the order's own instrument and side. The message does"
        " not contradict itself or the order's currency; a fee that is not understood is none.",
        {
            "order_reported": "cl_ord_id session inbox_offset exec_id fill.instrument fill.side"
            " fill.qty_lots fill.price_ticks fill.unit_minor fill.fee_minor ord_status "
            + " ".join(f"report.{name}" for name in _REPORTED.split()),
        },
    ),
    Statement(
        "policy",
        "A policy in force is the document on record with its digest, signed by as many different"
        " roles as it asks for.",
        {
            "policy_activated": "policy policy_digest signatures signed_by",
            "policy_tried": "policy policy_digest",
            "policy_announced": "policy policy_digest",
        },
    ),
    Statement(
        "mode",
        "A mode follows the one before it on record; two officers sign one that risks money more.",
        {"mode_entered": "before mode signatures log_id limits"},
    ),
    Statement(
        "release",
        "A release names a kill on record by its epoch and press, and both officers signed it for"
        " this ledger, with the orders still live.",
        {"kill_released": "kill_epoch press_id log_id live signatures"},
    ),
    Statement(
        "resume",
        "A stop that ends had begun; both officers sign where the stop protects the firm.",
        {"stop_ended": "stop_ids log_id signatures"},
    ),
    Statement(
        "promotion",
        "A promoted model is one that a recorded test passed, and both officers signed that"
        " report.",
        {"model_promoted": "model_id model_digest tested_seq report_blob log_id signatures"},
    ),
    Statement(
        "criteria",
        "Criteria of fairness have their digest, and both officers signed it.",
        {"fairness_agreed": "criteria criteria_digest log_id signatures"},
    ),
    Statement(
        "justification",
        "A justification's name is that of the terms that both officers signed.",
        {"justification_entered": "ref terms.ref"},
    ),
    Statement(
        "signed",
        "What both officers sign together is the text that the record's fields give, for this"
        " ledger.",
        SIGNED_FIELDS,
    ),
    Statement(
        "ended",
        "An act that ends is on record before, by number, leaf and name.",
        {kind: "of_seq of_leaf ref" for kind, (ends, *_) in SIGNED_KINDS.items() if ends},
    ),
    Statement(
        "difference",
        "A resolution names a difference on record by number and leaf; where it changes a book or"
        " ends an order, both officers signed its terms, and it books the lots that the book lacked"
        " or had too many.",
        {
            "difference_resolved": "of_seq of_leaf right reason evidence account adjustment ends"
            " terms trade signatures with_seq decision_id book_lots broker_lots"
        },
    ),
    Statement(
        "adjustment",
        "An adjustment of a book is the terms that both officers signed for this ledger; what it"
        " does to the book follows from them, in the units of the instrument and of the money.",
        {
            "book_adjusted": "ref sort account instrument terms signatures reference reason"
            " evidence lots amount_minor fill split positions effective_us marks mark_ticks trade"
        },
    ),
    Statement(
        "override",
        "A limit was lifted once, by two officers, for the order that they named.",
        {
            "override_granted": "override_id account instrument side rule_id check qty_max_lots"
            " notional_max_minor policy_digest not_before_us expires_us reason log_id signatures",
            "verdict_given": "state.override",
        },
        apart=True,
    ),
    Statement(
        "officers",
        "An officer's key changes by a statement that both officers signed.",
        {
            "officer_key_changed": "role before after name signatures",
            "record_disavowed": "seq leaf signatures",
        },
        apart=True,
    ),
    Statement(
        "seed",
        "A forecast's seeds follow from the last signed root before the first attempt at it.",
        {"forecast_requested": "seed_root seed_size seeds seed_rule"},
        apart=True,
    ),
    Statement(
        "basket",
        "A basket's legs are on record, and no order left before the whole was approved.",
        {
            "basket_received": "basket_id legs digest",
            "basket_decided": "basket_id received_seq outcome legs",
            "intent_received": "basket_id",
        },
        apart=True,
    ),
    Statement(
        "trial",
        "A policy that follows another was tried before, where its officers signed so.",
        {"policy_activated": "signatures.trial"},
        apart=True,
    ),
    Statement(
        "window",
        "A run of the tests of fairness follows from the records of its days (verify.py only).",
        {"fairness_tested": "first_day last_day size root cases deals results"},
        apart=True,
    ),
    Statement(
        "heads",
        "A map of the streams' ends is that of the streams, in parts without a gap.",
        {"stream_heads": "heads part parts"},
        apart=True,
    ),
    Statement(
        "keys",
        "A change of the log's keys is signed by itself.",
        {"key_rotated": "statement", "key_revoked": "statement"},
        apart=True,
    ),
)
"""In the order of the walk.

Kind "*" is every kind, "decision" each of a decision's stream, "forecast" each of a forecast's.
"""
