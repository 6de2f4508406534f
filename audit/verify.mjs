// Verify Countersign's evidence without trusting who made it: in a browser, or
//
//     node verify.mjs FILE --key VKEY [--key ..] [--policy FILE] [--checkpoint NOTE] [--header FILE]
//
// FILE is a bundle (ZIP), a receipt, a .tlog-proof or a dump. One file without dependencies:
// WebCrypto does SHA-256 and Ed25519. It was written from the formats, not from verify.py, with which
// it shares nothing but test vectors: a mistake in one of them shows as a difference.
//
// Exit codes: 0 all as signed; 1 tampered; 2 incomplete; 3 not checkable (no trusted key given, or
// none of the trusted keys is of a sort that this runtime can check: WebCrypto has no ML-DSA).
//
// Formats: RFC 6962 section 2.1; RFC 8785; https://c2sp.org/signed-note, tlog-checkpoint,
// tlog-cosignature, tlog-proof, tlog-policy.

export const OK = 0, TAMPERED = 1, INCOMPLETE = 2, NOT_CHECKABLE = 3;
export const WORDS = ["OK", "TAMPERED", "INCOMPLETE", "NOT CHECKABLE"];
const SIG_ED25519 = 0x01, COSIG_ED25519 = 0x04, COSIG_ML_DSA_44 = 0x06;
const ZERO_HASH = "0".repeat(64);
const FINDINGS_MAX = 50;
const encoder = new TextEncoder();

/** The input is not what it must be. */
export class Bad extends Error {}

/** What was found; tampered outweighs incomplete, which outweighs not checkable. */
export class Report {
  exitCode = OK;
  lines = [];
  findings = 0;
  firstBadSeq = null;

  find(code, text, seq = null) {
    this.findings += 1;
    if (this.exitCode === OK || code < this.exitCode) this.exitCode = code;
    if (seq !== null && code !== NOT_CHECKABLE && (this.firstBadSeq === null || seq < this.firstBadSeq)) {
      this.firstBadSeq = seq;
    }
    if (this.findings <= FINDINGS_MAX) {
      this.say(`${WORDS[code]}: ${seq === null ? "" : `record ${seq}: `}${text}`);
    }
  }

  say(text) {
    this.lines.push(String(text).slice(0, 500).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`));
  }
}

// ---- bytes -------------------------------------------------------------------------------------

export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export const utf8 = (text) => encoder.encode(text);

export const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

export const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

export function unhex(text) {
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) throw new Bad("not hex");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** Decode base64 that is exactly the encoding of its bytes. */
export function unbase64(text) {
  if (typeof text !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) throw new Bad("not base64");
  let bytes;
  try {
    bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    throw new Bad("not base64");
  }
  if (base64(bytes) !== text) throw new Bad("base64 is not in its exact form");
  return bytes;
}

export function text(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Bad("not UTF-8");
  }
}

// ---- canonical JSON (RFC 8785; the ledger's profile: no floats) ----------------------------------

export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
    return `{${members.join(",")}}`;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Bad(`number ${value}`);
  if (typeof value === "string" && /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)) {
    throw new Bad("a lone surrogate");
  }
  return JSON.stringify(value);
}

/** Parse JSON that is exactly in canonical form: numbers, order, escapes and repeated keys show. */
export function parseCanonical(bytes) {
  const source = text(bytes);
  let value, again;
  try {
    value = JSON.parse(source);
    again = canonical(value);
  } catch (error) {
    throw new Bad(`not canonical JSON: ${error.message}`);
  }
  if (again !== source) throw new Bad("not canonical JSON");
  return value;
}

// ---- the tree (RFC 6962 section 2.1; verifying as in RFC 9162 section 2.1.3.2 and 2.1.4.2) --------

export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", parts.length === 1 ? parts[0] : concat(...parts)));
}

export const leafHash = (entry) => sha256(Uint8Array.of(0), entry);
export const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

/** Return every hash from the leaf up to the root that an inclusion path leads to, or null. */
export async function climb(leaf, index, size, path) {
  if (!(index >= 0 && index < size)) return null;
  const hashes = [leaf];
  let at = BigInt(index), last = BigInt(size) - 1n, hash = leaf;
  for (const sibling of path) {
    if (last === 0n) return null;
    if (at & 1n || at === last) {
      hash = await nodeHash(sibling, hash);
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    } else {
      hash = await nodeHash(hash, sibling);
    }
    hashes.push(hash);
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n ? hashes : null;
}

export async function verifyInclusion(leaf, index, size, path, root) {
  const hashes = await climb(leaf, index, size, path);
  return hashes !== null && equal(hashes.at(-1), root);
}

export async function verifyConsistency(oldSize, oldRoot, size, root, path) {
  if (oldSize > size) return false;
  if (oldSize === 0) return path.length === 0 && equal(oldRoot, await sha256(new Uint8Array()));
  if (oldSize === size) return path.length === 0 && equal(oldRoot, root);
  let at = BigInt(oldSize) - 1n, last = BigInt(size) - 1n;
  while (at & 1n) [at, last] = [at >> 1n, last >> 1n];
  const nodes = (BigInt(oldSize) & (BigInt(oldSize) - 1n)) === 0n ? [oldRoot, ...path] : [...path];
  if (!nodes.length) return false;
  let oldHash = nodes[0], hash = nodes[0];
  for (const node of nodes.slice(1)) {
    if (last === 0n) return false;
    if (at & 1n || at === last) {
      oldHash = await nodeHash(node, oldHash);
      hash = await nodeHash(node, hash);
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    } else {
      hash = await nodeHash(hash, node);
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n && equal(oldHash, oldRoot) && equal(hash, root);
}

/** A growing tree in O(log n) memory. */
export class Tree {
  size = 0;
  nodes = [];

  async append(leaf) {
    this.nodes.push(leaf);
    this.size += 1;
    for (let bits = this.size; bits % 2 === 0; bits /= 2) {
      const right = this.nodes.pop();
      this.nodes.push(await nodeHash(this.nodes.pop(), right));
    }
  }

  async root() {
    if (!this.nodes.length) return sha256(new Uint8Array());
    let hash = this.nodes.at(-1);
    for (const node of this.nodes.slice(0, -1).reverse()) hash = await nodeHash(node, hash);
    return hash;
  }
}

// ---- keys, notes, checkpoints, policies (C2SP) ----------------------------------------------------

const KEY_BYTES = { [SIG_ED25519]: 32, [COSIG_ED25519]: 32, [COSIG_ML_DSA_44]: 1312 };

/** Read `<name>+<key id>+<base64>`. */
export async function readKey(line) {
  const [name, id, ...rest] = line.trim().split("+");
  const data = unbase64(rest.join("+"));
  const type = data[0];
  if (!name || /[\s+]/.test(name) || KEY_BYTES[type] !== data.length - 1) throw new Bad(`the key ${name} is of no known type`);
  const expected = (await sha256(utf8(name), utf8("\n"), data)).subarray(0, 4);
  if (hex(expected) !== id) throw new Bad(`the id of the key ${name} does not fit its name and bytes`);
  return { name, id, type, bytes: data.subarray(1) };
}

/** Split a signed note into its text and its signature lines; unknown ones stay unread. */
export function readNote(bytes) {
  const whole = text(bytes);
  const cut = whole.lastIndexOf("\n\n");
  if (cut < 0 || !whole.endsWith("\n") || cut + 2 === whole.length) throw new Bad("the note has no signatures");
  // eslint-disable-next-line no-control-regex
  if (/[\x00-\x09\x0b-\x1f]/.test(whole)) throw new Bad("the note holds control characters");
  const lines = whole.slice(cut + 2, -1).split("\n").map((line) => {
    const found = /^\u2014 (\S+) (\S+)$/.exec(line);
    const data = found && unbase64(found[2]);
    if (!found || found[1].includes("+") || data.length < 5) throw new Bad("a signature line is malformed");
    return { name: found[1], id: hex(data.subarray(0, 4)), signature: data.subarray(4), line };
  });
  if (lines.length > 100) throw new Bad("the note has too many signatures");
  return { text: whole.slice(0, cut + 1), lines };
}

export function readCheckpoint(bytes) {
  const note = readNote(bytes);
  const [origin, size, root, ...extensions] = note.text.slice(0, -1).split("\n");
  if (!origin || root === undefined || extensions.includes("") || !/^(0|[1-9][0-9]{0,18})$/.test(size)) {
    throw new Bad("the checkpoint is malformed");
  }
  if (!Number.isSafeInteger(Number(size))) throw new Bad("the checkpoint's size is beyond this verifier");
  const hash = unbase64(root);
  if (hash.length !== 32) throw new Bad("the checkpoint's root is no SHA-256 hash");
  return { origin, size: Number(size), root: hash, note };
}

/** Say whether this runtime's WebCrypto checks Ed25519. */
export async function hasEd25519() {
  try {
    await crypto.subtle.importKey("raw", new Uint8Array(32), "Ed25519", false, ["verify"]);
    return true;
  } catch (error) {
    return error?.name !== "NotSupportedError" && error?.name !== "ReferenceError" && !!globalThis.crypto?.subtle;
  }
}

/** Check one signature line: true, false, or null when this runtime cannot. */
export async function checkLine(key, line, noteText) {
  if (key.type === COSIG_ML_DSA_44 || !(await hasEd25519())) return null;
  let { signature } = line, message = utf8(noteText);
  if (key.type === COSIG_ED25519) {
    if (signature.length !== 72) return false;
    const time = new DataView(signature.buffer, signature.byteOffset, 8).getBigUint64(0);
    if (time >= 2n ** 63n) return false;
    message = concat(utf8(`cosignature/v1\ntime ${time}\n`), message);
    signature = signature.subarray(8);
  }
  try {
    const imported = await crypto.subtle.importKey("raw", key.bytes, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signature, message);
  } catch {
    return false;
  }
}

/** Read a tlog-policy file: octets, of which those beyond ASCII mean nothing. */
export async function readPolicy(bytes) {
  if (bytes.some((b) => (b < 0x20 && b !== 9 && b !== 10) || b === 0x7f)) throw new Bad("the policy holds control characters");
  const policy = { logs: [], witnesses: new Map(), groups: new Map(), quorum: null };
  const known = (name) => policy.witnesses.has(name) || policy.groups.has(name);
  const taken = new Set(), members = new Set();
  const once = (set, value, what) => {
    if (set.has(value)) throw new Bad(`the policy names ${what} twice`);
    set.add(value);
  };
  const latin1 = Array.from(bytes, (b) => String.fromCharCode(b)).join("");
  const fresh = (name) => {
    if (name === "none" || known(name)) throw new Bad(`the policy defines ${name} twice, or none`);
  };
  for (const line of latin1.split("\n")) {
    const [word, ...rest] = line.split(/[ \t]+/).filter((item) => item);
    if (word === undefined || word.startsWith("#")) continue;
    if (word === "log" && (rest.length === 1 || rest.length === 2)) {
      const key = await readKey(rest[0]);
      if (key.type !== SIG_ED25519) throw new Bad("a log's key is of another type");
      once(taken, `log ${hex(key.bytes)}`, "a log's key");
      policy.logs.push(key);
    } else if (word === "witness" && (rest.length === 2 || rest.length === 3)) {
      fresh(rest[0]);
      const key = await readKey(rest[1]);
      if (key.type === SIG_ED25519) throw new Bad("a witness's key is of another type");
      once(taken, `witness ${hex(key.bytes)}`, "a witness's key");
      policy.witnesses.set(rest[0], key);
    } else if (word === "group" && rest.length >= 3) {
      const [name, rule, ...names] = rest;
      fresh(name);
      if (!names.every(known)) throw new Bad(`the policy's group ${name} has an unknown member`);
      for (const member of names) once(members, member, `the member ${member}`);
      const need = rule === "all" ? names.length : rule === "any" ? 1 : /^[1-9][0-9]*$/.test(rule) ? Number(rule) : 0;
      if (need < 1 || need > names.length) throw new Bad(`the policy's group ${name} needs ${rule} of ${names.length}`);
      policy.groups.set(name, { need, names });
    } else if (word === "quorum" && rest.length === 1 && policy.quorum === null) {
      if (rest[0] !== "none" && !known(rest[0])) throw new Bad("the policy's quorum is not defined");
      policy.quorum = rest[0];
    } else {
      throw new Bad(`the policy has a line that starts with ${word} and cannot be read`);
    }
  }
  if (policy.quorum === null) throw new Bad("the policy has no quorum line");
  return policy;
}

/** What an outsider trusts: log keys, and perhaps a policy with witnesses. */
export async function readTrust({ keys = [], policy = null } = {}) {
  const read = policy ? await readPolicy(policy) : null;
  const logs = await Promise.all(keys.map(readKey));
  if (logs.some((key) => key.type !== SIG_ED25519)) throw new Bad("a log's key is not Ed25519");
  return { logs: [...logs, ...(read?.logs ?? [])], policy: read };
}

/** Judge a checkpoint's signatures against what is trusted; words and codes go into the report. */
export async function judgeSignatures(report, checkpoint, trust, what = "the checkpoint") {
  if (!trust.logs.length) {
    report.find(NOT_CHECKABLE, "no trusted key given: nothing says who signed this");
    return;
  }
  let signed = 0, unchecked = 0;
  const own = trust.logs.filter((key) => key.name === checkpoint.origin);
  for (const key of own) {
    for (const line of matching(checkpoint, key)) {
      const good = await checkLine(key, line, checkpoint.note.text);
      if (good === null) unchecked += 1;
      else if (good) signed += 1;
      else report.find(TAMPERED, `the signature of ${key.name} on ${what} does not verify`);
    }
  }
  if (unchecked && !signed) report.find(NOT_CHECKABLE, "signature not checkable here: this runtime has no Ed25519");
  else if (!signed) report.find(TAMPERED, `${what} is signed by no trusted key`);
  if (trust.policy && trust.policy.quorum !== "none") await judgeQuorum(report, checkpoint, trust.policy, what);
}

const matching = (checkpoint, key) => checkpoint.note.lines.filter((line) => line.name === key.name && line.id === key.id);

async function judgeQuorum(report, checkpoint, policy, what) {
  const state = new Map(), said = [];
  for (const [name, key] of policy.witnesses) {
    const [line] = matching(checkpoint, key);
    const good = line ? await checkLine(key, line, checkpoint.note.text) : false;
    if (line && good === false) report.find(TAMPERED, `the cosignature of ${name} on ${what} does not verify`);
    if (line && good === null) said.push(`${name}: not checkable here`);
    state.set(name, !!line && (good === null ? null : good));
  }
  for (const [name, { need, names }] of policy.groups) {
    const sure = names.filter((member) => state.get(member) === true).length;
    const perhaps = names.filter((member) => state.get(member) === null).length;
    state.set(name, sure >= need ? true : sure + perhaps >= need ? null : false);
  }
  const met = state.get(policy.quorum);
  if (met === null) report.find(NOT_CHECKABLE, `whether the quorum cosigned ${what} is not checkable here (${said.join(", ")})`);
  else if (!met) report.find(INCOMPLETE, `the quorum ${policy.quorum} has not cosigned ${what}`);
  else report.say(`the quorum ${policy.quorum} cosigned ${what}`);
}

// ---- records --------------------------------------------------------------------------------------

const HEADER = {
  actor: "string", commitments: "object", idem_key: "string", kind: "string", log: "string", payload_sha256: "string",
  prev: "string", recorded_at_us: "number", seq: "number", stream: "string", stream_seq: "number", version: "number",
};

/** Return header and leaf; the payload, where given, must be the one that the header names. */
export async function readRecord(headerBytes, payloadBytes = null) {
  const header = parseCanonical(headerBytes);
  const shape = Object.keys(HEADER);
  if (header === null || typeof header !== "object" || Array.isArray(header) || Object.keys(header).join() !== shape.join()) {
    throw new Bad("the header has another shape");
  }
  if (shape.some((name) => typeof header[name] !== HEADER[name]) || !Array.isArray(header.commitments)) {
    throw new Bad("a field of the header has another type");
  }
  let payload = null;
  if (payloadBytes !== null) {
    payload = parseCanonical(payloadBytes);
    if (payload === null || typeof payload !== "object" || Array.isArray(payload)) throw new Bad("the payload is no object");
    if (hex(await sha256(payloadBytes)) !== header.payload_sha256) throw new Bad("the payload is not the one that the header names");
  }
  return { header, payload, leaf: await leafHash(headerBytes) };
}

/** Read a tlog-proof file into index, path, checkpoint and extra data. */
export function readProof(bytes) {
  const source = text(bytes);
  const cut = source.indexOf("\n\n");
  const lines = cut < 0 ? [] : source.slice(0, cut).split("\n");
  if (lines.shift() !== "c2sp.org/tlog-proof@v1") throw new Bad("not a tlog-proof");
  const extra = lines[0]?.startsWith("extra ") ? unbase64(lines.shift().slice(6)) : null;
  const index = /^index (0|[1-9][0-9]*)$/.exec(lines.shift() ?? "")?.[1];
  if (index === undefined || !Number.isSafeInteger(Number(index))) throw new Bad("the proof has no index");
  const path = lines.map(unbase64);
  if (path.some((hash) => hash.length !== 32)) throw new Bad("a hash of the proof has another length");
  return { index: Number(index), path, extra, checkpoint: readCheckpoint(utf8(source.slice(cut + 2))) };
}

/** Verify that an entry is in the log; returns every hash that was computed, for showing. */
export async function verifyProof(report, proof, entry, trust) {
  const leaf = await leafHash(entry);
  const hashes = await climb(leaf, proof.index, proof.checkpoint.size, proof.path);
  if (hashes === null || !equal(hashes.at(-1), proof.checkpoint.root)) {
    report.find(TAMPERED, "the path does not lead to the checkpoint's root", proof.index);
  }
  await judgeSignatures(report, proof.checkpoint, trust);
  return { leaf, hashes: hashes ?? [leaf] };
}
