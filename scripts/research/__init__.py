"""How the shipped weights were made and judged, each once; nothing of the product calls it.

sources   series as they are read
series    series as training takes them
scores    scores of a Gaussian and of EWMA, many paths decoded
pair_v1/  the first pair: a network and two drafters
scaled/   pair v2: the table on the fitted scale
judged/   pair v2 on 2016-2017, against one frozen baseline
hearing/  pair v3: the same table as drafter, and a target that hears words
hours/    pair v4: pair v3 with rows of hourly bars whose hours have their size
joint/    pair v4 on two indices at once: joint paths against 2005-2017
"""
