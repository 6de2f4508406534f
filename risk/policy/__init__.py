"""The signed policy; `policies/` holds policies as data, `packs/` what jurisdictions ask for.

Not here: rules, and the numbers that they declare (`risk/rules`).

    deployment  what a policy asks of the way to pilot and live
    policy    limits and parameters, parsed strictly
    judging   which rules judge under it
    jurisdiction  what a jurisdiction asks of a policy
    merging   a policy and packs, to the strictest of each limit
    text      the same as TOML with comments, for people
    changes   what differs between two policies: what loosens, what tightens
    signing   signatures over a policy
    trial     recorded cases judged again under a draft, for both to sign
"""
