"""Pages: rows, routes, forms, `templates/`, `static/`.

Not here: folding records, JSON.

    site      every row's routes, sign-in, the files that pages need, what doors refuse
    pages/    what each page reads and each button does, a row each
    binder    the rows as routes: ledger records in, HTML out
    doors     who may open a page or post a form: the dependencies of every page's route
    sign_in   signing in and out of the pages
    sessions  who is signed in to the pages, in memory: a restart signs everybody out
    forms     whether a request came from our own page: loopback, same origin, form token
    live      pages that keep themselves fresh
    sheets    templates to answers: what every page shows, for whom, and its security headers
    views/    records to page values and SVG
"""
