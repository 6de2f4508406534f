"""The signed policy; `policies/` holds policies as data.

Not here: rules.

    policy   limits and parameters, parsed strictly
    text     the same as TOML with comments, for people
    changes  what differs between two policies: what loosens, what tightens
    signing  signatures over a policy
"""
