"""The signed policy; `policies/` holds policies as data.

Not here: rules.

    policy   limits and parameters, parsed strictly
    signing  signatures over a policy
"""
