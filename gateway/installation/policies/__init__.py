"""Policies on this machine: the one in force, and files of it.

Not here: a rule, the check of a policy's text (`risk.policy`).

    policy        the signed policy in force
    traded        an instrument of the table as a draft needs it: units, price, what is stated
    classes       the section of a draft for each asset class
    account       the numbers of a draft that depend on the equity and on how many instruments
    sections      a draft for exactly the instruments of a table, with limits scaled by value
    cooling       how long a looser policy waits, from the record that announces it
    packs         the packs of jurisdictions that ship, and whether a policy keeps those it names
    pack_page     docs/packs.md
    origins       where each number of a policy comes from, in words
    trials        whether both officers signed a trial that the ledger has
    on_record     what the ledger has of policies and officers, which files must follow
    rule_list     the verb `rules`, and its page
    policy_files  the verbs of `policy`: new, show, sign, activate, diff; what `serve` accepts
"""
