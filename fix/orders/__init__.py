"""An order's states, reconciliation and sweep as tables; pure.

Not here: quickfix.

    state      the order state machine
    live       an order that may be working at the broker, as the FIX child keeps it
    naming     which order of ours a report is about
    hearing    which order a message is about, whether it ends it, and whether it is news
    foreign    orders at the broker that are not ours
    replacing  what a message says about a replace
    reconcile  after a logon, what became of every open order
    sweep      which cancels to send for live orders, in which order and at which rate
    sweeper    when a sweep begins and ends
"""
