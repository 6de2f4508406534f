"""Policies on this machine: the one in force, and files of it.

Not here: a rule, the check of a policy's text (`risk.policy`).

    policy        the signed policy in force
    sections      sections for exactly the instruments of a table
    cooling       how long a looser policy waits, from the record that announces it
    packs         the packs of jurisdictions that ship, and whether a policy keeps those it names
    pack_page     docs/packs.md
    origins       where each number of a policy comes from, in words
    trials        whether both officers signed a trial that the ledger has
    on_record     what the ledger has of policies and officers, which files must follow
    rule_list     the verb `rules`, and its page
    policy_files  the verbs of `policy`: new, show, sign, activate, diff; what `serve` accepts
"""
