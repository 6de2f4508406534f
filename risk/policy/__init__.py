"""The numbers that officers sign; `policies/` holds them as data.

Not here: rules.

    policy   the numbers that officers sign
    signing  their signatures
"""
