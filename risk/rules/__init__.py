"""The rules, one file per family; read in this order.

1. `rule`: what a rule is, and how a measurement becomes a result.
2. `exposure`: worst cases that several families share.
3. `admission`: R00, R01. Valid policy, one subject, kill latch.
4. `limits`: R03 to R09. Size, price, position, exposure.
5. `losses`: R11, R12. Day and drawdown.
6. `rates`: R13, R16. Messages and duplicates.
7. `freshness`: R24, R25. Market data, forecast, narrative.
8. `model`: R26. Confidence of directional intents.
9. `oversight`: R31. The human threshold.
10. `catalogue`: all of them in order.
"""
