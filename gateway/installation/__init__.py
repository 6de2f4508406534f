"""This machine's installation: settings, state folder, locks, keys, database, children.

Not here: the walk, HTTP, the text of a verb.

    database       the embedded or given database: migration and login
    children/      one supervisor for each child process
    keys/          key files, roles and the change of keys
    feed_settings  settings of the market data, the form of a section
    settings_file  the settings file, `countersign.toml`
    settings       all settings, from the environment and the file
    state          paths of the state folder, and its lock
    press_notes    who pressed the kill and why, until it is recorded
    place          access of a verb to an existing ledger
    trial          a state folder whose new content is removed unless the verb succeeds
    local/         how a verb of the same machine reaches the running gateway
    policies/      the signed policy in force, and files of it
"""
