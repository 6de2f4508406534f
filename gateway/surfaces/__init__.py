"""What listens on a socket, one folder per audience; no surface imports another.

Not here: decisions, SQL, files of the ledger.

    server       the HTTP server in a thread: API and pages on one address, and at the door for
                 local verbs
    connections  how long callers of both servers may take, and how many they may be
    limits       how much a caller may take: bytes of a body, threads of a kill
    route_table  who may what, route by route: made of the application's own routes and of
                 `roles.MAY`
    access/      who is calling, and who was refused
    api/         JSON over HTTP, one module per resource
    web/         pages: routes, forms, actions, `templates/`, `static/`
    witness/     a witness for anybody's log: its own process, keys and memory
"""
