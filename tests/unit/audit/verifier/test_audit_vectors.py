"""Published vectors against our functions: signatures, worked examples of C2SP, Go's note tests."""

import json
import lzma
import re
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from audit.errors import NoteError
from audit.signers.file import FileSigner, MlDsaSigner
from audit.tlog.checkpoint import parse_checkpoint
from audit.tlog.note import COSIGNATURE_ML_DSA_44, ED25519, VerifierKey, parse_note, verify_note
from audit.tlog.treehead import parse_tree_head
from audit.verifier.verify import Bad, Key, read_head, signed_time

GOLDEN = Path(__file__).parents[3] / "golden"
VECTORS: dict[str, Any] = json.loads((GOLDEN / "signatures.json").read_text())
# Source: see golden/vectors/README.md; "acceptable" are keys of small or mixed order.
WYCHEPROOF_ED25519 = json.loads((GOLDEN / "vectors" / "wycheproof_ed25519.json").read_text())
WYCHEPROOF_ML_DSA_44 = json.loads(
    lzma.decompress((GOLDEN / "vectors" / "wycheproof_mldsa44_verify.json.xz").read_bytes())
)
WYCHEPROOF_SEEDS = json.loads((GOLDEN / "vectors" / "wycheproof_mldsa44_seeds.json").read_text())

# Source: the test of golang.org/x/mod/sumdb/note (BSD-3-Clause): keys, text and signatures.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETERS = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngo"
    "tpRZb6KE6RyyBwJnAM=\n"
)
ENOCHS = (
    "\u2014 EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWL"
    "ox33WWd1RvMc+QQ=\n"
)

# Source: https://c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature and tlog-witness.
SALVATORE = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\n"
    "ed \u00e8 subito sera.\n\n"
    "\u2014 quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrM"
    "ouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
)
SOFA = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zh"
    "cyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJs"
    "X3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)


@pytest.mark.parametrize("vector", WYCHEPROOF_ED25519, ids=lambda v: f"{v[0]}-{v[1]}")
def test_wycheproof_ed25519(vector: tuple[int, str, str, str, str, str]) -> None:
    *_, public, message, signature, result = vector
    key = VerifierKey(name="wycheproof", public_key=bytes.fromhex(public))
    assert key.verify(bytes.fromhex(signature), bytes.fromhex(message)) is (result != "invalid")


def test_wycheproof_ed25519_of_the_one_file_verifier() -> None:
    judged = {"valid": 0, "acceptable": 0, "invalid": 0}
    for _, _, public, message, signature, result in WYCHEPROOF_ED25519:
        key = Key("wycheproof", bytes(4), ED25519, bytes.fromhex(public))
        try:
            text = bytes.fromhex(message).decode()
        except UnicodeDecodeError:
            continue  # it verifies texts only
        judged[result] += 1
        try:
            verified = signed_time(key, bytes.fromhex(signature), text) == 0
        except Bad:
            verified = False
        assert verified is (result != "invalid")
    assert min(judged.values()) > 0
    assert sum(judged.values()) > len(WYCHEPROOF_ED25519) // 2


@pytest.mark.parametrize(
    ("public", "vector"),
    [(group[0], vector) for group in WYCHEPROOF_ML_DSA_44 for vector in group[1]],
    ids=lambda v: f"{v[0]}-{'-'.join(v[1])}" if isinstance(v, list) else "",
)
def test_wycheproof_ml_dsa_44(
    public: str, vector: tuple[int, list[str], str, str, str, str]
) -> None:
    _, flags, *rest, result = vector
    message, context, signature = map(bytes.fromhex, rest)
    if "IncorrectPublicKeyLength" in flags:
        with pytest.raises(NoteError, match="public key has"):
            _ml_dsa_44(public)
        return
    # No context is ours: what was signed under another one is no signature here ..
    assert _ml_dsa_44(public).verify(signature, message) is (result == "valid" and not context)
    # .. and what we verify with knows every context.
    primitive = MLDSA44PublicKey.from_public_bytes(bytes.fromhex(public))
    if result == "valid":
        primitive.verify(signature, message, context)
    else:
        with pytest.raises((InvalidSignature, ValueError)):
            primitive.verify(signature, message, context)


@pytest.mark.parametrize(("seed", "public_sha256"), WYCHEPROOF_SEEDS)
def test_wycheproof_ml_dsa_44_seeds_sign_under_their_keys(seed: str, public_sha256: str) -> None:
    signer = MlDsaSigner("w", MLDSA44PrivateKey.from_seed_bytes(bytes.fromhex(seed)))
    assert sha256(signer.vkey.public_key).hexdigest() == public_sha256
    assert signer.vkey.verify(signer.sign(b"Hello world"), b"Hello world")


def _ml_dsa_44(public: str) -> VerifierKey:
    return VerifierKey(
        name="wycheproof", key_type=COSIGNATURE_ML_DSA_44, public_key=bytes.fromhex(public)
    )


@pytest.mark.parametrize("vector", VECTORS["rfc8032"])
def test_rfc_8032_keys_sign_as_published(vector: dict[str, str]) -> None:
    raw = {name: bytes.fromhex(value) for name, value in vector.items()}
    signer = FileSigner("rfc8032", Ed25519PrivateKey.from_private_bytes(raw["secret"]))
    assert signer.vkey.public_key == raw["public"]
    assert signer.sign(raw["message"]) == raw["signature"]
    assert signer.vkey.verify(raw["signature"], raw["message"])
    assert not signer.vkey.verify(raw["signature"], raw["message"] + b"\0")


@pytest.mark.parametrize("vector", VECTORS["ml_dsa_44_keys"])
def test_ml_dsa_44_seeds_give_the_published_keys(vector: dict[str, str]) -> None:
    signer = MlDsaSigner("kat", MLDSA44PrivateKey.from_seed_bytes(bytes.fromhex(vector["seed"])))
    assert sha256(signer.vkey.public_key).hexdigest() == vector["public_sha256"]


def test_ml_dsa_44_is_pure_and_without_context_and_no_signature_can_change() -> None:
    # The classes of Wycheproof's invalid cases: length, context, hints, norm, flipped bits.
    secret = MLDSA44PrivateKey.from_seed_bytes(bytes(range(32)))
    signer = MlDsaSigner("ml", secret)
    message = b"Hello world"
    signature = signer.sign(message)
    assert signer.vkey.verify(signature, message)
    assert signer.vkey.verify(secret.sign(message, b""), message)
    assert not signer.vkey.verify(secret.sign(message, b"context"), message)
    for wrong in (b"", signature[:-1], signature + b"\0", signature[1:]):
        assert not signer.vkey.verify(wrong, message)
    for place in (0, 31, 32, 1_000, 2_335, 2_336, 2_400, 2_415, 2_419):
        forged = bytearray(signature)
        forged[place] ^= 1
        assert not signer.vkey.verify(bytes(forged), message), place
    norm = signature[:32] + bytes(576 * 4) + signature[32 + 576 * 4 :]
    assert not signer.vkey.verify(norm, message)
    other = VerifierKey(name="ml", key_type=COSIGNATURE_ML_DSA_44, public_key=bytes(1312))
    assert not other.verify(signature, message)


def test_the_table_of_specs_names_what_is_there() -> None:
    text = (GOLDEN.parent.parent / "docs" / "ledger.md").read_text("utf-8")
    rows = re.findall(r"^\| (?:c2sp\.org/|RFC )[^|]*\|([^|]*)\|(.*)\|$", text, re.MULTILINE)
    assert len(rows) == 9
    for modules, names in rows:
        rooms = [import_module(name) for name in re.findall(r"`([a-z_.]+)`", modules)]
        for name in re.findall(r"`(\w+)`", names):
            assert any(hasattr(room, name) for room in rooms), name


def test_gos_notes_verify_with_any_set_of_keys() -> None:
    peter, enoch = VerifierKey.parse(PETER), VerifierKey.parse(ENOCH)
    both = parse_note(f"{TEXT}\n{PETERS}{ENOCHS}".encode())
    assert verify_note(both, [peter]) == (peter,)
    assert verify_note(both, [peter, enoch]) == (peter, enoch)
    assert verify_note(both, [peter, enoch, enoch]) == (peter, enoch)
    with pytest.raises(NoteError, match="no trusted key"):
        verify_note(both, [])
    doubled = parse_note(f"{TEXT}\n{PETERS}{ENOCHS}{ENOCHS}".encode())
    assert verify_note(doubled, [peter]) == (peter,)


def test_no_other_spelling_of_gos_key_is_one() -> None:
    for start in range(len(PETER)):
        for stop in range(start + 1, len(PETER) + 1):
            if (start, stop) != (0, len(PETER)):
                with pytest.raises(NoteError):
                    VerifierKey.parse(PETER[start:stop])
    for place, letter in enumerate(PETER):
        with pytest.raises(NoteError):
            VerifierKey.parse(PETER[:place] + chr(ord(letter) + 1) + PETER[place + 1 :])
    for bad in (
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ):
        with pytest.raises(NoteError):
            VerifierKey.parse(bad)


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEXT + "\n",
        TEXT + "\n" + PETERS[:-1],
        "\x01" + TEXT + "\n" + PETERS,
        TEXT + "\t\n" + PETERS,
        TEXT + "\r\n" + PETERS,
        TEXT + "\n" + PETERS.replace("PeterNeumann", "Bad Name"),
        TEXT + "\n" + PETERS.replace("PeterNeumann", "Bad+Name"),
        TEXT + "\n" + PETERS.replace("PeterNeumann", "Bad\u2003Name"),
        TEXT + "\n" + PETERS.replace("PeterNeumann", ""),
        TEXT + "\n" + PETERS + "Unexpected line.\n",
        TEXT + "\n" + PETERS * 101,
        TEXT + PETERS,
        TEXT + "\n" + PETERS.replace("\u2014", "-"),
        TEXT + "\n" + PETERS.replace("\u2014 ", "\u2014"),
        TEXT + "\n" + PETERS.replace("AM=", "AM"),
        TEXT + "\n" + PETERS.replace("AM=", "AN="),
        TEXT + "\n" + PETERS.replace("AM=", "A-="),
        TEXT + "\n\u2014 PeterNeumann x08gow==\n",
        TEXT + "\n\u2014 PeterNeumann\n",
    ],
)
def test_what_is_no_note_is_refused(data: str) -> None:
    with pytest.raises(NoteError):
        parse_note(data.encode())
    with pytest.raises(NoteError):
        parse_note(b"\xff" + data.encode())


def test_a_note_may_carry_sixteen_and_more_signatures_of_strangers() -> None:
    strangers = "".join(ENOCHS.replace("EnochRoot", f"stranger{number}") for number in range(99))
    note = parse_note(f"{TEXT}\n{strangers}{PETERS}".encode())
    assert verify_note(note, [VerifierKey.parse(PETER)])


def test_the_example_of_signed_note_keeps_its_empty_line() -> None:
    note = parse_note(SALVATORE.encode())
    assert note.text.count("\n\n") == 1
    assert note.text.endswith("sera.\n")
    assert note.to_bytes() == SALVATORE.encode()
    assert note.signatures[0].key_id.hex() == "367ba04b"


def test_the_example_of_checkpoint_and_cosignature_is_read_as_described() -> None:
    checkpoint = parse_checkpoint(SOFA.encode())
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20_852_163)
    log, witness = parse_note(SOFA.encode()).signatures
    assert (log.name, len(log.signature)) == (checkpoint.origin, 64)
    assert (witness.name, len(witness.signature)) == ("witness.example.com/w1", 72)
    assert int.from_bytes(witness.signature[:8], "big") == 1_679_315_147


@pytest.mark.parametrize(
    "text",
    [
        "o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "an origin with spaces + plus\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n9223372036854775807\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nextension\nmore\n",
        # Source: TestParseCheckpointOriginLength of filippo.io/torchwood.
        "a" * 255 + "\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "\u00e9" * 127 + "a\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "example log+origin\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nextension\n",
    ],
)
def test_a_checkpoints_text_may_be_what_the_spec_allows(text: str) -> None:
    assert parse_tree_head(text).to_text() == text
    assert read_head(text).origin == text.partition("\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        "\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "a" * 256 + "\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "\u00e9" * 128 + "\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n01\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n+1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n1 \n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n1_0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n\u0661\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n9223372036854775808\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=\n",
        "o\n1\n47DEQpj8HBSa+_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "o\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuA==\n",
        "o\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n",
        "o\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\nx\n",
        "o\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "o\n1\n",
    ],
)
def test_a_checkpoints_text_may_not_be_anything_else(text: str) -> None:
    with pytest.raises(NoteError):
        parse_tree_head(text)
    if text.endswith("\n"):  # a note's text always does
        with pytest.raises(Bad):
            read_head(text)
