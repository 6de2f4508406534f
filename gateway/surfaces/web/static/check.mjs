// Checks one record in the browser: fetches its files, lets verify.mjs judge them, shows every hash.
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

const filesIn = (id) => Promise.all([...document.querySelector(id).files].map(async (file) => new Uint8Array(await file.arrayBuffer())));

/** Read what the user trusts: keys, a witness policy, signed changes of the log's keys. */
async function given() {
  const keys = document.querySelector("#keys").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const [policy = null] = await filesIn("#policy"), rotations = await filesIn("#rotations");
  try {
    return { trust: await v.readTrust({ keys, policy }), options: { rotations } };
  } catch (error) {
    throw new v.Unknown(error.message); // a typing error is not tampering
  }
}

async function check() {
  let report = new v.Report(), signatures = null;
  try {
    const [proof, header, payload] = await Promise.all(["record.tlog-proof", "header.json", "payload.json"].map(bytesOf));
    const finds = await recomputed(v.readProof(proof), header, payload);
    const { trust, options } = await given();
    report = await v.verifyBytes(proof, trust, options);
    for (const words of finds) report.find(v.TAMPERED, words);
    signatures = await v.verifySignatures(proof, trust, options).catch(() => null); // the report says why
    if (!trust.logs.size && signatures?.exitCode === v.NOT_CHECKABLE) signatures.lines = ["signature not checkable here: give the log's key"];
  } catch (error) {
    report.find(error instanceof v.Unknown ? v.NOT_CHECKABLE : error instanceof v.Bad ? v.TAMPERED : v.INCOMPLETE, error.message);
  }
  if (signatures) show("signature", signatureWords(signatures), { [v.OK]: "good", [v.TAMPERED]: "bad" }[signatures.exitCode] ?? "warn");
  else show("signature", `not checked: ${report.reason}`, "warn");
  report.conclude();
  document.querySelector("#words").textContent = report.lines.join("\n");
  page.dataset.exit = String(report.exitCode);
}

/** Show every hash from the payload to the root; return the contradictions found. */
async function recomputed({ index, path, checkpoint }, header, payload) {
  const leaf = await v.leafHash(header), hashes = (await v.climb(leaf, index, checkpoint.size, path)) ?? [leaf];
  const list = document.querySelector("#path");
  list.replaceChildren(...path.map((sibling, i) => {
    const item = document.createElement("li");
    item.textContent = `${v.hex(sibling)} → ${hashes[i + 1] ? v.hex(hashes[i + 1]) : "no such level"}`;
    return item;
  }));
  const same = hashes.length === path.length + 1 && v.equal(hashes.at(-1), checkpoint.root);
  show("payload", v.hex(await v.sha256(payload)));
  show("leaf", v.hex(leaf));
  show("computed", v.hex(hashes.at(-1)));
  show("signed", v.hex(checkpoint.root));
  show("roots", same ? "equal" : "not equal", same ? "good" : "bad");
  show("size", String(checkpoint.size));
  show("origin", checkpoint.origin);
  const finds = same ? [] : ["the path does not lead to the checkpoint's root"];
  try {
    const record = await v.readRecord(header, payload);
    if (index !== record.header.seq || String(index) !== page.dataset.seq) finds.push("the files belong to another record");
  } catch (error) {
    if (!(error instanceof v.Bad)) throw error;
    finds.push(error.message);
  }
  return finds;
}

/** Return the verdict on the signatures alone; other faults of the record are listed below it. */
function signatureWords({ signed, lines }) {
  const told = lines.filter((line) => /^(TAMPERED|INCOMPLETE|NOT CHECKABLE|quorum met|signature not checkable here): /.test(line));
  return [...(signed ? ["the trusted key signed this root"] : []), ...told].join("; ");
}

document.querySelector("#trust").addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
check();
