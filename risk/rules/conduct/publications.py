"""R49: no order in an instrument on which the firm itself has just spoken in public.

An act of the time of the verdict, or of a later time, counts: whoever sets a clock back gains
nothing. An act without an instrument counts for each.

Source: Delegated Regulation (EU) 2016/522 Annex II, section 1, indicator B; Regulation (EU) No
596/2014 art. 12(2)(d).
"""

from typing import Annotated, Final

from risk.numbers.looser import Looser
from risk.numbers.stated import Micros, PolicyModel
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, counted, positive, whole
from risk.verdict import Reason, RuleId, Scope, Unit


class PublicationLimits(PolicyModel):
    """How long an own publication binds.

    Attributes:
        publication_window: How long an own publication on an instrument keeps it from trading.
    """

    publication_window: Annotated[Micros, Looser.LOWER]


def _publications(case: RuleCase) -> tuple[Measured, ...]:
    said = case.inputs.publications
    if said is None:
        raise RuleRefusal(Reason.INPUT_MISSING)
    counted(said.basis_seq)
    now = positive(case.state.now_us)
    limits: PublicationLimits = case.families.conduct
    since = now - limits.publication_window.value
    recent = [
        one
        for one in said.acts
        if counted(one.seq) >= 0
        and whole(one.time_us) > since
        and one.instrument in {case.intent.instrument, ""}
    ]
    return (Measured(observed=len(recent), limit=0),)


R49: Final = Rule(
    rule_id=RuleId.R49,
    version=1,
    title="News position: own publications on the instrument within the window",
    checks=(Check(name="acts", unit=Unit.COUNT, scope=Scope.FIRM, reason=Reason.OWN_PUBLICATION),),
    measure=_publications,
    conduct=True,
)

RULES: Final = (R49,)
