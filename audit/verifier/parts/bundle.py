"""A bundle: one decision, the forecasts that it names, and their evidence as a canonical ZIP."""

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from audit.verifier.parts.canonical import ZERO_HASH, canonical, parse_canonical, text_of, unhex
from audit.verifier.parts.contents.approvals import Approvals
from audit.verifier.parts.contents.baskets import Baskets
from audit.verifier.parts.contents.fills import Fills
from audit.verifier.parts.contents.seeds import ShownRecord, attempt_in, judge_requests
from audit.verifier.parts.contents.signed import OfficersWord
from audit.verifier.parts.contents.standing import judge_standing
from audit.verifier.parts.contents.statements.attempts import SETS
from audit.verifier.parts.contents.statements.judging import Statements
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    is_given,
    list_of,
    mapping_of,
)
from audit.verifier.parts.records import (
    Disclosed,
    Streams,
    blobs_of,
    follow_keys,
    judge_end,
    judge_map,
    judge_place,
    judge_seal,
    known,
    read_record,
    say_unread,
    unread_of,
)
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Bad, Report, Unknown, judging
from audit.verifier.parts.tree import leaf_hash, root_up_to
from audit.verifier.parts.trust.checkpoint import Outside, judge_head, read_link
from audit.verifier.parts.trust.keys import Trust
from audit.verifier.parts.trust.note import Head

BUNDLE = "countersign-bundle/2"
READ_BY = {"countersign-bundle/1": "commit fe4a99b2 is the last that reads it"}
"""Formats of before, with who reads them."""
_Proven = tuple[dict[str, Any], dict[str, Any], bytes]
"""Header, payload and leaf of a record whose place was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One decision's evidence: records with their inclusion paths, a checkpoint, blobs.

    Attributes:
        verifier: a copy of this file at that time, for reading; the manifest has its digest.
        link: a consistency proof to a later checkpoint that witnesses cosigned; b"" if none.
    """

    stream: str
    note: bytes
    records: Mapping[str, tuple[bytes, bytes, Sequence[bytes]]]
    blobs: Mapping[str, bytes]
    verifier: bytes
    link: bytes = b""

    def to_zip(self) -> bytes:
        """Return the canonical ZIP: sorted names, no compression, no times."""
        files = {"checkpoint.txt": self.note, "verify.py": self.verifier}
        if self.link:
            files |= {"consistency.txt": self.link, "witnessed.txt": read_link(self.link).note}
        files |= {f"blobs/{digest}": data for digest, data in self.blobs.items()}
        dev = False
        for header, payload, path in self.records.values():
            head, body = read_record(header, payload)
            name = f"{head['seq']:012d}-{head['kind']}"
            files[f"records/{name}.header.json"] = header
            files[f"records/{name}.payload.json"] = payload
            files[f"proofs/{name}.json"] = canonical([node.hex() for node in path])
            if isinstance(body.get("raw"), str):
                files[f"fix/{name}.txt"] = body["raw"].replace("\x01", "|\n").encode()
            dev = dev or body.get("dev") is True
        digest = hashlib.sha256(self.verifier).hexdigest()
        manifest = {"dev": dev, "format": BUNDLE, "stream": self.stream, "verifier_sha256": digest}
        files["manifest.json"] = canonical(manifest)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, 0o100644 << 16
                archive.writestr(info, files[name])
        return out.getvalue()


def read_bundle(data: bytes) -> Bundle:
    """Return a bundle; foreign files in it are dropped here and found by `to_zip` later."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            apart = sum(info.file_size for info in infos) <= len(data)  # none lies on another
            plain = apart and not any(info.compress_type for info in infos)
            files = {info.filename: archive.read(info) for info in infos if plain}
        manifest = parse_canonical(files["manifest.json"])
        _check_format(manifest["format"])
        records = {}
        for name in sorted(files):
            if name.startswith("records/") and name.endswith(".header.json"):
                stem = name.removeprefix("records/").removesuffix(".header.json")
                path = list(map(unhex, parse_canonical(files[f"proofs/{stem}.json"])))
                records[stem] = (files[name], files[f"records/{stem}.payload.json"], path)
        return Bundle(
            stream=str(manifest["stream"]),
            note=files["checkpoint.txt"],
            records=records,
            blobs={n.removeprefix("blobs/"): files[n] for n in files if n.startswith("blobs/")},
            link=files.get("consistency.txt", b""),
            verifier=files["verify.py"],
        )
    except Unknown:
        raise
    except Exception as error:
        raise Bad(f"not a bundle: {error!r}") from error


def _judge_copy(report: Report, bundle: Bundle) -> None:
    """Report a copy of this file that is unknown: nobody should run it.

    No signature covers the copy and no evidence depends on it, so verifiers of any version can
    judge bundles of any version.
    """
    digest = hashlib.sha256(bundle.verifier).hexdigest()
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    if digest != own:
        report.say(f"the verify.py in it is of another version than this one: {digest}")


def _check_format(name: object) -> None:
    """Refuse a bundle of another format; an earlier or later one is `Unknown`."""
    if name != BUNDLE:
        if isinstance(name, str) and re.fullmatch(r"countersign-bundle/[1-9][0-9]{0,3}", name):
            said = READ_BY.get(name, "a later verifier may know it")
            raise Unknown(f"a bundle of the format {name} is not read here: {said}")
        raise Bad("the manifest names no format")


def verify_bundle(
    data: bytes,
    vkeys: Sequence[str] = (),
    notes: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Report:
    """Return the report on a bundle; a kept checkpoint of another size needs a proof."""
    with judging() as report:
        given, bundle = outside or Outside(), read_bundle(data)
        outside = replace(given, vkeys=(*vkeys, *given.vkeys), notes=(*notes, *given.notes))
        trust, disclosed = Trust(outside.vkeys, outside.policy), Disclosed(outside.disclosures)
        for header, payload, _ in bundle.records.values():
            follow_keys(trust, *read_record(header, payload))
        links = [bundle.link, *outside.links] if bundle.link else outside.links
        head = judge_head(report, trust, bundle.note, replace(outside, links=links))
        records = [_proven(report, stem, item, head) for stem, item in bundle.records.items()]
        for record in records:
            disclosed.see(report, record[0])
        _judge_stream(report, bundle.stream, records, head.size)
        _judge_forecasts(report, records)
        judge_standing(report, bundle.stream, records)
        _judge_context(report, bundle.stream, records)
        _judge_blobs(report, bundle.blobs, records)
        _judge_seeds(report, bundle, records, head)
        _judge_fills(report, records, outside)
        _judge_copy(report, bundle)
        if bundle.to_zip() != data:
            text = "the bytes are not those of the canonical bundle of this content"
            report.find(TAMPERED, text)
        disclosed.finish(report)
        say_unread(report, unread_of(record[0] for record in records))
        report.say(f"{bundle.stream}: {len(records)} records under {head.origin} at {head.size}")
    return report


def _judge_context(report: Report, stream: str, records: Sequence[_Proven]) -> None:
    """Check that runs, policies, messages and forecasts were recorded before they were named."""
    there: dict[bytes, int] = {}  # by canonical bytes: 1 is not true, and a list can be a name
    for head, body, _ in records:
        name = _name_of(head, body) if known(head) else None
        if name is not None:
            key = canonical(name)
            there[key] = min(head["seq"], there.get(key, head["seq"]))
    for head, body, _ in records:
        own = head["stream"] == stream or head["kind"] == "paths_joined"
        if not known(head) or not (own or attempt_in(head["stream"])):
            continue
        named = _names_in(head, body)
        for name in named:
            if name[-1] is not None and there.get(canonical(name), head["seq"]) >= head["seq"]:
                report.find(INCOMPLETE, f"names {' '.join(map(str, name))}: missing", head["seq"])


def _name_of(head: Mapping[str, Any], body: Mapping[str, Any]) -> list[object] | None:
    """Return the name by which other records name this one; None if none does."""
    match head["kind"]:
        case "run_started":
            return ["run", body.get("run_id")]
        case "policy_activated":
            return ["policy", body.get("policy_digest")]
        case "fix_inbound":
            return ["inbound", head["stream"], body.get("offset")]
        case "override_granted":
            return ["override", body.get("override_id")]
        case "snapshot_taken":
            return ["forecast", head["stream"].removeprefix("forecast/")]
        case "paths_joined":
            return ["joint", head["stream"].removeprefix(SETS)]
        case _:
            return None


def _names_in(head: Mapping[str, Any], body: Mapping[str, Any]) -> list[list[object]]:
    """Return what a record names: run, policy, message, override, set of paths, attempt.

    An attempt names the one before it, from which its right to be follows.
    """
    named: list[list[object]] = [["run", body.get("run_id")], ["policy", body.get("policy_digest")]]
    if head["kind"] in {"order_reported", "order_ended"}:
        session = body.get("session")
        stream_of = f"session/{session}" if isinstance(session, str) else None
        named.append(["inbound", stream_of, body.get("inbox_offset")])
    state = body.get("state") if head["kind"] == "verdict_given" else None
    used = state.get("override") if isinstance(state, dict) else None
    if isinstance(used, dict):
        named.append(["override", used.get("override_id")])
    for one in list_of(body.get("members")) if head["kind"] == "paths_joined" else ():
        member = mapping_of(one)
        attempt = f"{text_of(member.get('forecast_id'))}.{text_of(member.get('attempt'))}"
        named.append(["forecast", attempt])
    joint = mapping_of(mapping_of(body.get("paths")).get("joint"))
    named.append(["joint", text_of(joint["joint_id"]) if "joint_id" in joint else None])
    taken, number = body.get("forecast_id"), body.get("forecast_attempt", 0)
    if head["kind"] == "forecast_taken" and is_given(taken):
        named.append(["forecast", f"{text_of(taken)}.{text_of(number)}"])
    opened = attempt_in(head["stream"]) if head["kind"] == "snapshot_taken" else None
    if opened is not None and opened[1]:
        named.append(["forecast", f"{opened[0]}.{opened[1] - 1}"])
    return named


def _judge_blobs(report: Report, blobs: Mapping[str, bytes], records: Sequence[_Proven]) -> None:
    """Check that every named blob is there, and that every blob is named and has its digest."""
    named: set[str] = set()
    for head, body, _ in records:
        digests = set(blobs_of(body))
        named |= digests
        for digest in sorted(digests - blobs.keys()) if known(head) else ():
            report.find(INCOMPLETE, f"blob {digest} is missing", head["seq"])
    for digest, content in blobs.items():
        if hashlib.sha256(content).hexdigest() != digest:
            report.find(TAMPERED, f"blob {digest} has other content")
        if digest not in named:
            report.find(TAMPERED, f"blob {digest} belongs to no record")


def _judge_fills(report: Report, records: Sequence[_Proven], outside: Outside) -> None:
    """Judge approvals, fills, baskets, and what two officers signed."""
    fills, signed = Fills(outside.fills, whole=False), OfficersWord(outside.officers)
    approvals, baskets, statements = Approvals(), Baskets(), Statements(seen=Earlier(whole=False))
    for head, body, leaf in sorted(records, key=lambda record: record[0]["seq"]):
        if known(head):
            approvals.see(report, head, body, leaf)
            fills.see(report, head, body, leaf)
            statements.see(report, head, body, leaf)
            signed.see(head, body, leaf)
            baskets.see(head, body)
        else:
            statements.skip(head)
    fills.finish(report)
    statements.finish(report, signed.finish(report, fills.relied_on))
    baskets.finish(report, whole=False, bundle=True)


def _proven(
    report: Report, stem: str, item: tuple[bytes, bytes, Sequence[bytes]], signed: Head
) -> _Proven:
    """Return one record after checking its place in the signed tree."""
    try:
        head, body = read_record(item[0], item[1])
    except Bad as error:
        raise Bad(f"record {stem}: {error}") from error
    leaf = leaf_hash(item[0])
    judge_place(report, head, leaf, item[2], signed)
    return head, body, leaf


def _judge_stream(report: Report, stream: str, records: Sequence[_Proven], size: int) -> None:
    """Check that the decision's records are complete: dense, chained, mapped, sealed."""
    own = [(head, leaf) for head, _, leaf in records if head["stream"] == stream]
    streams = Streams()
    for head, leaf in own:
        streams.follow(report, head, leaf)
    number, last, _ = streams.heads.get(stream, (-1, ZERO_HASH, -1))
    parts, others = [], []
    for head, body, _ in records:
        if head["kind"] == "stream_heads" and known(head):
            parts.append((head, body))
        else:
            others.append(head)
    judge_map(report, parts, size, others)
    own_map = [body for head, body in parts if head["seq"] - body["part"] + body["parts"] == size]
    rows = [row for body in own_map for row in body["heads"] if row[0] == stream]
    for row in rows:
        judge_end(report, row, number, last)
    if not rows:
        report.find(INCOMPLETE, "the checkpoint's own stream-head map does not name the decision")
    judge_seal(report, stream, [head for head, _ in own])


def _judge_forecasts(report: Report, records: Sequence[_Proven]) -> None:
    """Check that each attempt at a forecast is here from its first record to its seal."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    streams = Streams()
    for head, _, leaf in sorted(records, key=lambda record: record[0]["seq"]):
        if head["stream"].startswith("forecast/"):
            found.setdefault(head["stream"], []).append(head)
            streams.follow(report, head, leaf)
    for stream, heads in found.items():
        judge_seal(report, stream, heads, "forecast_sealed")


def _judge_seeds(report: Report, bundle: Bundle, records: Sequence[_Proven], signed: Head) -> None:
    """Judge the seeds, each record with the root of the tree that ends with it."""
    paths = [item[2] for item in bundle.records.values()]
    shown = {
        head["seq"]: ShownRecord(head, body, leaf, root_up_to(leaf, head["seq"], signed.size, path))
        for (head, body, leaf), path in zip(records, paths, strict=True)
    }
    judge_requests(report, shown)
