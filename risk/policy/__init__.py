"""The signed policy; `policies/` holds policies as data, `packs/` what jurisdictions ask for.

Not here: rules.

    stated    a number with its unit and its reasons
    deployment  what a policy asks of the way to pilot and live
    families  numbers of the rules that came with format 2
    policy    limits and parameters, parsed strictly
    jurisdiction  what a jurisdiction asks of a policy
    merging   a policy and packs, to the strictest of each limit
    numbers   its numbers for one instrument, quick to read
    text      the same as TOML with comments, for people
    changes   what differs between two policies: what loosens, what tightens
    signing   signatures over a policy
    trial     recorded cases judged again under a draft, for both to sign
"""
