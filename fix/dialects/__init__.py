"""A broker as data: its profile, its data dictionary, and what each field may hold.

Not here: behaviour.

    versions         FIX 4.2, 4.4 and 5.0 SP2, and what differs by version alone
    market_data      what a profile says about the broker's market data
    profile          every difference between brokers
    order_profile    the part of a profile that an order's text depends on
    profile_text     a profile as TOML, with errors that name key and line
    engine_settings  the settings of QuickFIX for a profile
    data_tags        fields that hold any bytes, and their lengths
    person_tags      which fields can name a person or hold free text
"""
