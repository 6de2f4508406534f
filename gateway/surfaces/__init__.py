"""What listens on a socket, one folder per audience; no surface imports another.

Not here: decisions, SQL, files of the ledger.

    server       the HTTP server in a thread: API and pages, on one address and one local socket
    connections  limits on connections to both servers: how long and how many
    limits       limits on one request: bytes of a body, threads of a kill
    places       so many connections held at once, and a share for each key
    heads        HEAD on every route that has GET
    following    server-sent events out of the ledger, a cursor for each connection
    route_table  who may do what, route by route, from the application's routes and `roles.MAY`
    access/      who is calling, and who was refused
    api/         JSON over HTTP, one module per resource
    web/         pages: routes, forms, actions, `templates/`, `static/`
    witness/     a witness for any C2SP log, with its own process, keys and memory
"""
