"""Pages: routes, forms, actions, `templates/`, `static/`.

Not here: folding records, JSON.

    pages     the pages' routes: ledger records in, HTML out
    doors     who comes in to a page: the dependencies that every page's route has
    sign_in   signing in and out of the pages
    sessions  who is signed in to the pages, in memory: a restart signs everybody out
    forms     whether a request came from our own page: loopback, same origin, the session's own
              form
    sheets    a template to an answer: what stands on every page, for whom, and the headers that
              guard it
    actions   what the pages may make the desk do, in the words that a person reads afterwards
    views/    records to page values and SVG
"""
