"""What an account may hold, owe and trade with itself.

The catalogue of rules lists the files; the first line of each says what it measures.

Not here: worst-case position, gross, net and leverage (`risk.rules.limits`).
"""
