"""Trust policies: the spec's example, every rule broken once, and quorums counted."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import NoteError, TrustPolicyError
from audit.tlog.checkpoint import checkpoint_text, make_checkpoint
from audit.tlog.cosignature import cosign
from audit.tlog.note import Note, VerifierKey, parse_note, sign_note
from audit.tlog.policy import QuorumPolicy
from audit.verifier.verify import Bad, read_policy
from tests.doubles.cosigners import LOG, QUANTUM_SAFE, WITNESSES, Cosigner

ROOT = bytes(32)
X = [Cosigner(f"x{number}.example", 20 + number) for number in (1, 2, 3)]
Y = [Cosigner(f"y{number}.example", 30 + number) for number in (1, 2, 3)]
EXAMPLE = f"""log {LOG.vkey}

witness X1 {X[0].vkey}
witness X2 {X[1].vkey}
witness X3 {X[2].vkey}
group X-witnesses 2 X1 X2 X3

witness Y1 {Y[0].vkey}
witness Y2 {Y[1].vkey}
witness Y3 {Y[2].vkey}
group Y-witnesses any Y1 Y2 Y3

group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
"""
W = [f"witness W{number} {witness.vkey}\n" for number, witness in enumerate(WITNESSES)]


def cosigned(*signers: Cosigner, log: Cosigner = LOG) -> Note:
    note = parse_note(make_checkpoint(5, ROOT, log).note)
    return note.with_signatures(*(cosign(note.text, signer, 1_700_000_000) for signer in signers))


def parse(text: str) -> QuorumPolicy:
    return QuorumPolicy.parse(text.encode())


def test_the_published_example_counts_as_it_says() -> None:
    policy = parse(EXAMPLE)
    people = [*X, *Y]
    for count in range(len(people) + 1):
        for signers in itertools.combinations(people, count):
            enough = len(set(signers) & set(X)) >= 2 and bool(set(signers) & set(Y))
            note = cosigned(*signers)
            if enough:
                who = {witness.key for witness in policy.satisfied_by(note).witnesses}
                assert who == {signer.vkey for signer in signers}
            else:
                with pytest.raises(TrustPolicyError, match="not met"):
                    policy.satisfied_by(note)


def test_both_cosignature_types_count_and_tell_their_times() -> None:
    policy = parse(
        f"log {LOG.vkey}\nwitness a {WITNESSES[0].vkey}\nwitness b {QUANTUM_SAFE.vkey}\n"
        "group both all a b\nquorum both\n"
    )
    note = cosigned(WITNESSES[0]).with_signatures(cosign(cosigned().text, QUANTUM_SAFE, 0))
    verdict = policy.satisfied_by(note)
    assert [(w.name, w.time_s) for w in verdict.witnesses] == [(b"a", 1_700_000_000), (b"b", 0)]
    assert verdict.log == LOG.vkey
    assert (verdict.head.origin, verdict.head.size) == (LOG.vkey.name, 5)


def test_white_space_comments_urls_and_opaque_octets_are_taken() -> None:
    data = (
        b"# \xff any octets\n \t \n\t  #x\n"
        + f"\tlog   {LOG.vkey}\thttps://log.example/ \n".encode()
        + b"quorum none\n"
        + b"witness \xe2\x84\xaa "
        + f"{WITNESSES[0].vkey} http://\xe9/\n".encode("latin-1")
        + b"witness K "
        + f"{WITNESSES[1].vkey}\n".encode()
        + b"group \xff\xfe 1 \xe2\x84\xaa K\n"
    )
    policy = QuorumPolicy.parse(data)
    assert [witness.name for witness in policy.witnesses] == [b"\xe2\x84\xaa", b"K"]
    assert policy.logs[0].url == b"https://log.example/"
    assert policy.witnesses[0].url == b"http://\xe9/"
    assert policy.satisfied_by(cosigned()).witnesses == ()


def test_white_space_is_free() -> None:
    # Source: TestUnmarshal of github.com/transparency-dev/formats/policy, its last line ended.
    text = (
        "\n# comment\n\t # another comment\n\twitness \t w1  "
        f"{WITNESSES[0].vkey}   https://w1.example.com/  \n\n  quorum\tw1\n"
    )
    policy = parse(text)
    assert [(one.name, one.url) for one in policy.witnesses] == [
        (b"w1", b"https://w1.example.com/")
    ]
    assert policy.quorum == b"w1"
    judged = read_policy(text.encode())  # the one-file verifier's
    assert {name: key.name for name, key in judged.witnesses.items()} == {b"w1": "w0.example"}


def test_names_are_opaque_octets() -> None:
    # Source: the same; a Kelvin sign is no K, and 0x80 is no UTF-8.
    name = b"K\xe2\x84\xaalvin-w\x80"
    vkey = str(WITNESSES[0].vkey).encode()
    policy = QuorumPolicy.parse(b"witness %b %b\nquorum %b\n" % (name, vkey, name))
    assert policy.quorum == policy.witnesses[0].name == name
    with pytest.raises(TrustPolicyError):
        QuorumPolicy.parse(b"witness %b %b\nquorum KKlvin-w\x80\n" % (name, vkey))


def test_words_of_the_language_and_numbers_may_be_names() -> None:
    policy = parse(
        f"witness any {WITNESSES[0].vkey}\nwitness 2 {WITNESSES[1].vkey}\n"
        f"group all 2 any 2\nquorum all\nlog {LOG.vkey}\n"
    )
    assert len(policy.satisfied_by(cosigned(*WITNESSES[:2])).witnesses) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "quorum none",
        "quorum none\nquorum none\n",
        "quorum W0\n" + W[0],
        "quorum\n",
        "quorum none none\n",
        "quorum none\r\n",
        "quorum none\n\x00",
        "quorum none\n# \x7f\n",
        "quorum\x0bnone\n",
        "Quorum none\n",
        "quorum none\nlog\n",
        f"quorum none\nlog {LOG.vkey} url more\n",
        f"quorum none\nlog {LOG.vkey}\nlog {LOG.vkey}\n",
        f"quorum none\nlog {WITNESSES[0].vkey}\n",
        f"quorum none\nlog {str(LOG.vkey)[:-2]}\n",
        f"quorum none\nwitness a {LOG.vkey}\n",
        f"quorum none\nwitness {WITNESSES[0].vkey}\n",
        f"quorum none\nwitness none {WITNESSES[0].vkey}\n",
        f"quorum none\nwitness a b {WITNESSES[0].vkey}\n",
        "quorum none\n" + W[0] + W[0],
        "quorum none\n" + W[0] + W[0].replace("W0", "V0"),
        "quorum none\n" + W[0] + W[1].replace("W1", "W0"),
        "quorum none\n" + W[0] + "group g 1\n",
        "quorum none\n" + W[0] + "group g 0 W0\n",
        "quorum none\n" + W[0] + "group g 2 W0\n",
        "quorum none\n" + W[0] + "group g -1 W0\n",
        "quorum none\n" + W[0] + "group g +1 W0\n",
        "quorum none\n" + W[0] + "group g one W0\n",
        "quorum none\n" + W[0] + "group g 1 none\n",
        "quorum none\n" + W[0] + "group none 1 W0\n",
        "quorum none\n" + W[0] + "group W0 1 W0\n",
        "quorum none\n" + W[0] + "group g 1 W1\n" + W[1],
        "quorum none\n" + W[0] + "group g 1 g\n",
        "quorum none\n" + W[0] + "group g 1 W0 W0\n",
        "quorum none\n" + W[0] + "group g 1 W0\ngroup h 1 W0\n",
        "quorum none\n" + W[0] + "group g 1 W0\ngroup g 1 W0\n",
    ],
)
def test_a_rule_broken_anywhere_refuses_the_whole_policy(text: str) -> None:
    with pytest.raises(TrustPolicyError):
        parse(text)


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u0085", "\u2028", "\ufeff"])
def test_no_other_white_space_than_ascii_stands_around_a_key(space: str) -> None:
    # Source: tlog-policy, "whitespace" is ASCII space and tab only, the rest is opaque.
    for vkey in (f"{WITNESSES[0].vkey}{space}", f"{space}{WITNESSES[0].vkey}"):
        with pytest.raises(NoteError):
            VerifierKey.parse(vkey)
        with pytest.raises(TrustPolicyError):
            parse(f"witness w {vkey}\nquorum w\n")
        with pytest.raises(Bad):  # the one-file verifier's
            read_policy(f"witness w {vkey}\nquorum w\n".encode())
    assert VerifierKey.parse(f" \t{WITNESSES[0].vkey}\r\n") == WITNESSES[0].vkey


def test_the_same_key_under_another_name_is_a_duplicate() -> None:
    same = Cosigner("another.example", 10)
    assert same.vkey.public_key == WITNESSES[0].vkey.public_key
    with pytest.raises(TrustPolicyError, match=r"line 3.*twice"):
        parse("quorum none\n" + W[0] + f"witness other {same.vkey}\n")


def test_several_logs_are_accepted_and_one_of_an_unknown_type_never_signs() -> None:
    other = Cosigner("log.example/b", 2, 1)
    unknown = "ecdsa.example+01020304+AgMEBQ=="
    policy = parse(f"log {unknown}\nlog {other.vkey}\nlog {LOG.vkey}\nquorum none\n")
    assert policy.satisfied_by(cosigned()).log == LOG.vkey
    assert policy.satisfied_by(cosigned(log=other)).log == other.vkey
    assert policy.logs[0].key is None
    with pytest.raises(NoteError):
        policy.satisfied_by(cosigned(log=Cosigner("ecdsa.example", 3, 1)))


def test_a_listed_log_signs_only_under_its_own_origin() -> None:
    policy = parse(f"log {LOG.vkey}\nquorum none\n")
    other = sign_note(checkpoint_text("log.example/b", 5, ROOT), LOG)
    with pytest.raises(NoteError):
        policy.satisfied_by(other)


def test_logs_may_come_from_elsewhere_and_without_any_nothing_is_valid() -> None:
    policy = parse("quorum none\n")
    with pytest.raises(NoteError):
        policy.satisfied_by(cosigned())
    assert policy.with_logs([LOG.vkey]).satisfied_by(cosigned()).log == LOG.vkey
    listed = parse(f"log {LOG.vkey}\nquorum none\n")
    assert listed.with_logs([LOG.vkey]) == listed


def test_a_listed_witness_whose_line_does_not_verify_spoils_the_note() -> None:
    policy = parse(f"log {LOG.vkey}\n{W[0]}{W[1]}group g any W0 W1\nquorum g\n")
    good = cosigned(*WITNESSES[:2])
    assert len(policy.satisfied_by(good).witnesses) == 2
    other = cosign(checkpoint_text(LOG.vkey.name, 6, ROOT), WITNESSES[1], 7)
    with pytest.raises(NoteError):
        policy.satisfied_by(cosigned(WITNESSES[0]).with_signatures(other))
    stranger = cosign(checkpoint_text(LOG.vkey.name, 6, ROOT), WITNESSES[2], 7)
    policy.satisfied_by(cosigned(WITNESSES[0]).with_signatures(stranger))


def test_a_large_policy_is_taken() -> None:
    logs = [Cosigner(f"log{number}", number, 1) for number in range(1, 65)]
    people = [Cosigner(f"w{number}", 100 + number) for number in range(64)]
    lines = [f"log {log.vkey}" for log in logs]
    lines += [f"witness w{at} {one.vkey}" for at, one in enumerate(people)]
    lines += ["group g0 1 w0"] + [f"group g{at} any g{at - 1} w{at}" for at in range(1, 64)]
    policy = parse("\n".join([*lines, "quorum g63"]) + "\n")
    note = cosigned(people[0], log=logs[-1])
    assert policy.satisfied_by(note).witnesses[0].key == people[0].vkey


@given(st.binary(max_size=200))
def test_any_bytes_raise_only_the_policy_error(data: bytes) -> None:
    for whole in (data, b"quorum none\n" + data + b"\n", b"witness " + data + b"\n"):
        try:
            QuorumPolicy.parse(whole)
        except TrustPolicyError:
            continue


@given(st.integers(0, 255))
def test_exactly_the_allowed_octets_pass(octet: int) -> None:
    data = b"quorum none\n#" + bytes([octet]) + b"\n"
    if octet in {9, 10} or 0x20 <= octet <= 0x7E or octet >= 0x80:
        QuorumPolicy.parse(data)
    else:
        with pytest.raises(TrustPolicyError):
            QuorumPolicy.parse(data)


def test_a_vkey_of_a_witness_keeps_its_type_through_the_file() -> None:
    policy = parse(f"witness q {QUANTUM_SAFE.vkey}\nquorum q\n")
    assert policy.witnesses[0].key == VerifierKey.parse(str(QUANTUM_SAFE.vkey))
