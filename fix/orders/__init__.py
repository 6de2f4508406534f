"""An order's life as tables: state, reconciliation, sweep; pure.

Not here: quickfix.

    state      the order state machine, one table
    live       an order that may be working at the broker, as the FIX child keeps it
    hearing    which order a message is about, whether it ended or works, and what was heard before
    reconcile  after a logon, what became of every open order
    sweep      cancelling what is live: mass cancel first, then single cancels, largest first,
               paced
    sweeper    when to sweep and until when: a kill ends only when nothing is live
"""
