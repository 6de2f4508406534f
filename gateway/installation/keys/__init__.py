"""Key files, roles and the change of keys.

Not here: what is signed on a walk.

    roles      what each role may do
    scopes     the scope of an agent's key
    pace       how often a key has asked, against its scope
    officers   officers' key files: private halves, and public ones for the gateway
    log_id     by which every statement of officers names its ledger
    keyring    key files and bearer tokens of one installation
    log_keys   the log's key files: which sign, and how one replaces another
    row_keys   the key of the MACs beside the ledger's rows
    kept_signatures  officers' signatures that wait for a change of mode or a promotion
    custody    the check that only the gateway may use its keys
    rotation   the verbs rotate-key and revoke-key
    succession one officer's key follows another: the verb, and which keys counted when
    disavowal  the verb disavow: two officers exclude a row that the gateway did not write
"""
