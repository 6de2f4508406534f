"""Orders out, reports in: FIX 4.4 with a durable record on both sides of the wire.

Reading order:

1. ``errors``: what can go wrong here.
2. ``profile``: a broker as data.
3. ``identity``: ClOrdID from the approving record.
4. ``messages``: an approved order to fields, and any bytes to fields.
5. ``person_tags``, ``persons``: which fields name a natural person, and messages without them.
6. ``reports``: fields to execution reports, cancel rejects and rejects.
7. ``order``: the order state machine, one table.
8. ``kill``: the mapped kill word.
9. ``inbox``: inbound bytes, durable before anything else happens.
10. ``journal``: the child's own fsynced, chained list of live orders.
11. ``continuity``: whether the folder goes on where the ledger stands, or begins anew.
12. ``resets``: what was counted, and each new beginning of the numbers.
13. ``wire_log``: inbound bytes exactly as they came.
14. ``guard``: the last word on every outbound message.
15. ``redial``, ``line``: how often a session that is down is tried; connects that hang.
    ``logon_probe``: whether no gap is left after a logon, before anything is sent.
16. ``listener``, ``session``: what a session tells; the quickfix initiator, which alone besides
    ``ems`` imports quickfix.
17. ``sweep``, ``sweeper``: cancelling what is live, largest first; when, and until when.
18. ``session_link``: the pipe between gateway and child.
19. ``sweep_desk``, ``session_desk``: sweeps noted and sent; what the child does with each command.
20. ``session_main``: the child process.
21. ``reconcile``: after a logon, what became of every open order.
22. ``ems_control``: quotes, clock and command line of the simulator.
23. ``ems_order``: an order as the simulator keeps it.
24. ``ems_market``: the simulator's published table and matching, pure.
25. ``ems``: the simulator, a FIX acceptor in its own process.
"""
