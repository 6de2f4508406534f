"""Tables of FIX fields that can name a person or hold free text.

Every field of FIX 4.4 (below 957) was reviewed. A later field that no table names, and every
user-defined field (5000 to 39999), is undeclared: it counts as free text until the broker's
profile declares that it names no person (`Profile.public_tags`).

Not here: what is done with such a field (`fix.wire.persons`).

Source: FIX 4.4 volume 6; FIX 5.0 SP2 EP278 for what came later; EP216 for 2376.
"""

import re
from collections.abc import Mapping

from fix.dialects.data_tags import LENGTH_TAGS

PERSON_TAGS: Mapping[int, str] = {
    50: "SenderSubID: the trader or clerk behind the sender",
    57: "TargetSubID: the trader or clerk behind the receiver",
    79: "AllocAccount: an allocation's account, which may be one client's",
    109: "ClientID: a client, who may be a natural person",
    116: "OnBehalfOfSubID: the person behind the firm it is sent for",
    129: "DeliverToSubID: the person behind the firm it is meant for",
    179: "SecuritySettlAgentAcctName: an account may be in a person's name",
    180: "SecuritySettlAgentContactName",
    181: "SecuritySettlAgentContactPhone",
    185: "CashSettlAgentAcctName: an account may be in a person's name",
    186: "CashSettlAgentContactName",
    187: "CashSettlAgentContactPhone",
    282: "MDEntryOriginator: who made a quote",
    288: "MDEntryBuyer: the buying side of a trade",
    289: "MDEntrySeller: the selling side of a trade",
    337: "ContraTrader: the trader at the contra broker",
    467: "IndividualAllocID: an allocation to one client",
    474: "MailingDtls: a registered holder's address",
    482: "MailingInst: how to write to him",
    488: "CardHolderName",
    489: "CardNumber: of a person's card",
    491: "CardIssNum: of a person's card",
    502: "CashDistribAgentAcctName: an account may be in a person's name",
    505: "PaymentRemitterID: who pays",
    509: "RegistDtls: a registered holder's name and address",
    511: "RegistEmail",
    553: "Username of a logon",
    554: "Password: never kept",
    671: "LegAllocAccount: as 79",
    672: "LegIndividualAllocID: as 467",
    925: "NewPassword: never kept",
    931: "RefSubID: a SenderSubID or TargetSubID that is spoken of",
    989: "SecondaryIndividualAllocID: as 467",
    1402: "EncryptedPassword: never kept",
    1404: "EncryptedNewPassword: never kept",
}
"""Fields that name a person in any message, and why."""

NOT_PERSONS: Mapping[int, str] = {
    1: "Account: the firm's account",
    49: "SenderCompID: a firm",
    56: "TargetCompID: a firm",
    76: "ExecBroker: a firm",
    92: "BrokerOfCredit: a firm",
    115: "OnBehalfOfCompID: a firm",
    128: "DeliverToCompID: a firm",
    142: "SenderLocationID: a desk",
    143: "TargetLocationID: a desk",
    144: "OnBehalfOfLocationID: a desk",
    145: "DeliverToLocationID: a desk",
    375: "ContraBroker: a firm",
    376: "ComplianceID: a transaction's",
    439: "ClearingFirm: a firm",
    628: "HopCompID: a firm",
}
"""Fields that look like names of persons but are not, and why."""

TEXT_TAGS: Mapping[int, str] = {
    **{tag: "data of any form" for tag in LENGTH_TAGS.values() if tag not in PERSON_TAGS},
    58: "Text",
    69: "ListExecInst",
    86: "DlvyInst",
    147: "Subject",
    148: "Headline",
    149: "URLLink",
    161: "AllocText",
    400: "BidDescriptor",
    444: "ListStatusText",
    476: "PaymentRef",
    494: "Designation",
    496: "RegistRejReasonText",
    501: "CashDistribPayRef",
    830: "TransferReason",
    848: "TargetStrategyParameters",
    868: "EventText",
    913: "AgreementDesc",
    927: "UserStatusText",
    929: "StatusText",
    960: "StrategyParameterValue",
    1328: "RejectText",
    1513: "DocumentationText",
    1732: "FirmAllocText",
    1802: "OrderEventText",
    2374: "TradeContinuationText",
    2404: "ComplianceText",
    2520: "WarningText",
    2780: "MatchExceptionText",
    2805: "ReplaceText",
    2807: "CancelText",
}
"""Free text, which may name a person."""

FIRM_ROLES: Mapping[str, str] = {
    "1": "executing firm",
    "2": "broker of credit",
    "4": "clearing firm",
    "6": "introducing firm",
    "7": "entering firm",
    "10": "settlement location",
    "13": "order origination firm",
    "14": "giveup clearing firm",
    "15": "correspondent clearing firm",
    "16": "executing system",
    "17": "contra firm",
    "18": "contra clearing firm",
    "19": "sponsoring firm",
    "20": "underlying contra firm",
    "21": "clearing organisation",
    "22": "exchange",
    "24": "customer account",
    "25": "correspondent clearing organisation",
    "26": "correspondent broker",
    "28": "custodian",
    "31": "sub custodian",
    "34": "regulatory body",
    "35": "liquidity provider",
    "38": "position account",
    "54": "sender location",
    "55": "session id",
    "63": "systematic internaliser",
    "64": "multilateral trading facility",
    "66": "market maker",
    "73": "execution venue",
}
"""PartyRole (452) of firms, accounts and systems."""
FIRM_SOURCES = frozenset("BGN")
"""PartyIDSource (447) of firms: BIC, MIC, LEI."""
NOT_NATURAL = frozenset({"22", "23"})
"""PartyRoleQualifier (2376): an algorithm, a legal entity."""
SHORT_CODE = re.compile(r"[0-9]{1,10}")
FIRM_SUB_TYPES = frozenset({"1", "3", "4", "5", "10", "14", "15", "16", "17", "24", "25", "26"})
"""PartySubIDType (803) of firms, systems and registrations; any other may be a person's."""

GROUPS = (
    # (id, source, role, qualifier, (sub id, sub type)) of every parties group
    (448, 447, 452, 2376, (523, 803)),
    (524, 525, 538, 2384, (545, 805)),
    (757, 758, 759, 2381, (760, 807)),
    (782, 783, 784, 2389, (785, 786)),
    (949, 950, 951, 2382, (953, 954)),
    (1019, 1050, 1051, 2378, (1053, 1054)),
    (1059, 1060, 1061, 2391, (1063, 1064)),
    (1117, 1118, 1119, 2388, (1121, 1122)),
    (1293, 1294, 1295, 2377, (1297, 1298)),
    (1415, 1416, 1417, 2383, (1412, 1411)),
    (1462, 1463, 1464, 1818, (2434, 2435)),
    (1563, 1564, 1565, 1675, (1567, 1568)),
    (1658, 1659, 1660, 2338, (1662, 1663)),
    (1691, 1692, 1693, 1674, (1695, 1696)),
    (2255, 2256, 2257, 2379, (2259, 2260)),
)
_COUNTS = {756, 802, 804, 806, 801, 952, 1052, 1062, 1120, 1296, 1413, 1566, 1661, 1694, 2258, 2433}
GROUP_TAGS = frozenset({tag for g in GROUPS for tag in (*g[:4], *g[4])} | _COUNTS)
"""Every field of an entry in a parties group."""

KNOWN_MAX = 956
"""The last field of FIX 4.4."""
LATER = frozenset((
    965, 996, 997, 1003, 1031, 1040, 1041, 1042, 1055, 1057, 1080, 1126, 1127, 1128, 1129, 1130,
    1131, 1137, 1151, 1180, 1181, 1193, 1227, 1300, 1301, 1363, 1408, 1427, 1430, 1500, 1506,
    1507, 1724, 1797, 1891, 1903, 1905, 2376, 2593, 2594, 2595,
))  # fmt: skip
"""Fields later than FIX 4.4 that reports carry and that hold codes and numbers."""
_USER_DEFINED = (range(5_000, 10_000), range(10_000, 40_000))
_PARTY_NAMES = frozenset({g[0] for g in GROUPS} | {g[4][0] for g in GROUPS})
NAMED_TAGS = frozenset({*PERSON_TAGS, *TEXT_TAGS} | _PARTY_NAMES)
"""Every declared field whose value can be or contain a person's name."""

MACHINE_TAGS = frozenset((
    6, 8, 9, 10, 12, 13, 14, 15, 31, 32, 34, 35, 36, 38, 39, 40, 43, 44, 45, 49, 52, 54, 55, 56,
    59, 60, 97, 102, 103, 122, 123, 150, 151, 369, 371, 372, 373, 380, 434, 530, 531, 533,
))  # fmt: skip
"""Fields that drive sessions, orders and the book: they are not searched for names."""


def is_undeclared(tag: int) -> bool:
    """Return whether a field is user-defined or later than FIX 4.4, and in no table here."""
    return tag > KNOWN_MAX and not (
        tag in NAMED_TAGS or tag in GROUP_TAGS or tag in LATER or tag in LENGTH_TAGS
    )


def is_user_defined(tag: int) -> bool:
    """Return whether two firms agree on a field's meaning. Source: FIX 5.0 SP2 volume 1."""
    return any(tag in span for span in _USER_DEFINED)
