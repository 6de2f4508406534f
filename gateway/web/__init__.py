"""The pages a person looks at: server-made HTML and SVG, no foreign host, one script (the checker).

Reading order: pages (routes), forms (who may post), desk_actions (what a post does), views (ledger
records to page values), cosigners, evidence (what a browser checks), decision_view, parts, tokens,
positions, plots (values to SVG), formats, body, templates/, static/.
"""
