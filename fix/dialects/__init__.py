"""A broker as data: its profile, what each field may hold, the dictionary.

Not here: behaviour.

    profile      a broker as data
    person_tags  FIX fields by what they may hold: a person, words, or neither
"""
