"""The pages a person looks at: server-made HTML and SVG, no foreign host, one script (the checker).

Reading order: pages (routes), doors (who comes in), sign_in, sessions, forms (is it our own page),
access (who may what, route by route), sheets (a template to an answer), desk_actions (what a post
does), views (ledger records to page values), cosigners, evidence (what a browser checks),
decision_view, renewal, parts, tokens, positions, plots (values to SVG), formats, body, templates/,
static/.
"""
