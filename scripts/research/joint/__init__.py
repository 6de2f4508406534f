"""How a book of two indices moves: joint paths against what happened, 2005 to 2017.

Whether two instruments move together as the joint paths say, whether a book of both loses as often
and as much, and how fast the correlation forgets. The constants of `inference.scale.correlation`
were chosen here, on 2005-2012; 2013-2017 are reported apart.

    ground      pairs of series on the same days, with the scale before each day
    served      how far the target's rows lie from the table's
    windows     the way before: whole paths, matched by windows of the past
    sampling    paths of both at one origin, joined in each way that is compared
    collecting  what was said at every origin, kept between runs
    intervals   intervals from blocks of days
    memory      how well correlations of each memory foretell the next day, without any path
    figures     what was said against what was seen
    page        `docs/measured/joint.md`
"""
