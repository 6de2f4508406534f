"""The kinds about baskets, stops, overrides, modes, digests, fairness, splits, acts, cases."""

from typing import Final

from audit.records.kind_names import Kind, StreamClass
from audit.records.kind_spec import KindSpec
from audit.records.kind_spec import spec as _spec

_C, _CASE = StreamClass.CONTROL, StreamClass.CASE

BASKET_KINDS: Final[tuple[KindSpec, ...]] = (
    _spec(
        Kind.BASKET_RECEIVED,
        _C,
        "account basket_id client_key author legs digest run_id mode dev",
        "basket:<basket_id>",
    ),
    _spec(
        Kind.BASKET_DECIDED,
        _C,
        "account basket_id received_seq outcome reason legs",
        "basket_decided:<basket_id>",
    ),
)

STOP_KINDS: Final[tuple[KindSpec, ...]] = (
    _spec(
        Kind.KILL_PRESSED,
        _C,
        "kill_epoch actor_name reason confirmed open? elapsed_us? source? press_id? boot_id? "
        "pressed_us? confirmed_us?",
        "kill:<kill_epoch>",
        firm_wide=True,
    ),
    _spec(
        Kind.KILL_OUTCOME,
        _C,
        "kill_epoch confirmed unknown open detail elapsed_us? boot_id? pressed_us? last_order_us? "
        "first_cancel_us? last_cancel_us? answered_us?",
        "kill_outcome:<kill_epoch>:<n>",
    ),
    _spec(
        Kind.KILL_RELEASED,
        _C,
        "kill_epoch released_by reason signatures? log_id? press_id? live?",
        "release:<kill_epoch>",
        firm_wide=True,
    ),
    _spec(
        Kind.KILL_DRILLED,
        _C,
        "kill_epoch actor_name reason confirmed live boot_id pressed_us durable_us confirmed_us?",
        "kill_drill:<boot id>:<pressed_us>",
    ),
    _spec(
        Kind.STOP_BEGUN,
        _C,
        "stop stop_id actor_name reason",
        "stop:<stop_id>",
        firm_wide=True,
    ),
    _spec(
        Kind.STOP_ENDED,
        _C,
        "stop_ids ended_by reason log_id? signatures?",
        "stop_ended:<digest of the stop ids>",
        firm_wide=True,
    ),
    _spec(
        Kind.OVERRIDE_GRANTED,
        _C,
        "account override_id instrument side rule_id check qty_max_lots notional_max_minor "
        "policy_digest not_before_us expires_us reason log_id signatures granted_by",
        "override:<override_id>",
        section=True,
    ),
    _spec(
        Kind.OVERRIDE_ENDED,
        _C,
        "account override_id outcome ended_by reason used_by?",
        "override_ended:<override_id>",
        section=True,
    ),
    _spec(
        Kind.CANCEL_ALL_ASKED,
        _C,
        "cancel_id actor_name reason live",
        "cancel_all:<cancel_id>",
    ),
    _spec(
        Kind.CANCEL_ALL_OUTCOME,
        _C,
        "cancel_id confirmed unknown open",
        "cancel_all_outcome:<cancel_id>",
    ),
    _spec(
        Kind.FLATTEN_ASKED,
        _C,
        "flatten_id actor_name reason orders left",
        "flatten:<flatten_id>",
    ),
    _spec(
        Kind.MODE_ENTERED,
        _C,
        "account mode before sender target reason? log_id? signatures? limits?",
        "mode:<run_id>",
    ),
    _spec(
        Kind.DIGESTS_REGISTERED,
        _C,
        "digests actor_name reason",
        "registered:<digest of the digests>:<n>",
    ),
    _spec(
        Kind.PROMOTION_TESTED,
        _C,
        "model_id model_digest gate passed failed report_blob actor_name reason",
        "promotion:<model_digest>:<n>",
    ),
    _spec(
        Kind.MODEL_PROMOTED,
        _C,
        "model_id model_digest tested_seq report_blob log_id signatures",
        "promoted:<tested_seq>",
    ),
    _spec(
        Kind.FAIRNESS_TESTED,
        _C,
        "first_day last_day size root cases deals criteria criteria_digest results actor_name"
        " tests?",
        "fairness:<digest of the payload>",
    ),
    _spec(
        Kind.FAIRNESS_AGREED,
        _C,
        "criteria criteria_digest notice_days log_id signatures actor_name",
        "fairness_agreed:<version>",
    ),
    _spec(
        Kind.ORDER_ALLOCATED,
        _C,
        "account decision_id sealed_seq lots parts allocated_by",
        "allocated:<decision_id>",
    ),
    _spec(
        Kind.POLICY_ANNOUNCED,
        _C,
        "policy_digest policy follows_digest loosens wait_us reason actor_name",
        "policy_announced:<follows_digest>:<policy_digest>",
    ),
    _spec(
        Kind.POLICY_TRIED,
        _C,
        "policy_digest policy follows_digest trial_blob first_seq last_seq verdicts flips untried"
        " actor_name",
        "policy_tried:<trial_blob>:<policy_digest>",
    ),
    _spec(
        Kind.REVIEW_DRAWN,
        _C,
        "first_day last_day size root proposed decisions actor_name",
        "review:<first_day>:<last_day>",
    ),
    _spec(
        Kind.REVIEW_ANSWERED,
        _C,
        "review_seq reviewed_id answer note sheet_digest actor_name",
        "review:<review_seq>:<reviewed_id>:<actor_name>",
    ),
    _spec(
        Kind.DECISION_ANNOTATED,
        _C,
        "annotated_id sort text actor_name role instead? about_seq?",
        "annotation:<annotated_id>:<actor_name>:<client key>",
    ),
    _spec(
        Kind.FORECAST_SCORED,
        StreamClass.MARKET,
        "scored_id instrument attempt step forecast_seq snapshot_seq base_us came_us came_1e8"
        " model_digest target table",
        "scored:<scored_id>:<attempt>:<step>",
    ),
    _spec(
        Kind.PUBLICATION_NOTED,
        _C,
        "ref instrument published_us author medium reference actor_name",
        "publication:<ref>",
        firm_wide=True,
    ),
    _spec(
        Kind.PUBLICATION_ENDED,
        _C,
        "ref of_seq of_leaf reason signatures ended_by",
        "publication_ended:<ref>",
        firm_wide=True,
    ),
    _spec(
        Kind.JUSTIFICATION_ENTERED,
        _C,
        "ref terms signatures log_id actor_name",
        "justification:<ref>",
        firm_wide=True,
    ),
    _spec(
        Kind.SWAPS_TESTED,
        _C,
        "tested_id model_digest lexicon_digest swaps_digest paths identity placebo floor_1e8"
        " iqr_1e8 bound_1e8 pairs outside actor_name",
        "swaps:<digest of the payload>",
        firm_wide=True,
    ),
    _spec(
        Kind.CASE_OPENED,
        _CASE,
        "case_id indicator who instrument at_us evidence agents accounts",
        "opened",
    ),
    _spec(Kind.CASE_NOTED, _CASE, "case_id text actor_name", "note:<client key>"),
    _spec(Kind.CASE_MOVED, _CASE, "case_id case_state reason actor_name", "moved:<n>"),
)
