// The page's half of checking a record: fetch bytes, let verify.mjs judge them, show every hash.
import * as v from "./verify.mjs";

const page = document.querySelector("#check");
const base = page.dataset.record;

async function bytesOf(name) {
  const answer = await fetch(`${base}/${name}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${name}: the gateway answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

function show(id, value, state = "") {
  const place = document.querySelector(`#${id}`);
  place.textContent = value;
  place.className = state ? `tag ${state}` : "hash";
}

const verdict = (good) => (good === null ? "" : good ? "good" : "bad");

async function trusted() {
  const keys = document.querySelector("#keys").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const [file] = document.querySelector("#policy").files;
  return v.readTrust({ keys, policy: file ? new Uint8Array(await file.arrayBuffer()) : null });
}

async function check() {
  const report = new v.Report();
  let trust = await v.readTrust({ keys: [], policy: null });
  try {
    trust = await trusted();
  } catch (error) {
    report.find(v.NOT_CHECKABLE, error.message); // a slip of whoever types is nobody's tampering
  }
  try {
    const [proofBytes, payload] = await Promise.all([bytesOf("record.tlog-proof"), bytesOf("payload.json")]);
    const proof = v.readProof(proofBytes);
    const record = await v.readRecord(proof.extra, payload);
    const { checkpoint } = proof;
    show("payload", v.hex(await v.sha256(payload)));
    show("leaf", v.hex(record.leaf));
    const { hashes } = await v.verifyProof(report, proof, proof.extra, trust);
    const list = document.querySelector("#path");
    list.replaceChildren(...proof.path.map((sibling, i) => {
      const item = document.createElement("li");
      item.textContent = `${v.hex(sibling)} → ${hashes[i + 1] ? v.hex(hashes[i + 1]) : "no such level"}`;
      return item;
    }));
    show("computed", v.hex(hashes.at(-1)));
    show("signed", v.hex(checkpoint.root));
    const same = hashes.length === proof.path.length + 1 && v.equal(hashes.at(-1), checkpoint.root);
    const here = proof.index === record.header.seq && String(record.header.seq) === page.dataset.seq;
    if (!here) report.find(v.TAMPERED, "the bytes are those of another record");
    if (record.header.log !== checkpoint.origin) report.find(v.TAMPERED, "the record is of another log");
    show("roots", same ? "equal" : "not equal", verdict(same));
    show("size", String(checkpoint.size));
    show("origin", checkpoint.origin);
  } catch (error) {
    report.find(error instanceof v.Bad ? v.TAMPERED : v.INCOMPLETE, error.message);
  }
  show("signature", await signature(report), report.exitCode === v.OK ? "good" : report.exitCode === v.NOT_CHECKABLE ? "warn" : "bad");
  document.querySelector("#words").textContent = [...report.lines, v.WORDS[report.exitCode]].join("\n");
  page.dataset.exit = String(report.exitCode);
}

async function signature(report) {
  if (!(await v.hasEd25519())) return "signature not checkable here: this browser has no Ed25519";
  if (report.exitCode === v.NOT_CHECKABLE) return "signature not checkable here: give the log's key";
  return report.exitCode === v.OK ? "the trusted key signed this root" : v.WORDS[report.exitCode].toLowerCase();
}

document.querySelector("#trust").addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
check();
