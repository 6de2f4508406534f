"""A broker as data: its profile, its data dictionary, and what each field may hold.

Not here: behaviour.

    profile      every difference between brokers
    person_tags  which fields can name a person or hold free text
"""
