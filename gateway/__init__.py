"""The composition: everything that joins ledger, risk, inference and FIX into one gate.

In reading order, down the walk:

- playback, intake, narrative: market sessions and dated events, in through one strict door (1)
- market: the standing quotes and the one market clock (1)
- walk: ports and values that the three walk functions are given
- decision: decide(), snapshot to verdict (2-7)
- forecasting: a capture to the integer forecast, also for replay (5)
- strategies, intents: who proposes what (6)
- placebo_twin: the table model's shadow of every decision (6)
- deadlines: how long an agreement lives, on two clocks (6, 7)
- section: the per-firm section, compare-and-swap (6)
- journal, journal_orders, journal_kill, journal_access: one function per record kind (7)
- dispatch: dispatch(), approved to sent (8)
- persons: names out of broker messages, into personal fields (8, 9)
- own_keys: what goes on record although a disavowed row holds its key (9)
- settlement, settler: settle(), report to book, and the thread that runs it (9)
- ledger_book: records to book events
- orders: the outbox as a projection
- differences, quarantine, book_check, resolving, differing: the book held against what the broker
  says, and a person's word on what differs
- holds: held decisions and their renewal
- killing, cancels, kill_times, releasing: the kill, what its sweep sent, when, and its end
- sequence, fix_session: a session's numbers; one that was lost, refused or begun anew
- asking, recovery: silent orders asked for; what a start finds and does
- housekeeping, pulse: what time asks for, and whether the database answers
- desk, answers: what API, pages and playback may ask for, and what an agent is told
- reads, refusals: who read what, and who was refused, on record
- engine_child, engine_process, fix_life, fix_child, postmaster, postgres_access, postgres,
  own_process, simulator: supervisors of the children
- database: the embedded one or a given one, entered by a plain login
- clock, errors, failpoints, roles, keyring, statements, log_keys, row_keys, policy_desk, settings,
  state, custody, telemetry: the ground
- profiles, app, assembly, events, server, runner: before the start, the start, the long verbs
- summary, accepted, progress: the run in numbers, and on the screen
- replay, replay_past, replay_seeds, replay_forecast, replay_rows, replay_engine, replay_intent,
  replay_orders: one decision again (10)
- name_needles, name_search, log_cleaning: what is a person's name in a log, and stars over it
- privacy, privacy_actions, forgetting: erasure, holds and disclosure, and their verbs
- attach, listing, outside, verifying, upkeep, footprint, backups, showing, exporting, proving,
  stopping, rotating, disavowing, tile_mirror, tile_files: the other verbs
- witness_policy, publishing, log_files, followed_logs, witness_server: our checkpoints to
  witnesses, tiles to outsiders; and a witness for anybody's log
- connections: how long callers of both servers may take, and how many they may be
- local_door, local_client: the socket that only the gateway's own user reaches, and who asks there
- demo_agent: a labelled agent that misbehaves
- api, web, cli: the three surfaces
"""
