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
12. ``wire_log``: inbound bytes exactly as they came.
13. ``guard``: the last word on every outbound message.
14. ``redial``, ``line``: how often a session that is down is tried; connects that hang.
15. ``session``: the quickfix initiator, the only file besides ``ems`` that imports quickfix.
16. ``sweep``, ``sweeper``: cancelling what is live, largest first; when, and until when.
17. ``session_link``: the pipe between gateway and child.
18. ``sweep_desk``, ``session_desk``: sweeps noted and sent; what the child does with each command.
19. ``session_main``: the child process.
20. ``reconcile``: after a logon, what became of every open order.
21. ``ems_control``: quotes, clock and command line of the simulator.
22. ``ems_order``: an order as the simulator keeps it.
23. ``ems_market``: the simulator's published table and matching, pure.
24. ``ems``: the simulator, a FIX acceptor in its own process.
"""
