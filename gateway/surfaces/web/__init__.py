"""Pages: routes, forms, actions, `templates/`, `static/`.

Not here: folding records, JSON.

    pages     the pages' routes: ledger records in, HTML out
    oversight what waits for a person with the form that answers, how forecasts did, alarms
    orders    the blotter: orders as a page, each live one with a button that cancels it
    doors     who may open a page or post a form: the dependencies of every page's route
    sign_in   signing in and out of the pages
    sessions  who is signed in to the pages, in memory: a restart signs everybody out
    forms     whether a request came from our own page: loopback, same origin, form token
    live      pages that keep themselves fresh
    sheets    templates to answers: what every page shows, for whom, and its security headers
    stops     the buttons of the stops, and of cancelling every order
    actions   what the pages make the desk do, and what they tell the person afterwards
    views/    records to page values and SVG
"""
