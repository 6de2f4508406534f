"""The scope of a new installation's agent: starting values, in a file that its operator changes.

The numbers follow from the draft policy and from what the desk can answer at once (decision 222).

Not here: a scope's form (`gateway.installation.keys.scopes`).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from audit.signers.file import write_new
from gateway.desk.intake.admission import AT_ONCE, EACH_MAX
from gateway.installation.keys.scopes import EVERY, PER_MINUTE_MAX
from risk.forms.money import HUNDREDTHS, grouped_money, minor_digits, money_text, rescaled
from risk.policy.policy import Policy

FILE: Final = "agent.toml"
ACCOUNT: Final = "agent-1"
"""Not the key's own name: that account is of keys without a scope."""
DAY_ORDERS: Final = 5
"""A day's budget in largest orders. A draft's is twice the equity: a book sold and bought anew."""
MINUTE_S: Final = 60
TOGETHER: Final = (AT_ONCE + EACH_MAX) // 2
"""Half of what of one key may be handled and wait, so that the line has room for its next ones."""
_DAY_US: Final = 86_400_000_000
_READABLE: Final = 0o644


def make_scope(folder: Path, policy: Policy) -> tuple[Path, str]:
    """Write the scope of the key `agent` for a draft policy; return the file and what it says."""
    order_minor, digits = policy.account.order_notional_max.value, minor_digits(policy.currency)
    rate = min(PER_MINUTE_MAX, MINUTE_S * policy.account.message_rate.value)
    order, day = (
        money_text(rescaled(minor, digits, HUNDREDTHS), HUNDREDTHS)
        for minor in (order_minor, DAY_ORDERS * order_minor)
    )
    last = datetime.fromtimestamp((policy.expires_us - _DAY_US) / 1_000_000, tz=UTC).date()
    text = f"""\
# What the key `agent` may ask for: starting values, beside what the policy allows. After a change:
#   countersign key replace agent --scope {FILE}
# ends the old token and prints a new one. For another agent, with an account of its own:
#   countersign keygen --name NAME --scope FILE
instruments = ["{EVERY}"]  # every one of the table, or symbols
sides = ["BUY", "SELL"]
order_notional_max = "{order}"  # {policy.currency}; the policy's own limit of an order
day_notional_max = "{day}"  # {DAY_ORDERS} such orders
intents_per_minute = {rate}  # as many as the policy lets messages leave; more is answered 429
intents_at_once = {TOGETHER}  # half of what the desk's line takes of one key
expires = {last}  # the key ends with this day, UTC, as the policy does
account = "{ACCOUNT}"  # its orders' book
"""
    write_new(folder / FILE, text.encode(), _READABLE)
    one, whole = (grouped_money(n * order_minor, digits) for n in (1, DAY_ORDERS))
    said = (
        f"the agent's key may ask {rate} times a minute ({TOGETHER} at once), for orders of up to"
        f" {one} and {whole} {policy.currency} a day, until {last}: {FILE} says how to change it"
    )
    return folder / FILE, said
