"""What both officers sign of a record, by its kind.

Written by `make verifier` from the table of kinds; do not edit.
"""

SIGNED_KINDS = {
    "justification_entered": (
        "",
        "log_id",
        "fairness justification",
        "ref {ref}",
        "terms {terms:json}",
    ),
    "justification_ended": (
        "justification_entered",
        "",
        "justification end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
    "publication_ended": (
        "publication_noted",
        "",
        "publication end",
        "record {of_seq} {of_leaf}",
        "reason {reason:json}",
    ),
}
"""The kind that a record ends, its field that names the log, purpose, particulars."""
SIGNED_FIELDS = {
    "justification_entered": "ref terms log_id signatures",
    "justification_ended": "of_seq of_leaf reason signatures",
    "publication_ended": "of_seq of_leaf reason signatures",
}
