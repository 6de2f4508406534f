"""What holds orders back or changes them, and the statements that people sign.

Not here: who may ask (`gateway.installation.keys`), what a stop does to a verdict (`risk`).

    kill        the kill switch: close the gate, confirm, record, sweep
    drill       a drill of the kill
    cancel_all  cancelling every live order
    orders      orders as their owners see them, and the cancel of one order
    replacing   another quantity or limit for one order
    turns       decisions under way, and the moment without any
    statements  the statements that the signing roles sign, and their check
"""
