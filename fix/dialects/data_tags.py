"""Fields whose value may hold any byte, and the fields that say how long it is.

Not here: reading a message by them (`fix.wire.fields`).

Source: FIX 5.0 SP2 EP278, fields of type DATA and XMLDATA; FIX 4.4 volume 6.
"""

from collections.abc import Mapping

LENGTH_TAGS: Mapping[int, int] = {
    90: 91, 93: 89, 95: 96, 212: 213, 348: 349, 350: 351, 352: 353, 354: 355, 356: 357, 358: 359,
    360: 361, 362: 363, 364: 365, 445: 446, 618: 619, 621: 622, 1184: 1185, 1277: 1278, 1280: 1281,
    1282: 1283, 1397: 1398, 1401: 1402, 1403: 1404, 1468: 1469, 1525: 1527, 1578: 1579, 1620: 1621,
    1664: 1665, 1678: 1697, 1733: 1734, 1871: 1872, 1874: 1875, 2072: 2073, 2074: 2075, 2111: 2112,
    2179: 2180, 2287: 2288, 2351: 2352, 2372: 2371, 2481: 2482, 2494: 2493, 2522: 2521, 2637: 2638,
    2651: 2652, 2665: 2666, 2715: 2716, 2718: 2719, 2721: 2722, 2797: 2798, 2802: 2801, 2809: 2808,
    2815: 2814,
}  # fmt: skip
"""Length field to its data field; the length counts bytes."""
