// Verify Countersign's evidence without trusting who made it: in a browser, or
//
//     node verify.mjs FILE --key VKEY [--policy FILE] [--checkpoint NOTE] ..
//
// FILE is a bundle (ZIP), a receipt, a .tlog-proof, a consistency proof, a checkpoint, a dump, or a
// folder of tiles. One file without dependencies: WebCrypto does SHA-256 and Ed25519. It shares
// nothing with verify.py but test vectors, so a mistake in one of them shows as a difference.
//
// Exit codes: 0 all as signed; 1 tampered; 2 incomplete; 3 not checkable (no trusted key, an unknown
// version, or a signature decides that this runtime cannot check: WebCrypto has no ML-DSA).
//
// In a program: `verifyBytes(bytes, await readTrust({ keys, policy }), options)` returns a Report.
//
// Reading order: Report, bytes, the tree, who may sign (keys, notes, policy, Trust), records, the broker's
// fills and the officers' word, then one section for each type of FILE, then the command line.
//
// Formats: RFC 6962 section 2.1; RFC 8785; https://c2sp.org/signed-note, tlog-checkpoint,
// tlog-cosignature, tlog-policy, tlog-proof, tlog-tiles, tlog-witness.

export const OK = 0, TAMPERED = 1, INCOMPLETE = 2, NOT_CHECKABLE = 3;
export const WORDS = ["OK", "TAMPERED", "INCOMPLETE", "NOT CHECKABLE"];
// Node's own hash is faster than WebCrypto's; before version 19 it has no global `crypto` either.
const node = typeof process !== "undefined" && process.versions?.node ? await import("node:crypto") : null;
if (node) globalThis.crypto ??= node.webcrypto;

const SIG_ED25519 = 0x01, COSIG_ED25519 = 0x04, COSIG_ML_DSA_44 = 0x06;
const ZERO_HASH = "0".repeat(64);
const FINDINGS_MAX = 50;
// limits that every log keeps: nesting, and bytes of a header or payload
const DEPTH_MAX = 32, ENTRY_MAX = 65535;
const encoder = new TextEncoder();

/** The input is not what it must be. */
export class Bad extends Error {}

/** The input has a version that this file does not know, so nothing is said about it. */
export class Unknown extends Bad {}

/** The findings; tampered outweighs incomplete, which outweighs not checkable. */
export class Report {
  exitCode = OK;
  lines = [];
  findings = 0;
  firstBadSeq = null;
  reason = "all as signed";
  signed = false; // by a trusted log key that counts, whatever else was found

  find(code, words, seq = null) {
    const text = seq === null ? words : `record ${seq}: ${words}`;
    this.findings += 1;
    if (this.exitCode === OK || code < this.exitCode) [this.exitCode, this.reason] = [code, text];
    if (seq !== null && code !== NOT_CHECKABLE && (this.firstBadSeq === null || seq < this.firstBadSeq)) {
      this.firstBadSeq = seq;
    }
    if (this.findings <= FINDINGS_MAX) this.say(`${WORDS[code]}: ${text}`);
  }

  /** Add the last line: the exit code's word and the first reason. */
  conclude() {
    this.say(`${WORDS[this.exitCode]}: ${this.reason}`);
    if (this.lines.at(-2) === this.lines.at(-1)) this.lines.pop();
  }

  /** Add the error that stopped the verification as a finding; a sound file causes none. */
  caught(error) {
    if (error instanceof Unknown) this.find(NOT_CHECKABLE, error.message);
    else if (error instanceof Bad) this.find(TAMPERED, error.message);
    else this.find(TAMPERED, `the input cannot be judged: ${error}`);
  }

  say(text) {
    this.lines.push(String(text).slice(0, 500).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`));
  }
}

// ---- bytes -------------------------------------------------------------------------------------

export const concat = (...parts) => joinAll(parts);

/** Join any number of parts; a call can have some ten thousand arguments only. */
function joinAll(parts) {
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

/** Return a SHA-256 digest written in lower-case hex. */
export function unhex(text) {
  if (typeof text !== "string" || !/^[0-9a-f]{64}$/.test(text)) throw new Bad("not a SHA-256 in hex");
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}

export function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** Return the bytes of base64 in its one exact encoding. */
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

/** Return a value as texts name it: a text as it is, "None" for null, other values as JSON. */
const said = (value) => (typeof value === "string" ? value : value === null || value === undefined ? "None" : canonical(value));

/** Return whether a value is nested deeper than so many levels. */
const deeper = (value, levels) => levels < 0
  || (value !== null && typeof value === "object" && Object.values(value).some((below) => deeper(below, levels - 1)));

/** Return the value of JSON in exact canonical form: numbers, order, escapes and keys are checked. */
export function parseCanonical(bytes, depth = DEPTH_MAX) {
  const source = text(bytes);
  let value, again;
  try {
    value = JSON.parse(source);
    if (deeper(value, depth)) throw new Bad("nested too deep");
    again = canonical(value);
  } catch (error) {
    throw new Bad(`not canonical JSON: ${error.message}`);
  }
  if (again !== source) throw new Bad("not canonical JSON");
  return value;
}

// ---- the tree (RFC 6962 section 2.1; verifying as in RFC 9162 section 2.1.3.2 and 2.1.4.2) --------

export async function sha256(...parts) {
  if (node) return new Uint8Array(parts.reduce((hash, part) => hash.update(part), node.createHash("sha256")).digest());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", parts.length === 1 ? parts[0] : concat(...parts)));
}

export const leafHash = (entry) => sha256(Uint8Array.of(0), entry);
export const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

// without this check, a byte moved from one node to the next would hash the same
const isHash = (bytes) => bytes.length === 32;

/** Return every hash from the leaf up to the root that an inclusion path leads to, or null. */
export async function climb(leaf, index, size, path) {
  if (!(index >= 0 && index < size) || ![leaf, ...path].every(isHash)) return null;
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

/** Return the root of the tree that ends with a leaf; the nodes on the left of its path cover all before it. */
export async function rootUpTo(leaf, index, size, path) {
  let at = BigInt(index), last = BigInt(size) - 1n, hash = leaf;
  for (const sibling of path) {
    if (at & 1n || at === last) {
      hash = await nodeHash(sibling, hash);
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  return hash;
}

export async function verifyConsistency(oldSize, oldRoot, size, root, path) {
  if (oldSize > size || ![oldRoot, ...path].every(isHash)) return false;
  if (oldSize === size) return path.length === 0 && equal(oldRoot, root);
  if (oldSize === 0) return path.length === 0 && equal(oldRoot, await sha256(new Uint8Array()));
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
const ML_DSA_44_BYTES = 2420;
const NO_NAME = /[\p{White_Space}+\x00-\x1f]/u; // eslint-disable-line no-control-regex
const TIME_MAX = 2n ** 63n - 1n;

/** Return a plain decimal below 2^63. Above 2^53 it is rounded: no tree read here is so large. */
function decimal(digits) {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(digits) || BigInt(digits) > TIME_MAX) throw new Bad(`${digits} is not a plain decimal`);
  return Number(digits);
}

function unhash(line) {
  const hash = unbase64(line);
  if (hash.length !== 32) throw new Bad("a line is not a SHA-256 hash");
  return hash;
}

/** Remove ASCII blanks from both ends; other white space stays. */
function trimmed(line) {
  const blank = (at) => " \t\r\n".includes(line[at]);
  let from = 0, to = line.length;
  while (from < to && blank(from)) from += 1;
  while (to > from && blank(to - 1)) to -= 1;
  return line.slice(from, to);
}

/** Split `<name>+<key id>+<base64 of type and key>`; any type is accepted. */
function splitKey(line) {
  const [name, id = "", ...rest] = trimmed(line).split("+");
  const data = unbase64(rest.join("+"));
  if (!name || NO_NAME.test(name) || !/^[0-9a-fA-F]{8}$/.test(id) || !data.length) throw new Bad("a key is not <name>+<id>+<base64>");
  // two spellings of one key must be one key, so its text is written again
  return { name, id: id.toLowerCase(), type: data[0], bytes: data.subarray(1), text: `${name}+${id.toLowerCase()}+${base64(data)}` };
}

/** Return a key of a known type whose id fits. */
export async function readKey(line) {
  const key = splitKey(line);
  if (KEY_BYTES[key.type] !== key.bytes.length) throw new Bad(`the key ${key.name} is of no known type`);
  const whole = await sha256(utf8(`${key.name}\n`), Uint8Array.of(key.type), key.bytes);
  if (hex(whole.subarray(0, 4)) !== key.id) throw new Bad(`the id of the key ${key.name} does not fit its name and bytes`);
  return key;
}

/** Split a signed note into its text and its signature lines. */
export function readNote(bytes) {
  const whole = text(bytes);
  const cut = whole.lastIndexOf("\n\n");
  if (cut < 0 || !whole.endsWith("\n") || cut + 2 === whole.length) throw new Bad("the note has no signatures");
  // eslint-disable-next-line no-control-regex
  if (/[\x00-\x09\x0b-\x1f]/.test(whole)) throw new Bad("the note holds control characters");
  const lines = whole.slice(cut + 2, -1).split("\n").map((line) => {
    const [dash, name, data, ...more] = line.split(" ");
    const signature = unbase64(data);
    if (dash !== "\u2014" || !name || NO_NAME.test(name) || more.length || signature.length < 5) {
      throw new Bad("a signature line is malformed");
    }
    return { name, id: hex(signature.subarray(0, 4)), signature: signature.subarray(4), line };
  });
  if (lines.length > 100) throw new Bad("the note has too many signatures");
  return { text: whole.slice(0, cut + 1), lines };
}

export function readCheckpoint(bytes) {
  const note = readNote(bytes);
  const [origin, size, root, ...extensions] = note.text.slice(0, -1).split("\n");
  if (!origin || utf8(origin).length > 255 || root === undefined || extensions.includes("")) throw new Bad("the checkpoint is malformed");
  const checkpoint = { origin, size: decimal(size), root: unhash(root), note };
  if (!Number.isSafeInteger(checkpoint.size)) throw new Unknown("the checkpoint's size is beyond this verifier");
  return checkpoint;
}

const sameTree = (a, b) => a.origin === b.origin && a.size === b.size && equal(a.root, b.root);

/** Return whether this runtime's WebCrypto checks Ed25519. */
export async function hasEd25519() {
  try {
    await crypto.subtle.importKey("raw", new Uint8Array(32), "Ed25519", false, ["verify"]);
    return true;
  } catch (error) {
    return error?.name !== "NotSupportedError" && error?.name !== "ReferenceError" && !!globalThis.crypto?.subtle;
  }
}

/** Return why a signature cannot be checked here, and what to do. */
async function lacking() {
  return `WebCrypto has no ${(await hasEd25519()) ? "ML-DSA-44" : "Ed25519 here, and never ML-DSA-44"}; use audit/verifier/verify.py`;
}

/** Return the time that a verified cosignature states, 0 for a log's line, null if not checkable here. */
async function signedTime(key, line, noteText) {
  const wrong = () => new Bad(`the signature of a trusted key does not verify: ${key.name}`);
  let { signature } = line, message = utf8(noteText), time = 0n;
  if (key.type !== SIG_ED25519) {
    if (signature.length < 8) throw wrong();
    time = new DataView(signature.buffer, signature.byteOffset, 8).getBigUint64(0);
    if (time > TIME_MAX) throw new Bad(`the cosignature of ${key.name} states an impossible time`);
    message = concat(utf8(`cosignature/v1\ntime ${time}\n`), message);
    signature = signature.subarray(8);
  }
  if (signature.length !== (key.type === COSIG_ML_DSA_44 ? ML_DSA_44_BYTES : 64)) throw wrong();
  if (key.type === COSIG_ML_DSA_44 || !(await hasEd25519())) return null;
  let good = false;
  try {
    const imported = await crypto.subtle.importKey("raw", key.bytes, "Ed25519", false, ["verify"]);
    good = await crypto.subtle.verify("Ed25519", imported, signature, message);
  } catch {
    // the bytes are not a point on the curve
  }
  if (!good) throw wrong();
  return Number(time);
}

/**
 * Return the times of known keys' verified lines by key text. Lines of other keys are ignored.
 * A witness may sign again at another time: the earliest stated time counts (0 states none).
 */
async function signersOf(note, keys) {
  const known = new Map([...keys].map((key) => [`${key.name} ${key.id}`, key]));
  const times = new Map();
  const read = new Set();
  for (const line of note.lines) {
    const key = known.get(`${line.name} ${line.id}`);
    if (!key) continue;
    if (read.has(line.line)) throw new Bad(`${line.name} signed twice`);
    read.add(line.line);
    const before = times.get(key.text), time = await signedTime(key, line, note.text);
    if (before !== undefined && key.type === SIG_ED25519) throw new Bad(`${line.name} signed twice`);
    times.set(key.text, before && time ? Math.min(before, time) : before || time);
  }
  return times;
}

const checked = (times) => new Map([...times].filter(([, time]) => time !== null));

/** A C2SP tlog-policy: logs, witnesses by their name in the file, groups in order, a quorum. */
class Policy {
  logs = [];
  witnesses = new Map();
  groups = new Map();
  quorum = null;
  #seen = new Set();

  get asks() {
    return this.quorum !== "none";
  }

  /** Return whether these witnesses are a quorum; a group's members are defined above it. */
  met(present) {
    const there = new Set([...present, "none"]);
    for (const [name, { need, names }] of this.groups) {
      if (names.filter((member) => there.has(member)).length >= need) there.add(name);
    }
    return there.has(this.quorum);
  }

  async take([word, ...rest]) {
    if (word === "log" && (rest.length === 1 || rest.length === 2)) return this.#log(octets(rest[0]));
    if (word === "witness" && (rest.length === 2 || rest.length === 3)) return this.#witness(rest[0], await readKey(octets(rest[1])));
    if (word === "group" && rest.length >= 3) return this.#group(...rest);
    if (word === "quorum" && rest.length === 1 && this.quorum === null) {
      if (rest[0] !== "none" && !this.#known(rest[0])) throw new Bad("the quorum is not defined above");
      this.quorum = rest[0];
      return undefined;
    }
    throw new Bad("not a line of a policy");
  }

  #known(name) {
    return this.witnesses.has(name) || this.groups.has(name);
  }

  #once(what) {
    if (this.#seen.has(what)) throw new Bad("a key, a name or a member is given twice");
    this.#seen.add(what);
  }

  async #log(line) {
    const key = splitKey(line);
    if (key.type === COSIG_ED25519) throw new Bad("a log's key is of a witness's type");
    this.#once(`log ${hex(key.bytes)}`);
    // a key of another type may be listed, but its signatures cannot be checked, so it never counts
    if (key.type in KEY_BYTES) this.logs.push(await readKey(line));
  }

  #witness(name, key) {
    if (key.type === SIG_ED25519) throw new Bad("a witness's key is of a log's type");
    this.#define(name);
    this.#once(`witness ${hex(key.bytes)}`);
    this.witnesses.set(name, key);
  }

  #group(name, rule, ...names) {
    if (!names.every((member) => this.#known(member))) throw new Bad("a member is not defined above");
    for (const member of names) this.#once(`member ${member}`);
    this.#define(name);
    const need = rule === "all" ? names.length : rule === "any" ? 1 : /^[1-9][0-9]{0,8}$/.test(rule) ? Number(rule) : 0;
    if (need < 1 || need > names.length) throw new Bad(`a threshold is not all, any or 1 to ${names.length}`);
    this.groups.set(name, { need, names });
  }

  #define(name) {
    if (name === "none") throw new Bad("none is no name");
    this.#once(`name ${name}`);
  }
}

const latin1 = (bytes) => Array.from(bytes, (b) => String.fromCharCode(b)).join("");
const octets = (word) => text(Uint8Array.from(word, (c) => c.charCodeAt(0)));

/** Read a tlog-policy file; one unreadable line refuses the file, as the rest could be weaker. */
export async function readPolicy(bytes) {
  if (bytes.some((b) => (b < 0x20 && b !== 9 && b !== 10) || b === 0x7f)) throw new Bad("the policy holds control characters");
  if (bytes.at(-1) !== 10) throw new Bad("the policy's last line does not end");
  const policy = new Policy();
  for (const [at, line] of latin1(bytes).split("\n").entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word);
    if (!words.length || words[0].startsWith("#")) continue;
    try {
      await policy.take(words);
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      throw new Bad(`the policy's line ${at + 1}: ${error.message}`);
    }
  }
  if (policy.quorum === null) throw new Bad("the policy has no quorum line");
  return policy;
}

// ---- changes of keys ------------------------------------------------------------------------------

const ROTATION = "countersign.dev/key-rotation/v1";
const REVOCATION = "countersign.dev/key-revocation/v1";
const CHANGED = "; if the log's key was changed since, give the signed change as --rotation";

/**
 * Read a change of the log's keys. A rotation proves itself: both keys sign it, and the old one counts
 * for trees up to `size`. The signatures of a revocation are judged later.
 */
async function readChange(statement, origin) {
  if (typeof statement !== "string" && !(statement instanceof Uint8Array)) throw new Bad("a change of keys is no text");
  const note = readNote(typeof statement === "string" ? utf8(statement) : statement);
  const [title, stated, ...rest] = note.text.split("\n").slice(0, -1);
  const id = [note.text, ...note.lines.map(({ line }) => line)].join("\n");
  if (stated !== origin) throw new Bad("a change of keys is of another log");
  if (title === ROTATION && rest.length === 4) {
    const [ended, next] = await Promise.all(rest.slice(0, 2).map(readKey));
    const size = decimal(rest[2]);
    if (ended.text === next.text || ended.name !== origin || next.name !== origin) throw new Bad("a rotation names other keys than two of the log");
    const times = await signersOf(note, [ended, next]);
    if (times.size !== 2) throw new Bad("a rotation is not signed by both keys");
    if (checked(times).size !== 2) throw new Unknown("a rotation's signatures are not checkable here");
    return { id, ended, next, size, words: `key ${ended.id} is followed by ${next.id} from ${size} on` };
  }
  if (title === REVOCATION && rest.length === 2) {
    const ended = await readKey(rest[0]), fromUs = decimal(rest[1]);
    return { id, ended, next: null, fromUs, note, words: `key ${ended.id} is revoked from ${when(fromUs / 1e6)} on` };
  }
  if (title === ROTATION || title === REVOCATION) throw new Bad("a change of keys is malformed");
  throw new Unknown("a change of keys of an unknown sort");
}

async function readChanges(statements, origin) {
  const changes = [];
  for (const statement of statements) changes.push(await readChange(statement, origin));
  return changes;
}

/** Read changes from outside; a malformed one says nothing about the file. */
async function readGiven(statements, origin) {
  try {
    return await readChanges(statements, origin);
  } catch (error) {
    if (error instanceof Bad) throw new Unknown(`a change of keys that was given: ${error.message}`);
    throw error;
  }
}

function when(seconds) {
  const time = new Date(Math.floor(seconds) * 1000);
  return Number.isNaN(time.getTime()) ? `second ${seconds}` : time.toISOString().replace(".000Z", "Z");
}

/** The trust given from outside: log keys, their successors, a witness policy. */
class Trust {
  #until = new Map();
  #revoked = new Map();
  #vouchers = new Map(); // a key that is known only by a later one, to that later key

  constructor(logs, policy) {
    this.logs = new Map(logs.map((key) => [key.text, key]));
    this.policy = policy;
  }

  /** Return the trust as it was given, without the changes in one file. */
  fresh() {
    return new Trust([...this.logs.values()], this.policy);
  }

  /**
   * Apply changes of keys. Those from outside come first, in any order, revocations before others.
   * Then the log's own in their order, with those from outside tried again after each, since the log
   * may name the key that signed them. A key that is known only by a later one counts for no more
   * than that later key, whose thief could have invented it. A change from outside that no trusted
   * key signed is a finding, since somebody relied on it.
   */
  async follow(report, inside, given) {
    const all = new Map([...given, ...inside].map((one) => [one.id, one]));
    const outside = new Set(given.map((one) => one.id)), own = new Set(inside.map((one) => one.id));
    const done = new Set(), sorted = [...given.filter((one) => !one.next), ...given.filter((one) => one.next)];
    await this.#followGiven(sorted, done);
    this.#lookBack([...inside, ...given.filter((one) => !own.has(one.id))]);
    await this.#followGiven(sorted, done);
    for (const change of inside) {
      if (done.has(change.id) || !(await this.#take(change))) continue;
      done.add(change.id);
      await this.#followGiven(sorted, done);
    }
    for (const [key, voucher] of this.#vouchers) {
      for (const bounds of [this.#until, this.#revoked]) {
        if (bounds.has(voucher)) bounds.set(key, Math.min(bounds.get(voucher), bounds.get(key) ?? Infinity));
      }
    }
    for (const [id, { words }] of all) {
      const lost = `${words}: not followed, no trusted key that still counts says so`;
      if (done.has(id)) report.say(words);
      else if (outside.has(id)) report.find(NOT_CHECKABLE, `given: ${lost}`);
      else report.say(lost);
    }
  }

  async #followGiven(given, done) {
    for (let before = -1; done.size > before;) {
      before = done.size;
      for (const change of given) this.#lookBack([change]);
      for (const change of given) {
        try {
          if (!done.has(change.id) && (await this.#take(change))) done.add(change.id);
        } catch (error) {
          if (!(error instanceof Bad)) throw error; // an altered change is not applied
        }
      }
    }
  }

  /**
   * Add the keys that preceded the trusted ones, each vouched for by its successor. Such a key ends at
   * that rotation and hands over to no other key: its thief could name his own successor.
   */
  #lookBack(changes) {
    const ended = new Map();
    for (const [at, { ended: key }] of changes.entries()) if (!ended.has(key.text)) ended.set(key.text, at);
    for (const [at, { ended: key, next, size }] of [...changes.entries()].reverse()) {
      if (!next || !this.logs.has(next.text) || this.logs.has(key.text) || ended.get(next.text) < at) continue;
      this.logs.set(key.text, key);
      this.#until.set(key.text, size);
      this.#vouchers.set(key.text, next.text);
    }
  }

  async #take(change) {
    return change.next ? this.#rotate(change) : this.#revoke(change);
  }

  /** Apply a rotation. A revoked key introduces no new key, but its end is applied. */
  #rotate({ ended: { text: key }, next, size }) {
    if (this.logs.has(next.text) && this.#until.get(key) === size) return true; // applied before
    const introduced = this.#revoked.has(key) && !this.logs.has(next.text);
    if (!this.logs.has(key) || this.#until.has(key) || introduced) return false;
    this.#until.set(key, size);
    this.logs.set(next.text, next);
    return true;
  }

  async #revoke({ ended: { text: key }, fromUs, note }) {
    const others = [...this.logs.values()].filter((other) => other.text !== key && !this.#revoked.has(other.text));
    if (!checked(await signersOf(note, others)).size) return false;
    this.#revoked.set(key, Math.min(fromUs, this.#revoked.get(key) ?? Infinity));
    return true;
  }

  /** Return why no signer counts for a tree of this size and time; "" if one does. */
  gone(signers, size, madeUs) {
    const current = [...signers].filter((key) => size <= (this.#until.get(key) ?? Infinity));
    if (current.some((key) => !this.#revoked.has(key) || madeUs < this.#revoked.get(key))) return "";
    return current.length ? "revoked" : "replaced";
  }

  /** Return a checkpoint after verifying the lines of all known keys. */
  async open(checkpoint) {
    const own = await signersOf(checkpoint.note, [...this.logs.values()].filter((key) => key.name === checkpoint.origin));
    const witnesses = [...(this.policy?.witnesses ?? [])];
    const others = await signersOf(checkpoint.note, witnesses.map(([, key]) => key));
    const signers = new Set(checked(own).keys());
    const line = ([, key]) => others.get(key.text);
    return {
      ...checkpoint,
      signers,
      unsure: own.size > signers.size,
      cosigners: new Map(witnesses.filter((one) => typeof line(one) === "number").map((one) => [one[0], line(one)])),
      unread: witnesses.filter((one) => line(one) === null).map(([name]) => name),
    };
  }

  met(seen) {
    return this.policy === null || this.policy.met(seen.cosigners.keys());
  }

  /** Return the microsecond by which the policy's quorum saw a checkpoint; one witness alone proves no time. */
  seenUs({ cosigners }) {
    if (!this.policy?.asks) return Infinity;
    const stated = [...cosigners].filter(([, time]) => time > 0), times = stated.map(([, time]) => time).sort((a, b) => a - b);
    const by = (limit) => stated.filter(([, time]) => time <= limit).map(([name]) => name);
    return (times.find((time) => this.policy.met(by(time))) ?? Infinity) * 1e6;
  }
}

/** Return the trust of key lines and the bytes of a policy. */
export async function readTrust({ keys = [], policy = null } = {}) {
  const read = policy ? await readPolicy(policy) : null;
  const logs = await Promise.all(keys.map(readKey));
  const witness = logs.find((key) => key.type === COSIG_ED25519);
  if (witness) throw new Bad(`${witness.name} is a witness's key: it belongs into a policy`);
  return new Trust([...(read?.logs ?? []), ...logs], read);
}

// ---- the one checkpoint of a proof ----------------------------------------------------------------

/** Return a consistency proof, read from tlog-witness's add-checkpoint form. */
export function readLink(bytes) {
  const [block, note] = splitAtBlank(bytes);
  const [first, ...lines] = text(block).split("\n");
  if (!first.startsWith("old ") || lines.length > 63 || !note?.length) throw new Bad("the consistency proof is malformed");
  return { oldSize: decimal(first.slice(4)), path: lines.map(unhash), note, checkpoint: readCheckpoint(note) };
}

function splitAtBlank(bytes) {
  const at = bytes.findIndex((b, i) => b === 10 && bytes[i + 1] === 10);
  return at < 0 ? [bytes, null] : [bytes.subarray(0, at), bytes.subarray(at + 2)];
}

/** Judge the signers and cosigners of a checkpoint, and whether it agrees with those kept outside. */
async function judgeHead(report, trust, checkpoint, { checkpoints, links, rotations }, inside = []) {
  await trust.follow(report, inside, await readGiven(rotations, checkpoint.origin));
  const seen = await trust.open(checkpoint);
  let why = "";
  if (!trust.logs.size) {
    report.find(NOT_CHECKABLE, "no trusted key given: nothing says who signed this");
  } else if (!seen.signers.size && seen.unsure) {
    report.find(NOT_CHECKABLE, `the log's signature cannot be checked here: ${await lacking()}`);
  } else if (!seen.signers.size) {
    report.find(TAMPERED, `the checkpoint is signed by no trusted key${CHANGED}`);
  } else {
    why = trust.gone(seen.signers, seen.size, Infinity);
    if (why === "replaced") report.find(TAMPERED, "signed only by a key that had been replaced");
  }
  const covering = await joined(report, trust, seen, checkpoints, links);
  // a tree that the quorum saw, or a sound key signed, existed by then, and so did every part of it
  const made = Math.min(...covering.map((one) => trust.seenUs(one)));
  const covered = covering.some((one) => !trust.gone(one.signers, one.size, made));
  if (why === "revoked" && !covered) report.find(NOT_CHECKABLE, "signed only by a key that is revoked: no quorum of witnesses says when");
  report.signed = seen.signers.size > 0 && (!why || (why === "revoked" && covered));
  await judgeQuorum(report, trust, covering);
}

/**
 * Compare with the kept checkpoints; return those that are proven to contain this tree.
 *
 * A proof counts only if it leads from or to this tree: trees above it share its history, and so do
 * those below any of them. Two trees above the same third one may be a fork.
 */
async function joined(report, trust, seen, checkpoints, links) {
  const unsigned = (one) => trust.logs.size > 0 && !one.signers.size && !one.unsure;
  const kept = [], steps = [], same = [seen];
  for (const bytes of checkpoints) {
    const one = await trust.open(readCheckpoint(bytes));
    if (unsigned(one)) report.find(TAMPERED, `the kept checkpoint of ${one.size} is signed by no trusted key`);
    else if (one.origin !== seen.origin) report.find(TAMPERED, `the kept checkpoint is of the log ${one.origin}, not ${seen.origin}`);
    else if (one.size === seen.size && !sameTree(one, seen)) report.find(TAMPERED, `the kept checkpoint of ${one.size} has another root: the log forked`);
    else kept.push(one);
  }
  const nexts = [];
  for (const { checkpoint } of links) nexts.push(await trust.open(checkpoint));
  const there = [seen, ...kept, ...nexts.filter((one) => !unsigned(one))];
  for (const [at, { oldSize, path }] of links.entries()) {
    const next = nexts[at], old = there.find((one) => one.size === oldSize && one.origin === next.origin);
    const forked = there.some((one) => one.origin === next.origin && one.size === next.size && !sameTree(one, next));
    if (unsigned(next)) {
      report.find(TAMPERED, "the consistency proof's checkpoint is signed by no trusted key");
    } else if (!old) {
      report.find(NOT_CHECKABLE, `no checkpoint of ${oldSize} is here to be extended`);
    } else if (forked || !(await verifyConsistency(old.size, old.root, next.size, next.root, path))) {
      report.find(TAMPERED, `the tree of ${next.size} does not extend that of ${oldSize}: the log forked`);
    } else {
      steps.push([old, next]);
    }
  }
  const has = (one) => same.some((shown) => sameTree(one, shown));
  const take = (from, to) => {
    for (let rounds = steps.length; rounds > 0; rounds -= 1) {
      for (const step of steps) if (has(step[from]) && !has(step[to])) same.push(step[to]);
    }
  };
  take(0, 1);
  take(1, 0);
  for (const [old, next] of steps) {
    const words = `the tree of ${next.size} extends that of ${old.size}`;
    if (has(next)) report.say(words);
    else report.find(NOT_CHECKABLE, `${words}, which nothing joins to that of ${seen.size}`);
  }
  for (const one of kept) {
    if (!has(one)) {
      report.find(NOT_CHECKABLE, `the kept checkpoint of ${one.size} is not comparable with that of ${seen.size} here: give a consistency proof, or judge a dump`);
    }
  }
  return there.filter((one) => one.size >= seen.size && has(one));
}

/** Report whether the policy's quorum of witnesses cosigned one of these checkpoints. */
async function judgeQuorum(report, { policy }, seen) {
  if (!policy?.asks) {
    report.say("no witness policy given: that others saw this checkpoint is not shown");
    return;
  }
  const who = seen.flatMap((one) => [...one.cosigners].map(([name, time]) => `${name} at ${when(time)}`));
  const shown = [...new Set(who)].join(", ") || "nobody that the policy names";
  const unread = [...new Set(seen.flatMap((one) => one.unread))];
  if (seen.some((one) => policy.met(one.cosigners.keys()))) {
    report.say(`quorum met: cosigned by ${shown}`);
  } else if (seen.some((one) => policy.met([...one.cosigners.keys(), ...one.unread]))) {
    report.find(NOT_CHECKABLE, `the quorum needs cosignatures that cannot be checked here, of ${unread.join(", ")}: ${await lacking()}`);
  } else {
    report.find(INCOMPLETE, `the policy's quorum is not met: cosigned by ${shown}`);
  }
}

// ---- records --------------------------------------------------------------------------------------

const HEADER = {
  actor: "string", commitments: "object", idem_key: "string", kind: "string", log: "string", payload_sha256: "string",
  prev: "string", recorded_at_us: "number", seq: "number", stream: "string", stream_seq: "number", version: "number",
};
const KIND = /^[a-z_]{1,64}$/;

//KINDS-BEGIN written by `make verifier`
/** The kinds of version 1 that this file interprets; of others it verifies the bytes only. */
export const KINDS = new Set(`
  intent_received forecast_taken gjr_made quote_taken intent_proposed placebo_judged gjr_judged
  decision_sealed operator_note snapshot_taken forecast_sealed forecast_listed mode_chosen
  forecast_requested rounds_captured tokens_drawn news_twin_made paths_joined forecast_failed
  placebo_made forecast_made order_sending order_sent order_refused order_unknown order_withdrawn
  order_reported order_ended cancel_requested cancel_ended replace_requested replace_sent
  replace_ended verdict_given approval_requested approval_resumed approval_given approval_refused
  reservation_released fix_inbound fix_anomaly session_event foreign_reported processes_agreed
  policy_announced feed_condition run_finished run_started instrument_listed engine_event
  witness_event policy_activated model_loaded mark_taken ledger_restored book_difference
  difference_resolved book_adjusted kill_drilled kill_pressed kill_outcome kill_released cancel_sent
  mode_entered digests_registered promotion_tested model_promoted stop_begun stop_ended
  cancel_all_asked flatten_asked cancel_all_outcome read_recorded access_refused receipt_key
  agent_scoped alarm_lost review_drawn review_answered override_granted override_ended
  decision_annotated forecast_scored sampler_checked policy_tried case_opened case_noted case_moved
  swaps_tested justification_entered justification_ended publication_noted publication_ended
  fairness_tested fairness_agreed order_allocated basket_received basket_decided rows_accepted
  key_rotated key_revoked key_destroyed officer_key_changed record_disavowed stream_heads
  hold_placed hold_lifted retention_expired subject_erased personal_disclosed clock_observed
`.trim().split(/\s+/));
//KINDS-END
const known = (header) => KINDS.has(header.kind) && header.version === 1;
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function readHeader(bytes) {
  const header = parseCanonical(bytes), shape = Object.keys(HEADER);
  if (!isObject(header) || canonical(Object.keys(header)) !== canonical(shape)) throw new Bad("the header has another shape");
  if (shape.some((name) => typeof header[name] !== HEADER[name]) || !Array.isArray(header.commitments)) {
    throw new Bad("a field of the header has another type");
  }
  if (!KIND.test(header.kind)) throw new Bad("the kind has another shape");
  if (bytes.length > ENTRY_MAX || shape.some((name) => HEADER[name] === "number" && header[name] < 0)) throw new Bad("the header is too long, or a number in it is negative");
  // eslint-disable-next-line no-control-regex
  if (/^$|[\x00-\x1f]/.test(header.stream)) throw new Bad("the stream has no name");
  for (const digest of [header.prev, header.payload_sha256, ...header.commitments]) unhex(digest);
  return header;
}

/** Fields that name something, in order, with whether null is allowed for none. */
const IDENTITIES = { cl_ord_id: true, decision_id: true, exec_id: true, orig_cl_ord_id: true, basket_id: false, override_id: false };

/** Refuse an identity that is not a text: other records could not name it. */
function checkNames(payload) {
  for (const [name, mayLack] of Object.entries(IDENTITIES)) {
    const { [name]: value = "" } = payload;
    if (!isText(value) && !(mayLack && value === null)) throw new Bad(`its ${name} is not a text`);
  }
}

/** Return header, payload and leaf; a payload must be the one that the header names. */
export async function readRecord(headerBytes, payloadBytes = null) {
  const header = readHeader(headerBytes);
  let payload = null;
  if (payloadBytes !== null) {
    payload = parseCanonical(payloadBytes);
    if (!isObject(payload) || payloadBytes.length > ENTRY_MAX) throw new Bad("the payload is no object, or is too long");
    if (header.kind === "stream_heads" && known(header)) checkMap(payload);
    if (known(header)) checkNames(payload);
    if (hex(await sha256(payloadBytes)) !== header.payload_sha256) throw new Bad("the payload is not the one that the header names");
  }
  return { header, payload, leaf: await leafHash(headerBytes) };
}

/** Refuse a malformed stream-head map. */
function checkMap({ part, parts, heads }) {
  const counts = Number.isSafeInteger(part) && Number.isSafeInteger(parts) && part >= 0 && part < parts;
  const row = (item) => Array.isArray(item) && item.length === 3 && typeof item[0] === "string"
    && Number.isSafeInteger(item[1]) && typeof item[2] === "string";
  if (!counts || !Array.isArray(heads) || !heads.every(row)) throw new Bad("the stream-head map has another shape");
}

/** Yield the digests of `*_blob` fields at any depth; anything else in them is refused. */
export function* blobsOf(value) {
  if (value === null || typeof value !== "object") return;
  for (const [key, below] of Object.entries(value)) {
    if (!Array.isArray(value) && key.endsWith("_blob")) {
      if (below !== null) yield hex(unhex(below));
    } else {
      yield* blobsOf(below);
    }
  }
}

/** The end of every stream; records must be dense, chained by `prev`, with unique idempotency keys. */
class Streams {
  heads = new Map();
  #keys = new Set();

  at(stream) {
    return this.heads.get(stream) ?? { number: -1, leaf: ZERO_HASH, seq: -1 };
  }

  async follow(report, header, leaf) {
    const before = this.at(header.stream);
    if (header.stream_seq !== before.number + 1) {
      const code = header.stream_seq > before.number ? INCOMPLETE : TAMPERED;
      report.find(code, `${header.stream} goes from ${before.number} to ${header.stream_seq}`, header.seq);
    } else if (header.prev !== before.leaf) {
      report.find(TAMPERED, `is not the record that record ${header.seq} follows: one of them was altered`, Math.max(before.seq, 0));
    }
    const key = latin1((await sha256(utf8(`${header.stream}\0${header.idem_key}`))).subarray(0, 16));
    if (this.#keys.has(key)) report.find(TAMPERED, `${header.stream} has the idempotency key ${header.idem_key} twice`, header.seq);
    this.#keys.add(key);
    this.heads.set(header.stream, { number: header.stream_seq, leaf: hex(leaf), seq: header.seq });
  }
}

/** Disclosed personal values: base64url of [salt, path, value]; a commitment is their SHA-256. */
class Disclosed {
  #open = new Map();

  static async read(disclosures) {
    const disclosed = new Disclosed();
    for (const bytes of disclosures) {
      const line = bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes;
      disclosed.#open.set(hex(await sha256(line)), pathOf(line));
    }
    return disclosed;
  }

  /** Look for disclosed values among a verified record's commitments. */
  see(report, header) {
    for (const digest of header.commitments) {
      if (!this.#open.has(digest)) continue;
      const path = this.#open.get(digest);
      this.#open.delete(digest);
      if (path === null) report.find(TAMPERED, "commits to what is no disclosure", header.seq);
      else report.say(`record ${header.seq} commits to the disclosed value of ${path}`);
    }
  }

  finish(report) {
    for (const path of this.#open.values()) {
      report.find(TAMPERED, `no record here commits to the disclosed value of ${path ?? "nothing known"}`);
    }
  }
}

/** Return the path that a disclosure states; null if it is malformed. */
function pathOf(line) {
  try {
    if (!/^[A-Za-z0-9_-]*$/.test(latin1(line))) return null;
    const plain = text(line).replaceAll("-", "+").replaceAll("_", "/");
    const parts = parseCanonical(unbase64(plain + "=".repeat((4 - (plain.length % 4)) % 4)));
    return Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === "string") ? parts[1] : null;
  } catch {
    return null;
  }
}

/** Records of unknown kinds or versions: only their bytes are verified. */
class Unread {
  #counts = new Map();
  #runs = 0;
  maps = false;

  /** Count a run of the tests of fairness, which this verifier does not repeat. */
  see(header) {
    if (header.kind === "fairness_tested") this.#runs += 1;
  }

  add(header) {
    const name = `${header.kind} version ${header.version}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  finish(report) {
    if (this.maps) report.find(NOT_CHECKABLE, "a stream-head map of an unknown version: where streams end cannot be seen");
    if (this.#runs) report.say(`${this.#runs} runs of the tests of fairness are not repeated here: verify.py does it`);
    for (const [name, count] of this.#counts) report.say(`${name} is not known here: of ${count} records only the bytes were verified`);
  }

  static of(headers) {
    const unread = new Unread();
    for (const header of headers) if (!known(header)) unread.add(header);
    return unread;
  }
}

const KEY_KINDS = ["key_rotated", "key_revoked"];

/** Return the changes of keys among records; each is signed by itself, so no tree is needed. */
async function changesIn(records) {
  const changes = [];
  for (const { header, payload } of records) {
    if (known(header) && KEY_KINDS.includes(header.kind)) changes.push(await readChange(payload.statement, header.log));
  }
  return changes;
}

/** Check that a record sits where it says in the signed tree of its own log. */
async function judgePlace(report, { header, leaf }, path, signed, index = header.seq) {
  if (!(await verifyInclusion(leaf, index, signed.size, path, signed.root))) report.find(TAMPERED, "is not in the signed tree", index);
  else if (index !== header.seq) report.find(TAMPERED, `calls itself record ${header.seq}`, index);
  if (header.log !== signed.origin) report.find(TAMPERED, "is of another log", index);
}

/** Compare the end of a stream here with its row of a stream-head map. */
function judgeEnd(report, [stream, number, leaf], end) {
  if (number === end.number && leaf === end.leaf) return;
  report.find(number > end.number ? INCOMPLETE : TAMPERED, `${stream} ends at ${number} in the signed map, at ${end.number} here`);
}

/**
 * Require all parts of each map, one after the other, in the signed tree. A map says where streams
 * ended before its first part. A record between two parts would be in no map, so a part that is not
 * shown could be a hidden record.
 */
function judgeMaps(report, maps, size, others) {
  let before = -1, open = null; // the last part, and the map that it belongs to
  const beside = others.map(({ header }) => header.seq).sort((a, b) => b - a); // descending
  const close = () => {
    if (open && open.next < open.end) report.find(INCOMPLETE, `part ${open.next - open.start} of a stream-head map of ${open.end - open.start} parts is not shown: a record may be hidden in its place`, open.next);
  };
  for (const { header: { seq }, payload: { part: number, parts } } of maps) {
    const start = seq - number, end = start + parts;
    if (open?.start === start && open.end === end) {
      if (seq <= before) report.find(TAMPERED, "the parts of a stream-head map do not follow each other", seq);
    } else {
      close();
      if (start < 0 || end > size) report.find(TAMPERED, "a stream-head map has not all its parts in the signed tree", seq);
      if (open && start < open.end) report.find(TAMPERED, "the parts of a stream-head map do not follow each other", seq);
      open = { start, end, next: start };
      while (beside.at(-1) < start) beside.pop(); // maps out of order are broken anyway
      if (beside.at(-1) < end) report.find(TAMPERED, "lies between the parts of a stream-head map", beside.at(-1));
    }
    if (seq === open.next) open.next += 1;
    before = seq;
  }
  close();
}

/** Require the record that ends a decision, or an attempt at a forecast. */
function judgeSeal(report, stream, headers, kind = "decision_sealed") {
  const seals = headers.filter((header) => header.kind === kind);
  if (!seals.length) report.find(INCOMPLETE, `${stream} is not sealed`);
  else if (!seals.some(known)) report.find(NOT_CHECKABLE, "the seal is of an unknown version", seals[0].seq);
}

function sayRecord(report, header) {
  report.say(`record ${header.seq} of ${header.log}: ${header.kind} by ${header.actor} at ${when(header.recorded_at_us / 1e6)}, number ${header.stream_seq} of ${header.stream}`);
}

// ---- proofs and receipts --------------------------------------------------------------------------

const PROOF = "c2sp.org/tlog-proof@v1";

/** Read a tlog-proof file into index, path, checkpoint and extra data. */
export function readProof(bytes) {
  const parts = splitProof(bytes);
  return { ...parts, checkpoint: readCheckpoint(parts.note) };
}

function splitProof(bytes) {
  const [block, note] = splitAtBlank(bytes);
  const [first, ...lines] = text(block).split("\n");
  if (/^c2sp\.org\/tlog-proof@v[1-9][0-9]{0,2}$/.test(first) && first !== PROOF) throw new Unknown(`a proof of the form ${first} is not known here`);
  if (first !== PROOF || note === null) throw new Bad("not a tlog-proof");
  const extra = lines[0]?.startsWith("extra ") ? unbase64(lines.shift().slice(6)) : null;
  const index = lines.shift() ?? "";
  if (!index.startsWith("index ") || lines.length > 63) throw new Bad("the proof has no index, or more than 63 hashes");
  return { index: decimal(index.slice(6)), path: lines.map(unhash), extra, note };
}

/** Judge only the signers and cosigners of a proof's checkpoint. */
export async function verifySignatures(bytes, trust, options = {}) {
  const proof = splitProof(bytes), extra = readExtra(proof.extra);
  return judged(async (report) => judgeProofHead(report, readCheckpoint(proof.note), extra, trust.fresh(), await withDefaults(options)));
}

const isInteger = (value) => Number.isSafeInteger(value);
const isText = (value) => typeof value === "string";
const LIST = { headers: Array.isArray, keys: Array.isArray, map: isObject, payloads: Array.isArray };
const BOUNDS = { first: isInteger, last: isInteger };
const EXTRA = {
  "countersign-record/1": { format: isText, header: isObject, keys: Array.isArray, payload: isObject },
  // every header of a decision, and the payload of its seal
  "countersign-receipt/1": { format: isText, ...LIST },
  // the headers of a stream from `first` to the end that a map states, with payloads up to `last`
  "countersign-range/1": { format: isText, ...LIST, ...BOUNDS },
  // the same with every part of a map that has several
  "countersign-receipt/2": { format: isText, ...LIST, map: Array.isArray },
  "countersign-range/2": { format: isText, ...LIST, ...BOUNDS, map: Array.isArray },
};

// damaged extra data with this word counts as ours
const OURS = /countersign-/;

/** Return our extra data, never trusted unproven, or a header alone; {} for foreign data. */
function readExtra(bytes) {
  if (bytes?.[0] !== 0x7b) return {};
  let extra = null;
  try {
    extra = parseCanonical(bytes, DEPTH_MAX + 3); // where the payload of a map's part lies
  } catch (error) {
    if (!(error instanceof Bad) || OURS.test(latin1(bytes))) throw error;
    return {};
  }
  if (Object.keys(extra).join() === Object.keys(HEADER).join()) return { header: extra };
  const { format } = extra;
  if (!isText(format) || !Object.hasOwn(EXTRA, format)) {
    if (isText(format) && /^countersign-[a-z]+\/[0-9]{1,4}$/.test(format)) throw new Unknown(`extra data of the format ${format} is not known here`);
    return {};
  }
  // canonical JSON sorts members, so the names of a shape are compared sorted
  const names = Object.keys(EXTRA[format]).sort();
  if (Object.keys(extra).join() !== names.join() || names.some((name) => !EXTRA[format][name](extra[name]))) {
    throw new Bad("the extra data has another shape");
  }
  return extra;
}

async function judgeProof(report, bytes, trust, options) {
  // the extra data first: if its version is unknown, nothing else is said
  const extra = readExtra(splitProof(bytes).extra), proof = readProof(bytes), signed = proof.checkpoint;
  const disclosed = await Disclosed.read(options.disclosures);
  const own = extra.headers ? ["header", "payload"] : Object.keys(extra);
  refuse(report, options, "a proof that holds its own", ...own);
  refuse(report, options, "a proof", ...BROKER);
  await judgeProofHead(report, signed, extra, trust, options);
  if (extra.headers) await judgeList(report, proof, extra, disclosed);
  else await judgeEntry(report, proof, extra, options, disclosed);
  disclosed.finish(report);
}

/** Judge a proof's checkpoint, with the changes of the log's keys from its extra data. */
async function judgeProofHead(report, signed, { keys = [] }, trust, options) {
  await judgeHead(report, trust, signed, options, await readChanges(keys, signed.origin));
}

/** Judge the proof of one entry, which need not be a record of ours. */
async function judgeEntry(report, proof, extra, { header = null, payload = null }, disclosed) {
  const inside = extra.header ? utf8(canonical(extra.header)) : null;
  const entry = inside ?? header;
  if (entry === null) {
    report.find(NOT_CHECKABLE, "no entry: give its bytes with --header");
    return;
  }
  const leaf = await leafHash(entry), { checkpoint: signed, index, path } = proof;
  const there = await verifyInclusion(leaf, index, signed.size, path, signed.root);
  let ours = true;
  try {
    readHeader(entry);
  } catch (error) {
    if (inside || !(error instanceof Bad)) throw error;
    ours = false;
  }
  if (!ours) {
    if (!there) report.find(TAMPERED, "is not in the signed tree", index);
    refuse(report, { links: [], disclosures: [], header: null, payload }, "an entry that is no record", "payload");
    report.say("the entry is not a record of this ledger: only its bytes were verified");
    return;
  }
  const body = extra.payload ? utf8(canonical(extra.payload)) : payload;
  const record = await readRecord(entry, body);
  await judgePlace(report, record, path, signed, index);
  disclosed.see(report, record.header);
  Unread.of([record.header]).finish(report);
  sayRecord(report, record.header);
}

/**
 * Judge a receipt or a range: a chain of headers that ends where a proven map says. One entry and
 * the map are proven by their paths, the other entries by the chain.
 */
async function judgeList(report, proof, extra, disclosed) {
  const signed = proof.checkpoint, first = extra.first ?? 0, records = [];
  for (const header of extra.headers) records.push(await readRecord(utf8(canonical(header))));
  if (!records.length) {
    report.find(INCOMPLETE, "there is no record in the list");
    return;
  }
  const { stream, prev } = records[0].header, streams = new Streams();
  if (first !== 0) streams.heads.set(stream, { number: first - 1, leaf: prev, seq: -1 });
  let lastSeq = -1;
  for (const { header, leaf } of records) {
    if (header.stream !== stream || header.log !== signed.origin) report.find(TAMPERED, "is of another stream or log", header.seq);
    if (header.seq <= lastSeq || header.seq >= signed.size) report.find(TAMPERED, "cannot have this number in the signed tree", header.seq);
    lastSeq = header.seq;
    await streams.follow(report, header, leaf);
    disclosed.see(report, header);
  }
  await judgeEndMap(report, Array.isArray(extra.map) ? extra.map : [extra.map], signed, stream, streams.at(stream), records);
  const proven = records.filter(({ header }) => header.seq === proof.index);
  for (const record of proven) await judgePlace(report, record, proof.path, signed);
  if (!proven.length) {
    report.find(INCOMPLETE, "the record that is proven is missing in the list", proof.index);
  } else if (extra.last === undefined) {
    const seals = proven.map(({ header }) => header);
    judgeSeal(report, stream, seals);
    await judgePayloads(report, extra.payloads, seals);
  } else {
    if (extra.last < first || extra.last > records.at(-1).header.stream_seq) report.find(INCOMPLETE, `${stream} is not listed up to ${extra.last}`);
    await judgePayloads(report, extra.payloads, records.slice(0, Math.max(0, extra.last - first + 1)).map(({ header }) => header));
  }
  Unread.of(records.map(({ header }) => header)).finish(report);
  report.say(`${stream}: ${records.length} records from number ${first} on, no other between them`);
}

/** Compare payloads with the headers that name them, in the same order. */
async function judgePayloads(report, payloads, headers) {
  if (payloads.length !== headers.length) report.find(INCOMPLETE, `${payloads.length} payloads for ${headers.length} records`);
  for (const [at, header] of headers.entries()) {
    sayRecord(report, header);
    if (at >= payloads.length) continue;
    try {
      await readRecord(utf8(canonical(header)), utf8(canonical(payloads[at])));
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      report.find(TAMPERED, error.message, header.seq);
    }
  }
}

/** Judge the maps that say where the stream ended. */
async function judgeEndMap(report, shown, signed, stream, end, records) {
  const maps = [];
  for (const item of shown) {
    if (!isObject(item) || Object.keys(item).join() !== "header,path,payload" || !Array.isArray(item.path)) throw new Bad("the stream-head map has another shape");
    const record = await readRecord(utf8(canonical(item.header)), utf8(canonical(item.payload)));
    await judgePlace(report, record, item.path.map(unhex), signed);
    if (record.header.kind !== "stream_heads") throw new Bad("the stream-head map is none");
    if (!known(record.header)) {
      report.find(NOT_CHECKABLE, "a stream-head map of an unknown version: where the stream ends cannot be seen");
      return;
    }
    maps.push(record);
  }
  judgeMaps(report, maps, signed.size, records);
  let named = false;
  for (const { header, payload } of maps) {
    for (const row of payload.heads) {
      if (row[0] !== stream || header.seq - payload.part <= end.seq) continue;
      named = true;
      judgeEnd(report, row, end);
      report.say(`${stream} ended at ${row[1]} when record ${header.seq} was made, ${when(header.recorded_at_us / 1e6)}`);
    }
  }
  if (!named) report.find(INCOMPLETE, `the stream-head map does not name ${stream}`);
}

/** Judge a consistency proof: its checkpoint must extend a kept one. */
async function judgeLink(report, bytes, trust, options) {
  const link = readLink(bytes);
  if (!options.checkpoints.some((kept) => readCheckpoint(kept).size === link.oldSize)) {
    report.find(NOT_CHECKABLE, `give the kept checkpoint of ${link.oldSize} with --checkpoint`);
  }
  const links = options.checkpoints.length ? [...options.links, link] : options.links;
  await judgeNote(report, link.note, trust, { ...options, links }, "a consistency proof");
}

/** Judge a checkpoint alone: signers, cosigners, kept checkpoints. */
async function judgeNote(report, bytes, trust, options, sort = "a checkpoint") {
  refuse(report, options, sort, "disclosure", "header", "payload", ...BROKER);
  const checkpoint = readCheckpoint(bytes);
  await judgeHead(report, trust, checkpoint, options);
  report.say(`checkpoint of ${checkpoint.origin} at ${checkpoint.size}`);
}

// ---- the broker's own file of fills -----------------------------------------------------------------
// CSV with a header, or a FIX log with ExecutionReports (35=8). Amounts are BigInts of 10^-18.

const SCALE = 18;
const AMOUNT = /^(-?)([0-9]{1,18})(?:\.([0-9]{1,18}))?$/;
const CELL_MAX = 131072;
const COLUMNS = new Map(Object.entries({ // our name: the FIX name that a header may have instead
  cl_ord_id: "clordid", exec_id: "execid", instrument: "symbol", side: "side", quantity: "lastqty", price: "lastpx", account: "account",
  time: "transacttime", exec_type: "exectype", exec_ref_id: "execrefid", orig_cl_ord_id: "origclordid", fee: "commission", currency: "currency",
}));
const NEEDED = ["cl_ord_id", "exec_id", "instrument", "side", "quantity", "price"];
const TAGS = { // of an ExecutionReport, FIX 4.2 to 5.0
  cl_ord_id: "11", exec_id: "17", instrument: "55", side: "54", quantity: "32", price: "31", account: "1", time: "60", exec_type: "150",
  exec_ref_id: "19", orig_cl_ord_id: "41", fee: "12", currency: "15",
};
const SIDES = new Map([["1", "BUY"], ["B", "BUY"], ["BUY", "BUY"], ["2", "SELL"], ["S", "SELL"], ["SELL", "SELL"], ["5", "SELL"], ["6", "SELL"]]);
const EVENTS = new Map([
  ["", "trade"], ["F", "trade"], ["1", "trade"], ["2", "trade"], ["TRADE", "trade"], ["H", "bust"], ["BUST", "bust"], ["CANCEL", "bust"],
  ["G", "correction"], ["CORRECT", "correction"],
]);
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"; // as Python's str.strip
const BLANK_ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "g"), BLANKS = new RegExp(`${BLANK}+`, "g");
const strip = (word) => word.replace(BLANK_ENDS, "");
const keyOf = (...parts) => JSON.stringify(parts);

/** Return decimal text as an integer of 10^-18, or null if it is none. */
function unitsOf(word) {
  const [, sign, whole, part = ""] = AMOUNT.exec(word) ?? [];
  return whole === undefined ? null : BigInt(`${sign}${whole}${part.padEnd(SCALE, "0")}`);
}

/** Return an integer of 10^-digits as decimal text for people. */
function decimalOf(units, digits = SCALE) {
  const size = units < 0n ? -units : units, unit = 10n ** BigInt(digits);
  const fraction = String(size % unit).padStart(digits, "0").replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${size / unit}${fraction && `.${fraction}`}`;
}

/** Return the day of a FIX or ISO time as YYYYMMDD, or "" if there is none. */
const dayOf = (time) => /^[12][0-9]{7}/.exec([...time].slice(0, 10).join("").replace(/[^0-9]/g, ""))?.[0] ?? "";

/** Return a FIX or ISO time in the form of `when`, or "" if it names no second. */
function momentOf(time) {
  const [, y, mo, d, h, m, s] = /^(.{4})(..)(..)(..)(..)(..)/.exec(time.replace(/[^0-9]/g, "")) ?? [];
  return y === undefined ? "" : `${y}-${mo}-${d}T${h}:${m}:${s}Z`;
}

const quoted = (word) => (word.includes("'") && !word.includes('"') ? `"${word}"` : `'${word.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`);

function amount(where, column, word) {
  const value = unitsOf(word);
  if (value === null) throw new Bad(`${where}: ${column} ${quoted([...word].slice(0, 24).join(""))} is not a decimal number`);
  return value;
}

/** Yield the rows of CSV, each with the number of its last line. */
function* csvRows(name, source, delimiter) {
  let row = [], cell = "", state = "start", line = 0, begun = false;
  for (const full of source.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []) {
    line += 1;
    const ends = full.length - full.replace(/[\r\n]+$/, "").length, until = full.length - ends;
    for (let at = 0; at < until; at += 1) {
      const c = full[at];
      begun = true;
      if (state === "quoted") {
        if (c === '"') state = "closing";
        else cell += c;
      } else if (state === "closing" && c === '"') [cell, state] = [`${cell}"`, "quoted"];
      else if (c === delimiter) [cell, state] = [row.push(cell) && "", "start"];
      else if (state === "start" && c === '"') state = "quoted";
      else [cell, state] = [cell + c, "plain"];
      if (cell.length > CELL_MAX) throw new Bad(`${name} line ${line}: field larger than field limit (${CELL_MAX})`);
    }
    if (state === "quoted") {
      cell += full.slice(until);
      continue;
    }
    yield { line, row: begun ? [...row, cell] : [] };
    [row, cell, state, begun] = [[], "", "start", false];
  }
  if (state === "quoted") yield { line, row: [...row, cell] };
}

/** Return our name of a header's cell, or "" for a column that nobody reads. */
function columnOf(cell) {
  const plain = cell.toLowerCase().replace(/[^a-z]/g, "");
  for (const [ours, fix] of COLUMNS) if (plain === ours.replaceAll("_", "") || plain === fix) return ours;
  return "";
}

/** Yield the day and the fill, or null, of each line of a CSV file. */
function* csvFills(name, bytes) {
  let source;
  try {
    source = text(bytes).replace(/^\ufeff/, "");
  } catch {
    throw new Bad(`${name} is not UTF-8`);
  }
  const rows = csvRows(name, source, source.split("\n", 1)[0].includes(";") ? ";" : ",");
  const header = (rows.next().value?.row ?? []).map(columnOf), read = header.filter((column) => column);
  const missing = NEEDED.filter((column) => !header.includes(column));
  if (missing.length) throw new Bad(`${name} line 1: the header lacks ${missing.join(", ")}`);
  if (new Set(read).size < read.length) throw new Bad(`${name} line 1: a column stands twice in the header`);
  for (const { line, row } of rows) {
    if (!row.length) continue;
    if (row.length !== header.length) throw new Bad(`${name} line ${line}: ${row.length} cells, not ${header.length}`);
    const cells = Object.fromEntries(header.map((column, i) => [column, strip(row[i])]).filter(([column]) => column));
    const fill = fillOf(`${name} line ${line}`, line, cells);
    yield [fill.day, fill.event ? fill : null];
  }
}

/** Yield days and fills of a FIX log. */
function* fixFills(name, bytes) {
  const lines = latin1All(bytes).replaceAll("^A", "\x01").split("\n");
  for (const [at, line] of lines.entries()) {
    // eslint-disable-next-line no-control-regex
    for (const message of line.split(/(?<=[\x01|]10=[0-9]{3}[\x01|])(?=8=FIX)/)) {
      const fields = fieldsOf(message), day = dayOf(fields.get("52") ?? ""), event = execTypeOf(fields) || "-";
      if (fields.get("35") !== "8" || !EVENTS.has(event)) {
        yield [day, null];
        continue;
      }
      const cells = Object.fromEntries(Object.entries(TAGS).map(([column, tag]) => [column, fields.get(tag) ?? ""]));
      const fill = fillOf(`${name} line ${at + 1}`, at + 1, { ...cells, exec_type: event });
      yield [day, fill];
      if (fields.get("43") !== "Y") yield [fill.day, null]; // a report sent again may be of any day
    }
  }
}

function latin1All(bytes) {
  let out = "";
  for (let at = 0; at < bytes.length; at += 8192) out += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return out;
}

/** Length field to its data field, which may hold the delimiter. Source: FIX 5.0 SP2, fields of type DATA. */
const DATA_FIELDS = new Map((
  "90:91 93:89 95:96 212:213 348:349 350:351 352:353 354:355 356:357 358:359 360:361 362:363 364:365 445:446 618:619 621:622"
  + " 1184:1185 1277:1278 1280:1281 1282:1283 1397:1398 1401:1402 1403:1404 1468:1469 1525:1527 1578:1579 1620:1621 1664:1665"
  + " 1678:1697 1733:1734 1871:1872 1874:1875 2072:2073 2074:2075 2111:2112 2179:2180 2287:2288 2351:2352 2372:2371 2481:2482"
  + " 2494:2493 2522:2521 2637:2638 2651:2652 2665:2666 2715:2716 2718:2719 2721:2722 2797:2798 2802:2801 2809:2808 2815:2814"
).split(" ").map((pair) => pair.split(":")));
const BEFORE_EXEC_TYPE = new Set(["FIX.4.0", "FIX.4.1", "FIX.4.2"]);
/** ExecTransType (20) as the ExecType (150) that FIX 4.3 put in its place; 0 is new. */
const TRANS_TYPES = new Map(Object.entries({ 1: "H", 2: "G", 3: "I" }));

/** Return a FIX message's fields by tag; the first of a tag counts, and a data field is read by its length. */
const wireFields = (text, mark = "\x01") => firstOfEach(wirePairs(text, mark));

/** Return the first value of each tag. */
const firstOfEach = (pairs) => new Map([...pairs].reverse());

/** Return a FIX message's fields in their order. */
function wirePairs(text, mark = "\x01") {
  const pairs = [];
  for (let place = 0, dataTag = "", length = 0; place <= text.length;) {
    let end = text.indexOf(mark, place);
    if (end < 0) end = text.length;
    const at = text.indexOf("=", place), cut = at >= 0 && at < end, tag = cut ? text.slice(place, at) : "", begin = cut ? at + 1 : place;
    if (tag && tag === dataTag && text[begin + length] === mark) end = Math.max(end, begin + length);
    const value = text.slice(begin, end);
    dataTag = /^[0-9]{1,7}$/.test(value) ? DATA_FIELDS.get(tag) ?? "" : "";
    length = dataTag ? Number(value) : 0;
    if (tag) pairs.push([tag, value]);
    place = end + 1;
  }
  return pairs;
}

/** Return the fields of a line of a FIX log; some logs write | for the delimiter. */
function fieldsOf(message) {
  const start = message.indexOf("8=FIX");
  return start < 0 ? new Map() : wireFields(strip(message.slice(start)), message.includes("\x01") ? "\x01" : "|");
}

/** Return what a report tells: ExecType (150), which FIX 4.2 says in ExecTransType (20). */
const execTypeOf = (fields) => (BEFORE_EXEC_TYPE.has(fields.get("8")) && TRANS_TYPES.get(fields.get("20"))) || (fields.get("150") ?? "");

/** Return one line's fill; a line of another type has the event "". */
function fillOf(where, line, cells) {
  const event = EVENTS.get((cells.exec_type ?? "").toUpperCase()) ?? "", side = SIDES.get(cells.side.toUpperCase());
  if (event && side === undefined) throw new Bad(`${where}: side ${quoted(cells.side)} is neither BUY nor SELL`);
  for (const column of event ? ["exec_id", "instrument"] : []) if (!cells[column]) throw new Bad(`${where}: ${column} is empty`);
  if (["bust", "correction"].includes(event) && !cells.exec_ref_id) throw new Bad(`${where}: a ${event} without exec_ref_id, the ExecID of its trade`);
  const quantity = amount(where, "quantity", cells.quantity || "0");
  if (["trade", "correction"].includes(event) && quantity <= 0n) throw new Bad(`${where}: the quantity of a trade must be positive`);
  return {
    line, clOrdId: cells.cl_ord_id, origClOrdId: cells.orig_cl_ord_id ?? "", execId: cells.exec_id, execRefId: cells.exec_ref_id ?? "",
    event, instrument: cells.instrument, side: side ?? "", quantity, price: amount(where, "price", cells.price || "0"),
    account: cells.account ?? "", day: dayOf(cells.time ?? ""), time: cells.time ?? "", fee: cells.fee ? amount(where, "fee", cells.fee) : null,
    currency: cells.currency ?? "",
  };
}

/** The trades of files that stand after busts and corrections. */
class NetFills {
  fills = new Map(); // by order and first ExecID: the newest line and all its ExecIDs
  #seen = new Map();
  #alias = new Map();

  /** Take one line; a FIX log may have the same report `again`. */
  take(name, fill, again) {
    const order = fill.origClOrdId || fill.clOrdId, key = keyOf(order, fill.execId), once = keyOf(order, fill.execId, fill.event);
    const same = ({ line: _, time: __, ...rest }) => keyOf(...Object.values(rest).map(String), rest.fee === null);
    const before = this.#seen.get(once) ?? [], known = before.some((one) => same(one) === same(fill));
    if (again && known) return;
    if (known || (before.length && fill.event !== "trade")) {
      throw new Bad(`${name} line ${fill.line}: ExecID ${fill.execId} of line ${before[0].line} again`);
    }
    this.#seen.set(once, [...before, fill]);
    if (fill.event === "trade") {
      // a broker that gives two trades one ExecID has traded twice
      this.fills.set(before.length ? keyOf(order, fill.execId, String(before.length + 1)) : key, [fill, [fill.execId]]);
      if (!before.length) this.#alias.set(key, key);
      return;
    }
    const named = keyOf(order, fill.execRefId), first = this.#alias.get(named) ?? named;
    if (fill.event === "correction") {
      this.fills.set(first, [fill, [...(this.fills.get(first)?.[1] ?? [fill.execRefId]), fill.execId]]);
      this.#alias.set(key, first);
    } else {
      this.fills.delete(first); // a trade of an earlier file may be busted in this one
    }
  }
}

/**
 * Return what the broker's files tell: `files` have a name and bytes. Without days given, they are
 * those of the first and the last message or line with a time.
 */
export function readBrokerFiles(files, { first = "", last = "", accounts = [] } = {}) {
  const net = new NetFills(), days = new Set();
  for (const { name, bytes } of files) {
    const isLog = latin1All(bytes).includes("8=FIX");
    for (const [day, fill] of isLog ? fixFills(name, bytes) : csvFills(name, bytes)) {
      if (day) days.add(day);
      if (fill) net.take(name, fill, isLog);
    }
  }
  for (const given of [first, last]) if (given && !/^[12][0-9]{7}$/.test(given)) throw new Bad(`${given} is not a day: write YYYYMMDD`);
  if (!net.fills.size && !days.size && !(first && last)) throw new Bad("the broker's file has no fill and no day: name the days that it covers");
  const told = [...days].sort();
  return { names: files.map(({ name }) => name), fills: [...net.fills.values()], first: first || told[0] || "", last: last || told.at(-1) || "", accounts };
}

/** Return whether a trade of this day and account must be in the broker's file. */
const covers = ({ first, last, accounts }, day, account) => (!first || first <= day) && (!last || day <= last)
  && (!accounts.length || accounts.includes(account));

const lineOf = (fill) => `the broker's line ${fill.line}, fill ${fill.execId} (${fill.side} ${decimalOf(fill.quantity)} ${fill.instrument} at ${decimalOf(fill.price)})`;

// ---- the fills on record against the broker's file --------------------------------------------------
// A ClOrdID is the first 100 bits of its approving record's leaf in base32. Whoever rewrites what was
// decided changes the leaf, and the broker's file has the ClOrdID of the leaf that was.

/** Return the ClOrdID of the order that a record approves. */
function orderName(leaf) {
  let bits = 0n;
  for (const byte of leaf.subarray(0, 13)) bits = (bits << 8n) | BigInt(byte);
  return Array.from({ length: 20 }, (_, i) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number((bits >> BigInt(99 - 5 * i)) & 31n)]).join("");
}

const FIX_SIDES = new Map([["1", "BUY"], ["2", "SELL"], ["5", "SELL"], ["6", "SELL"]]);

/** Return the FIX fields of an announced order by tag, or none if they have another shape. */
function fieldsOfOrder({ fields }) {
  const found = new Map();
  for (const pair of Array.isArray(fields) ? fields : []) {
    if (Array.isArray(pair) && pair.length === 2 && isInteger(pair[0]) && isText(pair[1]) && !found.has(pair[0])) found.set(...pair);
  }
  return found;
}

/** Kinds that only an announced order has. */
const ANNOUNCED = ["order_sent", "order_refused", "order_unknown", "order_reported"];
const SEVERITY = ["ALLOW", "WARN", "THROTTLE", "HOLD", "REJECT", "HALT", "KILL"];

/** Return the action of a verdict, or nothing if it is not the worst of its results. */
function worstOf(verdict) {
  const actions = Array.isArray(verdict?.results) ? verdict.results.map((one) => SEVERITY.indexOf(one?.action)) : [];
  if (!actions.length || actions.includes(-1)) return "";
  const worst = SEVERITY[actions.reduce((one, other) => Math.max(one, other))];
  return verdict.action === worst ? worst : "";
}

/** Orders and the records that they rest on: an approving verdict, then an announcement. */
class Approvals {
  #seen = new Map();
  #open = new Map(); // the approvals that no order used yet
  #names = new Set();
  #agreed = new Map(); // what a person agreed to in a decision

  /** Take one record whose bytes were verified, in order. */
  see(report, { seq, stream, stream_seq: place, kind }, payload, leaf) {
    if (!stream.startsWith("decision/")) return;
    const before = this.#seen.get(stream) ?? 0, name = said(payload.cl_ord_id);
    this.#seen.set(stream, before + 1);
    const code = before === place ? TAMPERED : NOT_CHECKABLE; // an earlier record is not here, or unknown
    if (kind === "verdict_given" && payload.result === "approved") {
      this.#open.set(seq, { home: stream, leaf, reserved: payload.reservation });
      this.#permitted(report, { seq, stream }, payload, code);
    } else if (kind === "approval_given") this.#agreed.set(stream, said(payload.band));
    else if (kind === "order_sending") this.#announce(report, { seq, stream }, payload, code);
    else if (ANNOUNCED.includes(kind) && !this.#names.has(keyOf(stream, name))) report.find(code, `order ${name} was never announced before it`, seq);
  }

  /** Report an approval that its verdict does not permit; a hold needs a person's yes. */
  #permitted(report, { seq, stream }, { verdict, approval }, code) {
    const worst = worstOf(verdict);
    if (!["ALLOW", "WARN", "HOLD"].includes(worst)) report.find(TAMPERED, "approved against its own verdict", seq);
    else if (worst === "HOLD" && said(approval) !== this.#agreed.get(stream)) report.find(code, "approved although held, and nobody agreed to it", seq);
  }

  /** Take an order, after comparing it with the record that approved it; each counts once. */
  #announce(report, { seq, stream }, payload, code) {
    const name = said(payload.cl_ord_id), { approving_seq: number, approving_leaf: stated } = payload, found = this.#open.get(number);
    this.#names.add(keyOf(stream, name));
    if (found?.home !== stream) {
      report.find(code, `order ${name} has no approving record before it`, seq);
      return;
    }
    this.#open.delete(number);
    if (stated !== undefined && stated !== hex(found.leaf)) report.find(TAMPERED, `order ${name} has no approving record before it`, seq);
    else if (stated !== undefined && name !== orderName(found.leaf)) report.find(TAMPERED, `order ${name} is not named by its approving record`, seq);
    const fields = fieldsOfOrder(payload), { reserved } = found;
    const same = isObject(reserved) && fields.get(55) === reserved.instrument && (FIX_SIDES.get(fields.get(54)) ?? "") === reserved.side;
    if (isObject(reserved) && !same) report.find(TAMPERED, `order ${name} is not the one that was approved`, seq);
  }
}

/** Return the day (UTC) of a market time, YYYYMMDD. */
const marketDay = (us) => when((isInteger(us) ? us : 0) / 1e6).slice(0, 10).replaceAll("-", "");

/** Trades that two officers booked or took out (by phone, or resolving a difference), against the broker's own file. */
class Phoned {
  booked = new Map(); // the record's number: its payload
  reliedOn = new Map(); // those that account for a line of the broker's, each with that line
  currency = ""; // of the ledger's orders; empty if no run is shown
  #told = new Map(); // ExecID: another currency that the broker told of its trade
  #resolved = new Map(); // resolutions that name ExecIDs: trade, names, lines and what was taken out

  /** Take a message as it came: what it says in another currency officers had before them. */
  hears(raw) {
    const fields = wireFields(said(raw)), name = fields.get("17"), currency = fields.get("15");
    if (name && currency && currency !== this.currency) this.#told.set(name, currency);
  }

  /** Take a resolution; return whether it names the broker's ExecIDs. `day` and `account` are those of its order, if it is ours. */
  resolves(seq, { trade, terms, account: own = null, market_time_us: us }, day, account) {
    const names = isObject(terms) ? terms.exec_ids : undefined;
    if (!isObject(trade) || !Array.isArray(names) || !names.length) return false;
    const days = [day || marketDay(us), marketDay(us)], accounts = [account, said(own)];
    this.#resolved.set(seq, { trade, names: names.map(said), days, accounts, lines: [], gone: [], met: new Set() });
    return true;
  }

  /** Return whether a resolution took out a booked trade, which the file then lacks. */
  takesOut(execIds, side, quantity) {
    const found = [...this.#resolved.values()].find(({ trade, names }) => execIds.some((name) => names.includes(name)) && ![side, undefined].includes(trade.side));
    if (!found) return false;
    found.gone.push(quantity);
    for (const name of execIds) if (found.names.includes(name)) found.met.add(name);
    return true;
  }

  #resolvesLine(fill) {
    const takes = ([, { trade, names, lines }]) =>
      names.includes(fill.execId) && fill.side === trade.side && !lines.some(({ execId }) => execId === fill.execId); // an ExecID accounts for one line
    const [seq, one] = [...this.#resolved].find(takes) ?? [];
    if (!one) return false;
    one.lines.push(fill);
    one.met.add(fill.execId);
    if (!this.reliedOn.has(seq)) this.reliedOn.set(seq, lineOf(fill));
    return true;
  }

  /** Report resolutions whose trade is not that of the lines which they account for; without a price in a line, both officers signed it. */
  judgeResolved(report, broker) {
    const sum = (all) => all.reduce((one, other) => one + other, 0n);
    const had = new Set(broker.fills.map(([{ execId }]) => execId)); // a reused one is of two trades
    for (const [seq, { trade, names, days, accounts, lines, gone, met }] of this.#resolved) {
      const told = days.every((day) => accounts.some((name) => covers(broker, day, name))), lacking = names.filter((name) => !met.has(name) && !had.has(name));
      if (told && lacking.length) report.find(TAMPERED, `the broker's file lacks fill ${lacking.join(", ")}, which officers resolved`, seq);
      const quantity = unitsOf(said(trade.quantity)) ?? 0n, price = unitsOf(said(trade.price)) ?? 0n, wrong = [];
      const priced = lines.filter((line) => line.price);
      if ((gone.length || lines.length) && (sum(gone) || sum(lines.map((line) => line.quantity))) !== quantity) wrong.push("quantity");
      if (priced.length && (priced.every((line) => line.price > price) || priced.every((line) => line.price < price))) wrong.push("price");
      if (lines.some((line) => line.instrument !== trade.instrument)) wrong.push("instrument");
      if (lines.some((line) => this.#otherMoney(line))) wrong.push("currency");
      if (wrong.length) report.find(TAMPERED, `it resolves ${names.join(" ")} with another ${wrong.join(", ")} than the broker's file has`, seq);
    }
  }

  /** Return whether one names this fill; each counts once. Report what differs. */
  accountsFor(report, fill) {
    for (const [seq, { reference, trade }] of this.booked) {
      if (reference !== fill.execId || this.reliedOn.has(seq)) continue;
      const wrong = ["instrument", "side"].filter((name) => trade[name] !== fill[name]);
      for (const name of ["quantity", "price"]) if (unitsOf(said(trade[name])) !== fill[name]) wrong.push(name);
      if (this.#otherMoney(fill)) wrong.push("currency");
      if (wrong.length) report.find(TAMPERED, `${lineOf(fill)}: the adjustment of record ${seq} has another ${wrong.join(", ")}`);
      this.reliedOn.set(seq, lineOf(fill));
      return true;
    }
    return this.#resolvesLine(fill);
  }

  #otherMoney({ currency, execId }) {
    return this.currency && ![undefined, "", this.currency, this.#told.get(execId)].includes(currency);
  }

  /** Report the trades by phone that the file should have and has not. */
  judgeLacking(report, broker) {
    for (const [seq, { market_time_us: us, sort, account, reference }] of this.booked) {
      const day = marketDay(us);
      if (this.reliedOn.has(seq) || sort !== "trade" || !covers(broker, day, said(account))) continue;
      const name = reference || "without the broker's ExecID (--reference)";
      report.find(TAMPERED, `the broker's file lacks the trade by phone ${name}, booked on ${day}`, seq);
    }
  }
}

/** The orders and trades of a log, or of one decision, compared with the broker's file. */
class Fills {
  phoned = new Phoned();
  #broker;
  #whole; // whether all orders are here; a bundle has those of one decision
  #wanted = new Set();
  #named = new Map(); // a ClOrdID of the broker's: number and stream of the record that it names
  #approved = new Map();
  #lastUs = 0;
  #orders = new Map();
  #booked = new Map();
  #undone = new Set();
  #resolved = new Map();
  #byOfficers = new Map(); // by instrument, what resolutions bought, less what they sold
  #resolutions = new Map(); // the resolutions that account for a fill, each with what it explains

  /** The adjustments and resolutions that account for a fill, each with what it explains. */
  get reliedOn() {
    return new Map([...this.phoned.reliedOn, ...this.#resolutions]);
  }

  constructor(broker, whole = true) {
    [this.#broker, this.#whole] = [broker, whole];
    for (const [{ clOrdId, origClOrdId }] of broker?.fills ?? []) for (const name of [clOrdId, origClOrdId]) if (name) this.#wanted.add(name);
  }

  /** Take one record whose bytes were verified, in order. */
  see(report, header, payload, leaf) {
    if (!this.#broker) return;
    const { seq, stream, kind } = header, name = orderName(leaf);
    this.#lastUs = header.recorded_at_us;
    if (this.#wanted.has(name)) this.#named.set(name, { seq, stream });
    if (kind === "run_started") this.phoned.currency = said((payload.order_profile || {}).currency ?? "");
    else if (kind === "verdict_given" && payload.result === "approved") this.#approved.set(keyOf(stream, seq), payload.reservation ?? {});
    else if (kind === "order_sending") this.#announced(header, payload);
    else if (kind === "replace_requested") this.#raised(header, payload);
    else if (kind === "order_reported") this.#reported(report, header, payload);
    else if (kind === "difference_resolved") this.#byPerson(header, payload);
    else if (kind === "fix_inbound") this.phoned.hears(payload.raw);
    else if (kind === "book_adjusted" && payload.trade) this.phoned.booked.set(seq, payload);
  }

  /** Take an order; `Approvals` compares it with the record that approved it. */
  #announced({ seq, stream }, payload) {
    const name = said(payload.cl_ord_id), reserved = this.#approved.get(keyOf(stream, payload.approving_seq)) ?? {}, fields = fieldsOfOrder(payload);
    const side = FIX_SIDES.get(fields.get(54)) ?? "", instrument = fields.get(55) ?? "";
    this.#orders.set(name, {
      seq, stream, name, instrument, side, quantity: unitsOf(fields.get(38) ?? "") ?? 0n, price: unitsOf(fields.get(44) ?? "") ?? 0n,
      account: fields.get(1) ?? "", own: payload.account ?? "", lots: BigInt(reserved.qty_lots ?? 0), ticks: BigInt(reserved.limit_ticks ?? 0), alarmed: false,
      currency: fields.get(15) ?? "", day: marketDay(payload.market_now_us),
    });
  }

  /** Take the larger quantity that a replace of an order may have. */
  #raised({ stream }, { after }) {
    for (const order of this.#orders.values()) {
      if (order.stream !== stream || BigInt(after.qty_lots) <= order.lots) continue;
      [order.lots, order.quantity] = [BigInt(after.qty_lots), unitsOf(after.quantity) ?? 0n];
    }
  }

  /** Take what a report books, corrects or takes back. */
  #reported(report, { seq, stream }, payload) {
    const { undoes_seq: undoes = null, fill = null } = payload, told = payload.report ?? {}, order = this.#orders.get(said(payload.cl_ord_id));
    if (order && payload.anomaly) order.alarmed = true;
    if (fill === null && undoes === null) return;
    if (order?.stream !== stream) {
      report.find(TAMPERED, `a fill of order ${said(payload.cl_ord_id)}: never announced`, seq);
      return;
    }
    const before = undoes === null ? undefined : this.#booked.get(undoes), names = [...(before?.names ?? []), said(told.exec_id)];
    this.#booked.delete(undoes);
    if (fill === null) {
      for (const name of names) this.#undone.add(keyOf(order.name, name));
      return;
    }
    const booked = {
      seq, order, names, quantity: unitsOf(told.last_qty ?? "") ?? 0n, price: unitsOf(told.last_price ?? "") ?? 0n, lots: BigInt(fill.qty_lots),
      day: before?.day ?? said(payload.trade_date ?? "").slice(0, 8), fee: unitsOf(told.commission ?? ""),
    };
    judgeUnits(report, booked, fill);
    this.#booked.set(undoes ?? seq, booked);
  }

  /** Take a quantity that two officers booked because the broker was right. */
  #byPerson({ seq }, payload) {
    const { adjustment: fill, decision_id: decision, trade } = payload, stream = `decision/${decision}`;
    if (fill && trade) {
      const symbol = said(trade.instrument), more = (unitsOf(said(trade.quantity)) ?? 0n) * (fill.side === "BUY" ? 1n : -1n);
      this.#byOfficers.set(symbol, (this.#byOfficers.get(symbol) ?? 0n) + more);
    }
    const order = [...this.#orders.values()].find((one) => one.stream === stream);
    if (this.phoned.resolves(seq, payload, order?.day ?? "", order?.account ?? "") || !fill || !decision) return;
    const lots = BigInt(fill.qty_lots) * (fill.side === "BUY" ? 1n : -1n);
    this.#resolved.set(stream, [...(this.#resolved.get(stream) ?? []), { seq, lots }]);
  }

  /** Compare both sides; report every fill that does not match, and the sums. */
  finish(report) {
    const broker = this.#broker;
    if (!broker) return;
    const trades = new Map(), matched = new Set(), left = new Map(), names = broker.names.join(", ");
    for (const booked of this.#booked.values()) for (const name of booked.names) trades.set(keyOf(booked.order.name, name), booked);
    let strangers = 0;
    for (const [fill, execs] of broker.fills) {
      const order = this.#orderOf(fill);
      if (!order && !this.#whole && !this.#named.has(fill.clOrdId) && !this.#orders.has(fill.clOrdId)) {
        strangers += 1;
      } else if (!order) {
        if (!this.phoned.accountsFor(report, fill)) report.find(TAMPERED, `${lineOf(fill)}: no record of this ledger approved order ${fill.clOrdId || "-"}`);
      } else {
        const booked = execs.map((name) => trades.get(keyOf(order.name, name))).find((one) => one);
        if (!booked || matched.has(booked.seq)) {
          if (!this.phoned.accountsFor(report, fill)) left.set(order.stream, [...(left.get(order.stream) ?? []), fill]);
        } else {
          matched.add(booked.seq);
          judgePair(report, fill, booked);
        }
      }
    }
    for (const [stream, fills] of left) this.#judgeLeft(report, stream, fills);
    this.#judgeLacking(report, matched);
    this.phoned.judgeLacking(report, broker);
    this.phoned.judgeResolved(report, broker);
    this.#judgeApproved(report);
    this.#saySums(report, matched);
    if (strangers) report.say(`${strangers} fills of the broker's file are of other decisions: not judged`);
    if (!this.#whole && !matched.size && !left.size) report.find(NOT_CHECKABLE, `no fill of ${names} is of this decision`);
    report.say(`${matched.size} fills of ${names} (${broker.first || "the beginning"} to ${broker.last || "the end"}) match their approving records`);
  }

  /** Return the order that a fill's ClOrdID names through a leaf of this log. */
  #orderOf({ clOrdId, origClOrdId }) {
    for (const name of [clOrdId, origClOrdId]) {
      if (this.#orders.has(name)) return this.#orders.get(name);
      const { stream } = this.#named.get(name) ?? {};
      const found = [...this.#orders.values()].find((one) => one.stream === stream); // the name of a later message of that order
      if (found) return found;
    }
    return null;
  }

  /** Judge the fills of an order that the ledger lacks: a person may have booked their sum. */
  #judgeLeft(report, stream, fills) {
    const order = [...this.#orders.values()].find((one) => one.stream === stream), resolved = this.#resolved.get(stream) ?? [];
    const sum = fills.reduce((all, { side, quantity }) => all + (side === "BUY" ? quantity : -quantity), 0n);
    const lots = resolved.reduce((all, one) => all + one.lots, 0n);
    if (resolved.length && sum * order.lots === lots * order.quantity) {
      const words = `${fills.length} fills of ${order.name} are booked by resolution ${resolved.map(({ seq }) => seq).join(", ")}`;
      for (const { seq } of resolved) this.#resolutions.set(seq, words);
      report.say(words);
      return;
    }
    for (const fill of fills) {
      const line = `${lineOf(fill)} of order ${order.name}`;
      if (this.#undone.has(keyOf(order.name, fill.execId))) report.find(TAMPERED, `${line}: the ledger says that the broker took it back`);
      else if (momentOf(fill.time) > when(this.#lastUs / 1e6)) report.find(INCOMPLETE, `${line}: it is later than the last record here`);
      else report.find(TAMPERED, `${line}: the ledger lacks it`);
    }
  }

  /** Report the trades on record that the file should have and has not. */
  #judgeLacking(report, matched) {
    for (const { seq, order, day, names, quantity } of this.#booked.values()) {
      if (matched.has(seq) || ![order.own, order.account].some((account) => covers(this.#broker, day, account))) continue;
      if (this.phoned.takesOut(names, order.side, quantity)) continue;
      report.find(TAMPERED, `the broker's file lacks fill ${names[0]} of order ${order.name}, ${decimalOf(quantity)} ${order.instrument} on ${day}`, seq);
    }
  }

  /** Report orders that were filled beyond what was approved, unless the ledger says so. */
  #judgeApproved(report) {
    const filled = new Map();
    for (const { order, lots } of this.#booked.values()) filled.set(order.name, (filled.get(order.name) ?? 0n) + lots);
    for (const [name, lots] of filled) {
      const order = this.#orders.get(name), words = `order ${name}: ${lots} lots filled, ${order.lots} approved`;
      if (!order.lots || lots <= order.lots) continue;
      if (order.alarmed) report.say(`${words}; the ledger has the alarm`);
      else report.find(TAMPERED, words, order.seq);
    }
  }

  /** Compare the sums per instrument of what both sides have in the file's days. */
  #saySums(report, matched) {
    const broker = this.#broker, theirs = new Map(), ours = new Map();
    for (const [fill] of broker.fills) if (this.#whole || this.#orderOf(fill)) addTo(theirs, fill.instrument, fill);
    for (const booked of this.#booked.values()) {
      const { order, seq, day, quantity, price } = booked;
      if (covers(broker, day, order.own) || matched.has(seq)) addTo(ours, order.instrument, { side: order.side, quantity, price });
    }
    for (const symbol of [...new Set([...theirs.keys(), ...ours.keys(), ...this.#byOfficers.keys()])].sort(compareCodePoints)) {
      const [one, other] = [theirs, ours].map((sums) => sumsText(sums.get(symbol))), more = this.#byOfficers.get(symbol);
      if (more !== undefined) {
        report.say(`${symbol}: the broker's file has ${one}; the ledger has ${other}, and ${decimalOf(more)} of officers' resolutions`);
      } else report.say(one === other ? `${symbol}: ${one}: the broker's file and the ledger agree` : `${symbol}: the broker's file has ${one}; the ledger has ${other}`);
    }
  }
}

function addTo(sums, symbol, { side, quantity, price }) {
  const { fills, bought, sold, value } = sums.get(symbol) ?? { fills: 0, bought: 0n, sold: 0n, value: 0n }, buys = side === "BUY";
  sums.set(symbol, { fills: fills + 1, bought: bought + (buys ? quantity : 0n), sold: sold + (buys ? 0n : quantity), value: value + quantity * price });
}

const sumsText = ({ fills, bought, sold, value } = { fills: 0, bought: 0n, sold: 0n, value: 0n }) =>
  `${fills} fills, ${decimalOf(bought)} bought, ${decimalOf(sold)} sold, worth ${decimalOf(value, 2 * SCALE)}`;

/** Compare a line of the broker's with the trade on record. */
function judgePair(report, fill, { seq, order, quantity, price, fee }) {
  const pairs = [
    ["quantity", decimalOf(fill.quantity), decimalOf(quantity)], ["price", decimalOf(fill.price), decimalOf(price)], ["side", fill.side, order.side],
    ["instrument", fill.instrument, order.instrument], ["account", fill.account || order.account, order.account],
  ];
  if (fill.currency && order.currency) pairs.push(["currency", fill.currency, order.currency]);
  if (fill.fee !== null && fee !== null) pairs.push(["fee", decimalOf(fill.fee), decimalOf(fee)]);
  for (const [name, theirs, ours] of pairs) {
    if (theirs !== ours) report.find(TAMPERED, `${lineOf(fill)} of order ${order.name}: ${name} ${theirs}, on record ${ours}`, seq);
  }
}

/** Require that the booked lots and ticks are those of the report, in the order's own units. */
function judgeUnits(report, { seq, order, quantity, price }, fill) {
  if (order.lots && quantity * order.lots !== BigInt(fill.qty_lots) * order.quantity) {
    report.find(TAMPERED, `${fill.qty_lots} lots are booked for ${decimalOf(quantity)} reported`, seq);
  }
  if (order.ticks && price * order.ticks !== BigInt(fill.price_ticks) * order.price) {
    report.find(TAMPERED, `${fill.price_ticks} ticks are booked for a price of ${decimalOf(price)}`, seq);
  }
  if (fill.instrument !== order.instrument || fill.side !== order.side) {
    report.find(TAMPERED, "a fill is booked for another instrument or side than its order", seq);
  }
}

// ---- what two officers signed -----------------------------------------------------------------------
// Adjustments of a book, overrides, changes of officers, disavowals. The keys come from outside: who
// writes the log could put keys of his own into it.

const OFFICERS = ["compliance", "risk"];
const OFFICER = /^countersign-officer-public (compliance|risk) [a-z][a-z0-9-]{1,31} ([0-9a-f]{64})$/;
const FORM = "countersign statement v2";

/** Return the raw public key of each role from files (name and text), or an empty map without files. */
export function readOfficers(files) {
  const found = new Map();
  for (const { name, source } of files) {
    const [, role, key] = OFFICER.exec(strip(source).replace(BLANKS, " ")) ?? [];
    if (!role) throw new Bad(`${name}: \`countersign officer-key --from\` writes an officer's .pub file`);
    if (found.has(role)) throw new Bad(`${name}: the key of the role ${role} is given twice`);
    found.set(role, unhex(key));
  }
  const lacking = OFFICERS.filter((role) => !found.has(role));
  if (found.size && lacking.length) throw new Bad(`give the key of the role ${lacking[0]} too: two officers sign together`);
  return found;
}

/** Return whether both officers signed; `signatures` is hex by role, of any shape. */
async function bothSigned(statement, signatures, keys) {
  for (const role of OFFICERS) if (!(await oneSigned(statement, isObject(signatures) ? signatures[role] : null, keys.get(role)))) return false;
  return true;
}

/** Return whether a key signed a statement; the signature is hex, of any shape. */
async function oneSigned(statement, given, key) {
  if (!(await hasEd25519())) throw new Unknown(await lacking());
  if (!isText(given) || !key || !/^(?:[ \t-\r]*[0-9a-fA-F]{2})*[ \t-\r]*$/.test(given)) return false;
  const signature = Uint8Array.from(given.match(/[0-9a-fA-F]{2}/g) ?? [], (pair) => parseInt(pair, 16));
  try {
    const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signature, utf8(statement));
  } catch {
    return false; // the key is not a point on the curve
  }
}

/** Return JSON as Python's json.dumps writes it with sorted keys: blanks, and ASCII only. */
function spacedJson(value) {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (isObject(value)) return `{${Object.keys(value).sort(compareCodePoints).map((key) => `${spacedJson(key)}: ${spacedJson(value[key])}`).join(", ")}}`;
  return JSON.stringify(value).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Baskets: their legs are on record, and no order left before the whole was approved (see the Python verifier). */
class Baskets {
  #received = new Map();
  #decided = new Map();
  #twice = [];
  #named = new Map(); // a leg's stream: the basket that names it
  #legs = new Map();

  see(header, payload) {
    const { seq, kind, stream, stream_seq: place } = header;
    if (["basket_received", "basket_decided"].includes(kind)) {
      this.#whole(kind, seq, payload);
    } else if (kind === "intent_received" && ("basket_id" in payload || this.#named.has(stream))) {
      const basket = "basket_id" in payload ? said(payload.basket_id) : null;
      const leg = { seq, basket, request: payload.request ?? null, verdicts: new Map(), awaited: place + 1, gap: place > 0, sent: null };
      if (!this.#legs.has(stream)) this.#legs.set(stream, leg);
    } else if (this.#legs.has(stream)) {
      followLeg(this.#legs.get(stream), header, payload);
    }
  }

  /** Take a record of a basket as a whole; each basket has one of each kind. */
  #whole(kind, seq, payload) {
    const name = said(payload.basket_id), known = kind === "basket_received" ? this.#received : this.#decided;
    if (known.has(name)) this.#twice.push({ seq, text: `is a second ${kind} of basket ${name}` });
    else known.set(name, { seq, payload });
    if (kind !== "basket_received") return;
    for (const leg of textsOf(payload.legs)) if (!this.#named.has(`decision/${leg}`)) this.#named.set(`decision/${leg}`, name);
  }

  /** Judge what was seen; what a part of a log does not show is not judged. */
  async finish(report, whole, bundle = false) {
    for (const { seq, text } of this.#twice) report.find(TAMPERED, text, seq);
    for await (const [missing, text, seq] of this.#faults(whole)) {
      if (!missing || whole) report.find(TAMPERED, text, seq);
      else if (bundle) report.find(INCOMPLETE, text, seq);
    }
    if (whole && this.#received.size) {
      const approved = [...this.#decided.values()].filter(({ payload }) => payload.outcome === "approved").length;
      report.say(`${approved} of ${this.#received.size} baskets were approved as a whole`);
    }
  }

  /** Yield findings: whether it is about what is missing, the text, and the record's number. */
  async * #faults(whole) {
    for (const [stream, leg] of this.#legs) yield* this.#ofLeg(stream, leg);
    for (const [name, { seq, payload }] of this.#received) yield* this.#ofReceived(name, seq, payload, whole);
    for (const [name, { seq, payload }] of this.#decided) yield* this.#ofDecided(name, seq, payload, whole);
  }

  /** Yield what a leg's intent and order contradict. */
  * #ofLeg(stream, { seq, basket: name, sent }) {
    const named = this.#named.get(stream) ?? null;
    if (name !== null && !(this.#received.get(name)?.seq < seq)) yield [true, `is a leg of basket ${name}, which is not on record before it`, seq];
    else if (name !== null && named !== name) yield [false, `is a leg of basket ${name}, which does not name it`, seq];
    if (named !== null && named !== name) yield [false, `is named as a leg by basket ${named}, and does not say so`, seq];
    if (sent === null) return;
    for (const one of new Set([name, named].filter(Boolean))) {
      const decided = this.#decided.get(one);
      if (!decided) {
        yield [true, `an order of basket ${one} left without its outcome`, sent];
        continue;
      }
      const outcome = said(decided.payload.outcome);
      if (outcome !== "approved") yield [false, `an order of basket ${one} left, which was ${outcome}`, sent];
      else if (decided.seq > sent) yield [false, `an order of basket ${one} left before the whole was decided`, sent];
    }
  }

  /** Yield what a basket names that its legs do not have. */
  async * #ofReceived(name, seq, payload, whole) {
    const names = textsOf(payload.legs), legs = names.map((one) => this.#legs.get(`decision/${one}`));
    if (!names.length || new Set(names).size !== names.length) yield [false, `basket ${name} does not name each of its legs once`, seq];
    for (const [at, one] of names.entries()) {
      if (whole && !legs[at]) yield [true, `basket ${name} names the leg ${one}, which is not on record after it`, seq];
    }
    if (legs.every(Boolean) && hex(await sha256(utf8(canonical(legs.map(({ request }) => request))))) !== payload.digest) {
      yield [false, `the digest of basket ${name} is not that of its legs' requests`, seq];
    }
  }

  /** Yield what an outcome says that the basket and the legs' verdicts do not. */
  * #ofDecided(name, seq, payload, whole) {
    const outcome = said(payload.outcome), legs = (Array.isArray(payload.legs) ? payload.legs : []).map((row) => (isObject(row) ? row : {}));
    const asked = this.#received.get(name);
    if (!(asked?.seq < seq)) yield [true, `is the outcome of basket ${name}, which is not on record before it`, seq];
    else if (payload.received_seq !== asked.seq) yield [false, `is the outcome of basket ${name}, and names another record of it`, seq];
    const names = legs.map((leg) => leg.decision_id ?? null), results = legs.map((leg) => said(leg.result));
    if (asked && canonical(names) !== canonical(asked.payload.legs ?? null)) yield [false, `the outcome of basket ${name} names other legs than the basket`, seq];
    if (!allowedOutcome(outcome, results)) yield [false, `basket ${name} is ${outcome}, its legs are ${results.join(", ")}`, seq];
    for (const leg of legs) {
      const shown = this.#legs.get(`decision/${said(leg.decision_id)}`);
      if (shown && !shown.gap) {
        for (const text of rowFaults(seq, leg, shown, outcome === "stopped")) yield [false, `the outcome of basket ${name} ${text}`, seq];
      } else if (whole && !shown) {
        yield [true, `basket ${name} was decided with the leg ${said(leg.decision_id)}, which is not on record`, seq];
      }
    }
  }
}

/** Take the next record of a leg's decision. */
function followLeg(leg, { seq, kind, stream_seq: place }, payload) {
  leg.gap ||= place !== leg.awaited;
  leg.awaited = place + 1;
  if (kind === "verdict_given") leg.verdicts.set(seq, said(payload.result));
  else if (["order_sending", "order_sent"].includes(kind)) leg.sent ??= seq;
}

/** Return whether an outcome is possible with these results of the legs. */
function allowedOutcome(outcome, results) {
  if (outcome === "approved") return results.includes("approved") && results.every((one) => ["approved", "no_trade"].includes(one));
  return outcome !== "no_trade" || (results.length > 0 && results.every((one) => one === "no_trade"));
}

/** Yield what an outcome says of one leg that the leg's verdicts do not. */
function* rowFaults(seq, row, leg, stopped) {
  const decision = said(row.decision_id), result = said(row.result), number = row.verdict_seq;
  const before = new Map([...leg.verdicts].filter(([at]) => at < seq));
  if (isInteger(number)) {
    if (before.get(number) !== result) yield `says ${result} of leg ${decision} by record ${number}: no such verdict before it`;
  } else if (["approved", "held"].includes(result) || "verdict_seq" in row || (before.size && !stopped)) {
    yield `says ${result} of leg ${decision} and does not name its verdict`;
  }
}

/** Return a list of texts; none if it has another shape. */
const textsOf = (value) => (Array.isArray(value) && value.every(isText) ? value : []);

/** Policies that followed another, and the trials that their signatures name (see the Python verifier). */
class PolicySuccessions {
  #modes = new Map();
  #tried = new Set();
  #before = "";
  #dev = true;
  #count = 0;
  #sound = 0;
  #missing = [];

  see({ seq, kind }, payload) {
    if (kind === "run_started") this.#modes.set(said(payload.run_id), payload.mode);
    else if (kind === "policy_tried") this.#tried.add(keyOf(said(payload.trial_blob), said(payload.policy_digest), said(payload.follows_digest)));
    else if (kind === "policy_activated") this.#activated(seq, payload);
  }

  #activated(seq, payload) {
    const digest = said(payload.policy_digest), before = this.#before;
    if (before !== "" && before !== digest && !this.#dev) {
      this.#count += 1;
      const given = Array.isArray(payload.signatures) ? payload.signatures.filter(isObject) : [];
      const named = new Set(given.map((one) => one.trial === undefined ? "" : said(one.trial)));
      const trial = named.size === 1 ? [...named][0] : "";
      if (trial && this.#tried.has(keyOf(trial, digest, before))) this.#sound += 1;
      else if (trial && this.#modes.get(said(payload.run_id)) !== "paper") this.#missing.push(seq);
    }
    [this.#before, this.#dev] = [digest, payload.dev === true];
  }

  /** Say how many policies followed a trial; find those whose trial the log has not. */
  finish(report, whole) {
    if (this.#count) report.say(`${this.#sound} of ${this.#count} policies that followed another: both signatures name a trial on record before`);
    for (const seq of whole ? this.#missing : []) report.find(TAMPERED, "its officers signed a trial that no earlier record has", seq);
  }
}

/** The rules whose limits are the firm's own numbers; nothing else can be lifted. */
const LIFTABLE = new Set(["R03", "R04", "R05", "R06", "R07", "R08", "R09", "R10", "R11", "R12", "R13", "R15", "R20", "R21", "R22", "R23", "R27", "R28", "R35", "R46", "R52"]);
/** Checks of those rules that follow from how the instrument trades: not lifted either. */
const OF_THE_INSTRUMENT = new Set(["R03 minimum", "R03 step"]);
const OVERRIDE_TERMS = ["override_id", "account", "instrument", "side", "rule_id", "check", "qty_max_lots", "notional_max_minor", "policy_digest", "not_before_us", "expires_us"];

/** Return the statement that both officers sign, from the fields of `override_granted`. */
function overrideLines(logId, payload) {
  const of = (name) => said(payload[name]);
  const lines = [
    `override ${of("override_id")}`, `account ${of("account")}`, `instrument ${of("instrument")}`, `side ${of("side")}`,
    `limit ${of("rule_id")} ${of("check")}`, `at most ${of("qty_max_lots")} lots`, `at most ${of("notional_max_minor")} minor units`,
    `policy ${of("policy_digest")}`, `from ${of("not_before_us")}`, `until ${of("expires_us")}`, `reason ${of("reason")}`,
  ];
  return `${FORM}\nexceptional override\n${logId}\n${lines.map((line) => `${line}\n`).join("")}`;
}

/** Yield what of a verdict's order is not what was signed, or more of it. */
function* beyond(payload, granted) {
  const [intent, reserved] = [payload.intent, payload.reservation].map((one) => (isObject(one) ? one : {}));
  const differs = (one, other) => canonical(one ?? null) !== canonical(other ?? null);
  for (const name of ["account", "instrument", "side"]) if (differs(intent[name], granted[name])) yield `another ${name} than was signed`;
  if (differs(payload.policy_digest, granted.policy_digest)) yield "another policy than was signed";
  const { qty_lots: lots, limit_ticks: ticks } = intent;
  if (!within(granted.qty_max_lots, lots)) yield "more lots than were signed";
  if (!["approved", "held"].includes(payload.result)) return; // it lets nothing leave
  if (["instrument", "side", "qty_lots", "limit_ticks"].some((name) => differs(intent[name], reserved[name]))) yield "another order than it reserves";
  else if (!within(granted.notional_max_minor, lots, ticks, reserved.unit_minor)) yield "a larger worth than was signed";
}

/** Return whether a product of positive whole numbers is at most a limit. */
function within(limit, ...factors) {
  if (!factors.every((one) => isInteger(one) && one > 0)) return false;
  return isInteger(limit) && factors.reduce((worth, one) => worth * BigInt(one), 1n) <= BigInt(limit);
}

/** Return rule and check of each result that an override lifted. */
function overridden(payload) {
  const results = isObject(payload.verdict) ? payload.verdict.results : null;
  const found = (Array.isArray(results) ? results : []).filter((one) => isObject(one) && one.reason === "OVERRIDDEN");
  return found.map((one) => [said(one.rule_id), said(one.check)]);
}

/** Overrides and the verdicts that used them; give it every record, then call `finish`. */
class Lifted {
  #granted = new Map();
  #ended = new Map();
  #used = [];

  see({ seq, kind }, payload) {
    const id = said(payload.override_id);
    if (kind === "override_granted") {
      this.#granted.set(id, { seq, payload });
    } else if (kind === "override_ended") {
      this.#ended.set(id, seq);
    } else if (kind === "verdict_given") {
      const used = isObject(payload.state) ? payload.state.override : null;
      if (isObject(used) || overridden(payload).length) this.#used.push({ seq, payload, used: isObject(used) ? used : {} });
    }
  }

  /** Judge what was seen; `logId` is empty in a bundle, `spans` has the officers' keys. */
  async finish(report, logId, spans) {
    for (const { seq, payload } of this.#granted.values()) {
      await this.#judgeSigned(report, seq, payload, logId, spans.find(({ since }) => since < seq)?.keys);
    }
    const by = new Map();
    for (const { seq, payload, used } of this.#used) {
      if (!isText(used.override_id ?? "") || used.override_id === null) report.find(TAMPERED, "uses an override whose override_id is not a text", seq);
      const grant = this.#granted.get(said(used.override_id));
      if (grant && grant.seq < seq) {
        for (const text of this.#faults(seq, payload, used, by)) report.find(TAMPERED, text, seq);
      } else if (logId) {
        report.find(TAMPERED, "uses an override that is not on record before it", seq);
      }
      for (const [rule, check] of overridden(payload)) {
        if (!LIFTABLE.has(rule) || OF_THE_INSTRUMENT.has(`${rule} ${check}`)) report.find(TAMPERED, `lifts ${rule} ${check}, which nothing may lift`, seq);
        if (rule !== used.rule_id || check !== used.check) {
          report.find(TAMPERED, `lifts ${rule} ${check}, and its override names another limit`, seq);
        }
      }
    }
  }

  /** Report an override that its two officers did not sign in this log. */
  async #judgeSigned(report, seq, payload, logId, keys) {
    const limit = `${said(payload.rule_id)} ${said(payload.check)}`;
    if (!keys?.size) {
      report.say(`record ${seq} lifts ${limit} once; give --officer to check both signatures`);
      return;
    }
    const named = said(payload.log_id), sound = await bothSigned(overrideLines(named, payload), payload.signatures, keys);
    if (sound && ["", named].includes(logId)) report.say(`record ${seq} lifts ${limit} once: both officers signed`);
    else if (logId) report.find(TAMPERED, "an override that its two officers did not sign", seq);
    else report.find(NOT_CHECKABLE, "an override that the officers given did not sign", seq);
  }

  /** Return what is wrong with the use of an override on record. */
  #faults(seq, payload, used, by) {
    const name = said(used.override_id), decision = said(payload.decision_id), texts = [];
    const granted = this.#granted.get(name).payload;
    if (OVERRIDE_TERMS.some((term) => canonical(granted[term] ?? null) !== canonical(used[term] ?? null))) {
      texts.push(`uses override ${name} in other words than were signed`);
    }
    if (!by.has(name)) by.set(name, decision);
    if (by.get(name) !== decision) texts.push(`uses override ${name}, which decision ${by.get(name)} had used`);
    if (this.#ended.has(name) && this.#ended.get(name) < seq) texts.push(`uses override ${name} after its end on record`);
    const at = isObject(payload.policy_status) ? payload.policy_status.checked_at_us : null;
    const times = [used.not_before_us, at, used.expires_us];
    if (!times.every((one) => typeof one === "number") || !(times[0] <= at && at < times[2])) {
      texts.push(`uses override ${name} outside of its time`);
    }
    return [...texts, ...[...beyond(payload, granted)].map((text) => `uses override ${name} for ${text}`)];
  }
}

/** Statements of two officers in a log; give it every record with `see`, then call `finish`. */
class OfficersWord {
  #officers; // raw public keys by role, the newest of each; empty judges no signature
  #log = "";
  #first = "";
  #adjusted = [];
  #changed = [];
  #disavowed = [];
  #lifted = new Lifted();

  constructor(officers) {
    this.#officers = officers;
  }

  see({ log, seq, kind }, payload, leaf) {
    this.#log = log;
    if (seq === 0) this.#first = hex(leaf);
    this.#lifted.see({ seq, kind }, payload);
    if (kind === "book_adjusted") this.#adjusted.push({ seq, payload });
    else if (kind === "officer_key_changed") this.#changed.push({ seq, payload });
    else if (kind === "record_disavowed") this.#disavowed.push({ seq, payload });
  }

  /** Judge what was signed; `reliedOn` has the records that account for a fill. Return the officers' keys over time. */
  async finish(report, reliedOn) {
    const gone = await this.#sayDisavowed(report);
    for (const seq of [...reliedOn.keys()].filter((one) => gone.has(one)).sort((a, b) => a - b)) {
      report.find(TAMPERED, `${reliedOn.get(seq)} rests on record ${seq}, which is disavowed`);
    }
    const logId = this.#first && `${this.#log}#${this.#first}`;
    const spans = this.#officers.size ? await this.#spans(report, logId) : [];
    await this.#lifted.finish(report, logId, spans);
    if (!this.#officers.size) {
      for (const [seq, line] of reliedOn) report.find(NOT_CHECKABLE, `${line} rests on record ${seq}: give both officers' keys with --officer`);
      return spans;
    }
    let sound = 0;
    for (const { seq, payload } of this.#adjusted) {
      const keys = spans.find(({ since }) => since < seq)?.keys;
      if (!gone.has(seq) && keys && (await this.#judge(report, seq, payload, keys))) sound += 1;
    }
    if (this.#adjusted.length) report.say(`${sound} of ${this.#adjusted.length} adjustments: both officers signed`);
    return spans;
  }

  /** Report an adjustment that the officers did not sign; `Statements` judges what it does. */
  async #judge(report, seq, payload, keys) {
    const terms = isObject(payload.terms) ? payload.terms : {};
    const lines = [
      FORM, "book adjustment", `${this.#log}#${this.#first}`, `ref ${said(payload.ref)}`, `sort ${said(payload.sort)}`,
      `account ${terms.account || "-"}`, `terms ${spacedJson(terms)}`,
    ];
    if (!(await bothSigned(lines.map((line) => `${line}\n`).join(""), payload.signatures, keys))) {
      report.find(TAMPERED, "an adjustment that its two officers did not sign", seq);
      return false;
    }
    return true;
  }

  /** Return the officers' keys with the record after which they count, newest first. */
  async #spans(report, logId) {
    const keys = new Map(this.#officers), spans = [];
    for (const [number, { seq, payload }] of [...this.#changed.entries()].reverse()) {
      const [role, before, after, name] = ["role", "before", "after", "name"].map((one) => said(payload[one]));
      if ((keys.has(role) ? hex(keys.get(role)) : "") !== after) {
        report.find(NOT_CHECKABLE, `record ${seq} has another key of the role ${role} than the one given`);
        return spans;
      }
      spans.push({ since: seq, keys: new Map(keys) });
      const statement = `${FORM}\nofficer key\n${logId}\nchange ${number}\nrole ${role}\nbefore ${before}\nafter ${after}\nname ${name}\n`;
      keys.set(role, unhex(before));
      if (!(await bothSigned(statement, payload.signatures, keys))) {
        report.find(TAMPERED, "changes an officer's key without both signatures", seq);
        return spans;
      }
    }
    return [...spans, { since: -1, keys }];
  }

  /** Say which records two officers disavowed; return those whose disavowal is proven. */
  async #sayDisavowed(report) {
    const gone = new Set();
    for (const { seq, payload } of this.#disavowed) {
      const { seq: named, leaf, of_stream: stream, signatures } = payload;
      const statement = `${FORM}\nrow disavowal\n${this.#log}\nrecord ${said(named)}\nleaf ${said(leaf)}\n`;
      const words = `record ${said(named)} (${said(stream)}) is disavowed by record ${seq}`;
      if (!this.#officers.size) {
        report.say(`${words}; give --officer to check both signatures`);
      } else if (await bothSigned(statement, signatures, this.#officers)) {
        gone.add(named ?? 0);
        report.say(`${words}: both officers signed that the gateway did not write it`);
      } else {
        report.say(`${words}, without both officers' signatures: it counts for nothing`);
      }
    }
    return gone;
  }
}

// ---- the statements ---------------------------------------------------------------------------------
// What must be true of records, by which other records, signed by whom. The table is written here by
// `make verifier`; each statement that no class of its own judges has one function in JUDGES.

//STATEMENTS-BEGIN written by `make verifier`
const STATEMENTS = {
  run: ["*", "decision", "forecast", "paths_joined"],
  decision: ["decision", "order_allocated"],
  forecast: ["forecast_failed", "forecast_made", "forecast_requested", "forecast_sealed", "forecast_taken", "gjr_made", "intent_proposed", "mode_chosen", "news_twin_made", "placebo_made", "rounds_captured", "snapshot_taken", "tokens_drawn"],
  index: ["*", "forecast_listed", "forecast_taken"],
  joint: ["gjr_judged", "intent_proposed", "paths_joined", "placebo_judged", "verdict_given"],
  intent: ["intent_proposed"],
  verdict: ["verdict_given"],
  hold: ["approval_given", "approval_refused", "approval_requested", "verdict_given"],
  order: ["order_sending"],
  wire: ["fix_inbound", "order_sent", "replace_sent"],
  replace: ["replace_ended", "replace_requested", "replace_sent"],
  fill: ["order_reported"],
  policy: ["policy_activated", "policy_announced", "policy_tried"],
  mode: ["mode_entered"],
  release: ["kill_released"],
  resume: ["stop_ended"],
  promotion: ["model_promoted"],
  criteria: ["fairness_agreed"],
  justification: ["justification_entered"],
  signed: ["justification_ended", "justification_entered", "publication_ended"],
  ended: ["justification_ended", "publication_ended"],
  difference: ["difference_resolved"],
  adjustment: ["book_adjusted"],
};
const CHECKS = new Map([
  ["R00", ["clock_behind", "intent_readable", "policy", "policy_readable", "state_readable", "subject"]],
  ["R01", ["epoch", "latch"]],
  ["R02", ["side", "strategy"]],
  ["R03", ["maximum", "minimum", "step"]],
  ["R04", ["notional"]],
  ["R05", ["collar"]],
  ["R06", ["position", "short"]],
  ["R07", ["gross"]],
  ["R08", ["net"]],
  ["R09", ["leverage"]],
  ["R10", ["instrument", "sector"]],
  ["R11", ["day_loss"]],
  ["R12", ["drawdown"]],
  ["R13", ["bucket", "reserve"]],
  ["R14", ["orders"]],
  ["R15", ["day_share", "order_share", "reference_age"]],
  ["R16", ["intent", "order"]],
  ["R17", ["own_orders"]],
  ["R18", ["listed"]],
  ["R19", ["age", "short"]],
  ["R20", ["quantity", "value"]],
  ["R21", ["basket"]],
  ["R22", ["line"]],
  ["R23", ["margin"]],
  ["R24", ["gap", "phase", "quote_age", "quote_ahead", "spread"]],
  ["R25", ["forecast_age", "forecast_ahead", "narrative_age", "narrative_ahead"]],
  ["R26", ["direction", "interval", "paths"]],
  ["R27", ["bars_age", "bars_ahead", "move", "usual"]],
  ["R28", ["fall", "stressed"]],
  ["R30", ["evidence", "shift"]],
  ["R31", ["notional"]],
  ["R32", ["bursts"]],
  ["R33", ["day", "second"]],
  ["R34", ["orders", "share"]],
  ["R35", ["day", "window"]],
  ["R36", ["second"]],
  ["R37", ["withdrawn"]],
  ["R38", ["levels"]],
  ["R40", ["move"]],
  ["R42", ["matches"]],
  ["R43", ["share"]],
  ["R45", ["presence", "sizes", "spread"]],
  ["R46", ["agreement", "model_share"]],
  ["R49", ["acts"]],
  ["R50", ["clock_step", "disk_free", "look_age"]],
  ["R51", ["differences"]],
  ["R52", ["paths", "paths_age", "shortfall", "trip_chance"]],
  ["R53", ["growing", "ladder", "quoted"]],
]);
const SIGNED_KINDS = {
  justification_entered: ["", "log_id", "fairness justification", "ref {ref}", "terms {terms:json}"],
  justification_ended: ["justification_entered", "", "justification end", "record {of_seq} {of_leaf}", "reason {reason:json}"],
  publication_ended: ["publication_noted", "", "publication end", "record {of_seq} {of_leaf}", "reason {reason:json}"],
};
//STATEMENTS-END

const idsOf = (kind) => Object.keys(STATEMENTS).filter((name) => STATEMENTS[name].includes(kind));
const LIMIT_ORDER = "2", TIMES_IN_FORCE = new Map([["DAY", "0"], ["GTC", "1"], ["IOC", "3"], ["FOK", "4"]]);
const LARGE = /^-?[1-9][0-9]{15,38}$/;
const objectIn = (value) => (isObject(value) ? value : {});
const listIn = (value) => (Array.isArray(value) ? value : []);
const isGiven = (value) => value !== undefined && value !== null && value !== "";
const numberOr = (value, other = -1) => (isInteger(value) ? value : other);
const same = (one, other) => canonical(one ?? null) === canonical(other ?? null);
const wholeOf = (value) => (isInteger(value) || (isText(value) && LARGE.test(value)) ? BigInt(value) : null);
const taggedDigest = async (tag, document) => hex(await sha256(utf8(`${tag}\n${canonical(document)}`)));
const sideOf = (fields) => FIX_SIDES.get(said(fields.get(54))) ?? "";

/** Return the rules that hold an order for a person, sorted. */
function heldBy(verdict) {
  const rows = listIn(verdict.results).map(objectIn).filter((row) => row.action === "HOLD");
  return [...new Set(rows.map((row) => said(row.rule_id)))].sort(compareCodePoints);
}

/** Yield each field of a record that has another value than its reference. */
function* differing(stated, wanted, words) {
  for (const [name, value] of wanted) if (!same(stated[name], value)) yield `its ${name} is not ${words}`;
}

const newDecision = () => ({ records: 0, gap: false, account: null, request: {}, author: null, taken: null, proposed: null, paths: null, verdicts: new Map(), agreed: null, order: null });

/** The lines of an index from which on a forecast stands; a line, and the records that have one right after them. */
const STANDS = ["made", "again"], LISTED = ["snapshot_taken", "forecast_sealed", "forecast_listed"];
const newIndex = () => ({ records: 0, gap: false, lines: [], made: new Map(), again: new Map() });
const newSeed = () => new Uint8Array(0);
/** Return id and attempt of the forecast that stood before a record, by an index's lines; null if none did. */
const stoodIn = ({ lines }, before = Infinity) => lines.findLast(([seq]) => seq < before)?.slice(1) ?? null;
const newAttempt = (gap = false) => ({ records: 0, gap, inputs: null, requested: false, seed: newSeed(), made: null, source: null, failed: null, outcome: "" });

/** The fields of an ExecutionReport that a record of it repeats. */
const REPORT_TAGS = new Map(Object.entries({
  order_id: "37", cl_ord_id: "11", orig_cl_ord_id: "41", exec_id: "17", exec_type: "150", ord_status: "39",
  last_qty: "32", last_price: "31", leaves_qty: "151", cum_qty: "14", average_price: "6", exec_ref_id: "19",
}));
/** The tags that no group of a report has: two values of one contradict each other. */
const SOLE = [11, 14, 15, 17, 19, 20, 31, 32, 37, 39, 41, 54, 55, 120, 150, 151].map(String);
const FEE_BASES = {
  12: new Map([["", "absolute"], ["3", "absolute"], ["1", "unit"], ["2", "percent"]]),
  137: new Map([["", "absolute"], ["0", "absolute"], ["1", "unit"], ["2", "percent"]]),
};
const FEE_MEMBERS = ["137", "138", "139", "891"], FEES_MAX_MINOR = 10n ** 14n;

/** Return what is kept of a record of an inbound message; `fees` is null for one that is cut. */
function messageOf(body) {
  const raw = said(body.raw), isCut = raw.length === RAW_MAX; // of a longer message the last field may be cut too
  const pairs = wirePairs(isCut ? raw.slice(0, Math.max(0, raw.lastIndexOf("\x01"))) : raw), fields = firstOfEach(pairs), told = execTypeOf(fields);
  if (told) fields.set("150", told);
  const commission = commissionOf(pairs), valuesOf = (one) => new Set(pairs.filter(([tag]) => tag === one).map(([, value]) => value));
  return {
    report: [...REPORT_TAGS].filter(([, tag]) => !isCut || fields.has(tag)).map(([name, tag]) => [name, fields.get(tag) ?? ""]),
    order: new Map(["15", "54", "55", "120"].map((tag) => [tag, fields.get(tag) ?? ""])), doubled: SOLE.filter((tag) => valuesOf(tag).size > 1),
    commission: commission.find(({ basis }) => basis === "absolute")?.amount ?? "", fees: isCut ? null : [...commission, ...miscFeesOf(pairs)],
  };
}

/** Return the commission that a message states, if any. */
function commissionOf(pairs) {
  const [amounts, kinds, moneys] = ["12", "13", "479"].map((one) => [...new Set(pairs.filter(([tag]) => tag === one).map(([, value]) => value))]);
  if (!amounts.length && !kinds.length && !moneys.length) return [];
  const isSole = [amounts, kinds, moneys].every((values) => values.length <= 1);
  return [{ amount: (isSole && amounts[0]) || "", basis: FEE_BASES[12].get(kinds.join(" ")) ?? "", money: moneys.join(" ") }];
}

/** Return each entry of NoMiscFees; none is understood in a group that is not whole. */
function miscFeesOf(pairs) {
  const counts = new Set(pairs.filter(([tag]) => tag === "136").map(([, value]) => value)), entries = [];
  const places = [...pairs.keys()].filter((place) => FEE_MEMBERS.includes(pairs[place][0]));
  for (const [tag, value] of places.map((place) => pairs[place])) {
    if (!entries.length || tag === pairs[places[0]][0] || entries.at(-1).has(tag)) entries.push(new Map());
    entries.at(-1).set(tag, value);
  }
  if (!entries.length) return [...counts].every((count) => count === "0") ? [] : [{ amount: "", basis: "", money: "" }];
  const together = places.at(-1) - places[0] + 1 === places.length, isCounted = counts.size === 1 && counts.has(String(entries.length));
  const sound = together && isCounted && pairs.at(places[0] - 1)[0] === "136";
  return entries.map((entry) => ({
    amount: entry.get("137") ?? "", money: entry.get("138") ?? "",
    basis: !sound || entry.get("139") === "8" ? "" : FEE_BASES[137].get(entry.get("891") ?? "") ?? "", // 139=8 is a markup
  }));
}

/** Return the sum of the fees that are understood, in minor units. */
function feeMinorOf(fees, { currency, digits, quantity, price, multiplier }) {
  let total = 0n;
  for (const { amount, basis, money } of fees) {
    const units = unitsOf(amount), one = 10n ** BigInt(SCALE);
    if (!units || !basis || !["", currency].includes(money)) continue;
    const all = units * (basis === "percent" ? quantity * price * multiplier : 10n ** digits * (basis === "unit" ? quantity : 1n));
    if (all % one === 0n) total += all / one;
  }
  return total > FEES_MAX_MINOR || total < -FEES_MAX_MINOR ? 0 : Number(total);
}

/** How many lots each account holds; one traded before a split and taken back after it is not known. */
class Positions {
  #lots = new Map();
  #trades = new Map(); // the number of the record that booked it: place, lots and the splits before it
  #splits = new Map();
  #unknown = new Set();

  /** Return the lots of a position, negative if short; null if they are not known. */
  lots(account, instrument) {
    const place = keyOf(said(account), said(instrument));
    return this.#unknown.has(place) ? null : this.#lots.get(place) ?? 0n;
  }

  /** Fold a record. */
  take({ seq, kind, body }) {
    const account = said(body.account);
    if (kind === "order_reported") {
      const number = isInteger(body.undoes_seq) ? body.undoes_seq : seq, [place, lots] = tradedAt(account, body.fill);
      this.#undo(number);
      if (!lots) return;
      this.#trades.set(number, [place, lots, this.#splits.get(place) ?? 0]);
      this.#add(place, lots);
    } else if (kind === "difference_resolved") this.#add(...tradedAt(account, body.adjustment));
    else if (kind === "book_adjusted") {
      for (const [name, more] of Object.entries(objectIn(body.lots))) this.#add(keyOf(account, name), isInteger(more) ? BigInt(more) : 0n);
      const place = keyOf(account, said(body.instrument));
      if (body.sort === "split") this.#splits.set(place, (this.#splits.get(place) ?? 0) + 1);
    }
  }

  #undo(number) {
    const [place, lots, splits] = this.#trades.get(number) ?? ["", 0n, 0];
    this.#trades.delete(number);
    if (splits !== (this.#splits.get(place) ?? 0)) this.#unknown.add(place);
    this.#add(place, -lots);
  }

  #add(place, lots) {
    this.#lots.set(place, (this.#lots.get(place) ?? 0n) + lots);
  }
}

function tradedAt(account, fill) {
  const { instrument = null, side, qty_lots: booked } = objectIn(fill), lots = isInteger(booked) ? BigInt(booked) : 0n;
  return [keyOf(account, said(instrument)), side === "BUY" ? lots : -lots];
}

/** What earlier records said, as far as a statement about a later one needs it. */
class Seen {
  whole; // whether every record so far is here: a bundle shows some only
  log = "";
  first = "";
  runs = new Map();
  profile = {};
  session = "";
  instruments = new Map();
  policies = new Map();
  inForce = "";
  decisions = new Map();
  reads = new Map();
  messages = new Map();
  presses = new Map();
  stops = new Map();
  tested = new Map();
  differences = new Map();
  named = new Map(); // the decision and the side of an order, by each ClOrdID that it may have had
  fees = new Map(); // what a trade charged, in minor units, by the record that booked it
  acts = new Map();
  held = new Positions();
  attempts = new Map(); // at forecasts, each by its stream
  indexes = new Map(); // of instruments, each by its stream
  joined = new Map(); // sets of joint paths, each by its id
  last = -1; // the number of the last record
  awaited = null; // the line of an index that must come right after it
  unread = false; // whether it is of a version of these kinds that is not known here
  modes = new Set();
  mode = "";
  modeSeq = -1;
  modeLimits = "";

  constructor(whole) {
    this.whole = whole;
  }

  get logId() {
    return this.first && `${this.log}#${this.first}`;
  }

  of({ decision }) {
    return this.decisions.get(decision) ?? { ...newDecision(), gap: true };
  }

  /** Note that a record comes, before it is judged. */
  enter({ log, seq, stream, place, decision, body, leaf }) {
    this.log = log;
    if (seq === 0) this.first = hex(leaf);
    if (stream.startsWith("forecast/")) {
      if (!this.attempts.has(stream)) this.attempts.set(stream, newAttempt());
      const attempt = this.attempts.get(stream);
      attempt.gap ||= attempt.records !== place;
      attempt.records += 1;
    }
    if (stream.startsWith("instrument/")) {
      if (!this.indexes.has(stream)) this.indexes.set(stream, newIndex());
      const index = this.indexes.get(stream);
      index.gap ||= index.records !== place;
      index.records += 1;
    }
    if (!decision) return;
    if (!this.decisions.has(decision)) this.decisions.set(decision, newDecision());
    const own = this.decisions.get(decision);
    own.gap ||= own.records !== place;
    own.records += 1;
    own.account ??= body.account ?? null;
  }

  knows(symbol) {
    return this.instruments.has(said(symbol));
  }

  instrument(symbol) {
    return this.instruments.get(said(symbol)) ?? {};
  }

  /** Return the minor units of one lot and tick of an instrument, null if it is unknown. */
  unitOf(symbol) {
    const { tick_minor: tick, lot, multiplier } = this.instrument(symbol);
    return [tick, lot, multiplier].every(isInteger) ? tick * lot * multiplier : null;
  }

  /** Return whether a price in text is so many ticks of an instrument. */
  priced(symbol, ticks, price) {
    const { tick_minor: tick } = this.instrument(symbol), digits = this.profile.minor_digits;
    if (![tick, digits, ticks].every(isInteger)) return false;
    const units = unitsOf(said(price));
    return digits >= 0 && units !== null && units * 10n ** BigInt(digits) === BigInt(ticks) * BigInt(tick) * 10n ** BigInt(SCALE);
  }

  /** Return whether a quantity in text is so many lots of an instrument. */
  counted(symbol, lots, quantity) {
    const { lot } = this.instrument(symbol);
    return isInteger(lot) && isInteger(lots) && unitsOf(said(quantity)) === BigInt(lots) * BigInt(lot) * 10n ** BigInt(SCALE);
  }

  /** Fold a record, after it was judged. */
  async take(one) {
    this.held.take(one);
    Object.assign(this, { last: one.seq, awaited: lineAfter(one), unread: false });
    if (Object.hasOwn(TAKEN, one.kind)) await TAKEN[one.kind](this, one);
    if (ENDABLE.has(one.kind)) this.acts.set(one.seq, [one.kind, hex(one.leaf), one.body.ref ?? null]);
  }

  /** Note a record of which only the bytes were verified: it may be a line of an index, or have one. */
  skip({ kind, seq }) {
    if (LISTED.includes(kind)) Object.assign(this, { last: seq, awaited: null, unread: true });
  }
}

/** Kinds of which a record may be ended by both officers. */
const ENDABLE = new Set(Object.values(SIGNED_KINDS).map(([ends]) => ends).filter(Boolean));

function sampledOnce(seen, { stream }) {
  const own = seen.attempts.get(stream);
  if (own) own.captured = true;
}

const TAKEN = {
  run_started(seen, { body }) {
    seen.runs.set(said(body.run_id), { mode: body.mode, dev: body.dev });
    seen.modes.add(said(body.mode ?? null));
    seen.profile = objectIn(body.order_profile);
    seen.session = said(objectIn(body.fix_profile).name);
    if (body.dev !== true) seen.mode = said(body.mode);
    for (const one of listIn(body.instruments)) seen.instruments.set(said(objectIn(one).symbol), objectIn(one));
  },
  instrument_listed(seen, { body }) {
    const one = objectIn(body.instrument);
    seen.instruments.set(said(one.symbol), one);
  },
  policy_activated(seen, { body }) {
    seen.inForce = said(body.policy_digest);
    seen.policies.set(seen.inForce, objectIn(body.policy));
  },
  intent_received(seen, one) {
    Object.assign(seen.of(one), { request: objectIn(one.body.request), author: one.body.author ?? null });
  },
  forecast_taken(seen, one) {
    const own = seen.of(one), { instrument = null, of_seq = null, author = null } = one.body; // eslint-disable-line camelcase
    const { forecast_id: id = null, forecast_attempt: attempt = 0 } = one.body;
    own.taken = { instrument, of_seq, id, attempt, seq: one.seq }; // eslint-disable-line camelcase
    own.author ??= author;
  },
  snapshot_taken(seen, { stream, body }) {
    const own = seen.attempts.get(stream);
    if (own) own.inputs = objectIn(body.inputs);
  },
  async forecast_requested(seen, { stream, body }) {
    const { seed_root: root = null, prompt_ids: ids = null, sampler = null, paths = null, n_tokens: nTokens = null } = body;
    const own = seen.attempts.get(stream), named = attemptIn(stream);
    if (!own) return;
    Object.assign(own, { requested: true, sampler, paths, nTokens });
    if (named && /^[0-9a-f]{64}$/.test(said(root))) own.seed = await seedOf(unhex(root), ids, named.number);
  },
  paths_joined(seen, { seq, leaf, body: { joint_id: id = null, digest = null, n_paths: count = null, members = null } }) {
    const named = listIn(members).map(objectIn).map((one) => [said(one.instrument ?? null), [one.forecast_id ?? null, one.attempt ?? null, one.paths ?? null]]);
    seen.joined.set(said(id), { place: [seq, hex(leaf)], result: [digest, count], members: new Map(named) });
  },
  rounds_captured: sampledOnce,
  tokens_drawn: sampledOnce,
  forecast_failed(seen, { stream, body: { reason = null } }) {
    const own = seen.attempts.get(stream);
    if (own) own.failed = reason;
  },
  forecast_made(seen, { stream, seq, body, leaf }) {
    const own = seen.attempts.get(stream);
    if (own) Object.assign(own, { made: [seq, hex(leaf)], source: objectIn(body.forecast).source ?? null });
  },
  forecast_sealed(seen, { stream, body: { outcome = null } }) {
    const own = seen.attempts.get(stream);
    if (own) own.outcome = outcome;
  },
  forecast_listed(seen, { stream, seq, body: { event = null, attempt = null, forecast_id: id = null } }) {
    const index = seen.indexes.get(stream), name = said(id);
    if (!index) return;
    if (event === "made") index.made.set(name, attempt);
    if (event === "again") index.again.set(name, (index.again.get(name) ?? 0) + 1);
    if (STANDS.includes(event)) index.lines.push([seq, name, attempt]);
  },
  intent_proposed(seen, one) {
    Object.assign(seen.of(one), { proposed: objectIn(one.body.intent), paths: objectIn(one.body.paths) });
  },
  verdict_given(seen, one) {
    const { intent, intent_digest, policy_digest, result, kill_epoch, send_before_us, verdict } = one.body; // eslint-disable-line camelcase
    const { verdict_digest } = objectIn(verdict); // eslint-disable-line camelcase
    const kept = { intent, intent_digest, policy_digest, result, kill_epoch, send_before_us, verdict_digest }; // eslint-disable-line camelcase
    seen.of(one).verdicts.set(one.seq, { ...kept, held_by: heldBy(objectIn(verdict)) });
  },
  approval_given(seen, one) {
    Object.assign(seen.of(one), { agreed: objectIn(one.body.band), taken: null });
  },
  order_sending(seen, one) {
    const own = seen.of(one), intent = objectIn(own.verdicts.get(numberOr(one.body.approving_seq))?.intent), fields = fieldsOfOrder(one.body);
    const terms = { qty_lots: intent.qty_lots, limit_ticks: intent.limit_ticks, quantity: fields.get(38) ?? "", price: fields.get(44) ?? "" };
    own.order = { intent, fields, name: said(one.body.cl_ord_id), terms, filled: 0, asked: new Map() };
    seen.named.set(own.order.name, [one.decision, intent.side]);
  },
  replace_requested(seen, one) {
    const { order } = seen.of(one), name = orderName(one.leaf);
    if (!order) return;
    order.asked.set(name, { ...objectIn(one.body.after), orig: one.body.orig_cl_ord_id });
    seen.named.set(name, [one.decision, order.intent.side]);
  },
  replace_ended(seen, one) {
    const { order } = seen.of(one);
    if (order && one.body.outcome === "replaced") Object.assign(order, { name: said(one.body.cl_ord_id), terms: objectIn(one.body.terms) });
  },
  order_reported(seen, one) {
    const { order } = seen.of(one);
    if (!order) return;
    if (isObject(one.body.restated) || (one.body.restated ?? null) !== null) order.terms = objectIn(one.body.restated);
    order.filled += numberOr(one.body.last_lots, 0);
    seen.fees.set(isInteger(one.body.undoes_seq) ? one.body.undoes_seq : one.seq, objectIn(one.body.fill).fee_minor);
  },
  decision_sealed(seen, one) {
    const own = seen.of(one);
    own.verdicts.clear();
    Object.assign(own, { request: {}, proposed: null, paths: null, agreed: null, taken: null });
  },
  fix_inbound(seen, { stream, body }) {
    seen.messages.set(keyOf(stream, said(body.offset)), messageOf(body));
  },
  read_recorded(seen, { seq, body }) {
    seen.reads.set(seq, { reader: body.reader, object: body.object });
  },
  kill_pressed(seen, { body }) {
    seen.presses.set(said(body.kill_epoch), body.press_id ?? null);
  },
  stop_begun(seen, { body }) {
    seen.stops.set(said(body.stop_id), body.stop);
  },
  stop_ended(seen, { body }) {
    for (const one of listIn(body.stop_ids)) seen.stops.delete(said(one));
  },
  promotion_tested(seen, { seq, body }) {
    seen.tested.set(seq, body);
  },
  book_difference(seen, { seq, leaf, body: { account, cl_ord_id: name, instrument, reason } }) {
    seen.differences.set(seq, { account, name, instrument, reason, leaf: hex(leaf) });
  },
  mode_entered(seen, { seq, body }) {
    seen.modes.add(said(body.mode ?? null));
    Object.assign(seen, { modeSeq: seq, modeLimits: body.limits === undefined ? "" : body.limits, mode: said(body.mode) });
  },
};

const PASSING = ["ALLOW", "WARN"], BAND_BP = 10000n, RELEASES_ALONE = ["R31"];
const REPEATED = new Set([447, 448, 452, 2376, 2594, 2595]); // the tags of groups, which alone may come twice in an order
const WORDS_OF_ORDER = [1, 15, 38, 40, 44, 54, 55, 59]; // the fields that a broker acts on, besides name and type
const RAW_MAX = 8192, BY_BOTH = ["breaker", "secure"], RISKS = new Map([["paper", 0], ["shadow", 0], ["pilot", 1], ["live", 2]]);
const SIGNATURE = /^[0-9a-f]{128}$/;
const OTHER_SIDE = new Map([["BUY", "SELL"], ["SELL", "BUY"]]);

const FORECAST_ATTEMPT = /^forecast\/([A-Z2-7]{26})\.(0|[1-9][0-9]{0,8})$/;

/** Return the forecast and the attempt that a stream is named by; null for other streams. */
function attemptIn(stream) {
  const [, id, number] = FORECAST_ATTEMPT.exec(stream) ?? [];
  return id === undefined ? null : { id, number: Number(number) };
}

/** Return the id of the forecast of some inputs: 130 bits of their digest in base32. */
async function forecastName(inputs) {
  const bits = Array.from(await sha256(utf8(canonical(inputs))), (byte) => byte.toString(2).padStart(8, "0")).join("");
  return Array.from({ length: 26 }, (_, i) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[parseInt(bits.slice(5 * i, 5 * i + 5), 2)]).join("");
}

/** Yield what is wrong with a record of an attempt's stream. */
async function* attemptFaults(seen, one) {
  const { kind, stream, body } = one, named = attemptIn(stream);
  if (!named) {
    yield "it is in no forecast's stream";
    return;
  }
  if (body.attempt !== undefined && !same(body.attempt, named.number)) yield "its attempt is not that of its stream";
  if (kind === "snapshot_taken") yield* openingFaults(seen, body, named);
  const own = seen.attempts.get(stream) ?? newAttempt(true);
  if (own.gap) return;
  if (own.outcome !== "") yield "its forecast is sealed before it";
  else if ((own.inputs === null) !== (kind === "snapshot_taken")) yield "its forecast does not begin with its inputs, once";
  else if (own.inputs !== null) yield* stepFaults(own, own.inputs, one);
}

async function* openingFaults(seen, body, { id, number }) {
  const inputs = objectIn(body.inputs);
  if (body.forecast_id !== id) yield "it names another forecast than its stream";
  if ((await forecastName(inputs)) !== id) yield "its forecast_id is not that of its inputs";
  if (!same(inputs.snapshot, body.snapshot_blob)) yield "its snapshot_blob is not among its inputs";
  if (!same(inputs.instrument, body.instrument)) yield "its instrument is not among its inputs";
  if (!number) return;
  const before = endedAttempt(seen, `forecast/${id}.${number - 1}`);
  if (before && !mayBeFollowed(before)) yield "the attempt before it has no failure on record";
  else if (!before && seen.whole) yield "the attempt before it is not on record";
}

/** Return an attempt of which all is here; in a bundle its end too, which is asked for there. */
function endedAttempt(seen, stream) {
  const found = seen.attempts.get(stream);
  return found && !found.gap && found.inputs && (seen.whole || found.outcome !== "") ? found : null;
}

/** Return whether another attempt may be made: this one failed, or the table answered alone. */
const mayBeFollowed = ({ outcome, source }) => (outcome === "made" ? source === "table" : ["failed", "abandoned"].includes(outcome));

/** Yield what a record says of an attempt that the records before it do not. */
async function* stepFaults(own, inputs, { kind, body }) {
  if (["rounds_captured", "tokens_drawn"].includes(kind)) yield* captureFaults(own, inputs, { kind, body });
  if (kind === "forecast_requested") {
    if (own.requested) yield "its forecast was asked for before";
    if (!same(body.prompt_digest, inputs.prompt)) yield "its prompt is not among the inputs";
    if (!same(body.codec_digest, inputs.codec)) yield "its codec is not among the inputs";
    const prompt = objectIn(body.prompt);
    if (!same(prompt.token_ids, body.prompt_ids)) yield "its prompt_ids are not those of its prompt";
    if (!same(body.prompt_digest, hex(await sha256(utf8(canonical(prompt)))))) yield "its prompt_digest is not that of its prompt";
    yield* samplerFaults(body);
  } else if (kind === "forecast_made") {
    yield* madeFaults(own, inputs, objectIn(body.forecast));
  } else if (kind === "forecast_sealed") {
    if (!same(body.instrument, inputs.instrument)) yield "its instrument is not that of the inputs";
    const allowed = own.made ? ["made"] : ["abandoned", ...(own.failed === null ? [] : ["failed"])];
    if (!allowed.includes(body.outcome)) yield "its outcome does not follow from the records before it";
  }
}

const DRAW_RULE = "direct-1", TAIL = 12, WORDLESS = [84, 91, 96, 84, 91, 96, 84, 91, 96];

/** Yield what is wrong with who draws: a direct forecast has no drafts, seeds or words. */
function* samplerFaults(body) {
  const { sampler = null, prompt_ids: ids = null } = body;
  if (!["engine", "direct"].includes(sampler)) yield "it has another sampler than the engine or direct draws";
  if (sampler !== "direct") return;
  const nothing = [["seeds_digest", ""], ["spec_k", 0], ["drafter", "none"], ["news_twin", "no_news"]];
  if (nothing.some(([name, value]) => !same(body[name] ?? null, value))) yield "it is drawn directly, and has drafts, seeds or a news twin";
  if (!Array.isArray(ids) || !same(ids.slice(-TAIL).slice(0, WORDLESS.length), WORDLESS)) yield "it is drawn directly, and words act in its prompt";
}

/** Yield what a capture's record says of the attempt that the records before it do not. */
function* captureFaults(own, inputs, { kind, body }) {
  const drawn = kind === "tokens_drawn";
  if (own.captured) yield "its forecast was sampled before";
  if (!same(own.sampler ?? null, drawn ? "direct" : "engine")) yield "it is of another sampler than was asked for";
  if (!drawn) return;
  const wanted = [["rule", DRAW_RULE], ["seed", hex(own.seed)], ["table_digest", inputs.table], ["paths", own.paths], ["n_tokens", own.nTokens]];
  yield* differing(body, wanted, "that of the request");
}

function* madeFaults(own, inputs, forecast) {
  const { source } = forecast;
  if (!own.requested) yield "its forecast was not asked for";
  if (own.made) yield "its forecast was made before";
  if (source === "table" && own.failed === null) yield "the table answers alone, and no failure is on record";
  if (!["table", "target"].includes(source)) yield "it has another source than target or table";
  if (source === "target" && !own.captured) yield "nothing of what was sampled is on record before it";
  const wanted = [["instrument", inputs.instrument], ["codec_digest", inputs.codec], ["model_digest", source === "table" ? inputs.table : inputs.model]];
  yield* differing(forecast, wanted, "that of the inputs");
}

/** Yield what is wrong with the forecast, or with the failure, that a decision names. */
function* takenFaults(seen, { seq, body }) {
  const { of_seq: ofSeq = null, missing = "", forecast_id: id = "", forecast_attempt: number = 0 } = body;
  if (isGiven(missing) === (ofSeq !== null)) {
    yield "it must name either a forecast or why there is none";
    return;
  }
  if (id === "" && isGiven(missing)) return; // nothing could be asked for
  const stream = `forecast/${said(id)}.${said(number)}`, found = endedAttempt(seen, stream);
  if (!attemptIn(stream) || !isInteger(number)) {
    yield "it names no attempt at a forecast";
    return;
  }
  if (ofSeq !== null && !(isInteger(ofSeq) && ofSeq < seq)) yield "its forecast is not before it";
  if (found) yield* namedFaults(found, body, missing);
  else if (seen.whole) yield "the attempt that it names is not on record before it";
}

/** Yield what a decision says of an attempt that the attempt's own records do not. */
function* namedFaults({ inputs, outcome, failed, made }, { instrument, of_seq: ofSeq, of_leaf: ofLeaf }, missing) {
  if (!same(inputs.instrument, instrument)) yield "its forecast is of another instrument";
  if (isGiven(missing)) {
    if (outcome !== "failed" || !same(failed, missing)) yield "the attempt that it names did not fail so";
  } else if (outcome !== "made" || !same(made, [ofSeq ?? null, ofLeaf ?? null])) {
    yield "the record that it names is not the forecast that was made";
  }
}

/** Yield why an intent rests on no forecast of its instrument. */
function* unfounded(seen, one) {
  const { gap, taken } = seen.of(one), intent = objectIn(one.body.intent);
  if (gap) return;
  if (taken === null || taken.of_seq === null) yield "no forecast was taken before it";
  else if (Object.keys(intent).length && !same(intent.instrument, taken.instrument)) yield "its forecast is of another instrument";
}

/** Return the line of the index that a record has right after it; null if it has none. */
function lineAfter({ kind, stream, body: { instrument = null, outcome = null } }) {
  const named = attemptIn(stream);
  if (!named || !["snapshot_taken", "forecast_sealed"].includes(kind)) return null;
  const event = kind === "snapshot_taken" ? "opened" : outcome;
  return [["instrument", instrument], ["event", event], ["again", 0], ["forecast_id", named.id], ["attempt", named.number]];
}

const PASSED_OVER = "a forecast that stood was passed over";

/** Yield what the index of an instrument says, or lacks, that other records do not. */
function* indexFaults(seen, one) {
  const { seq, kind, stream, body } = one, beside = seq === seen.last + 1, wanted = beside || seen.whole ? seen.awaited : null;
  if (wanted && !(beside && kind === "forecast_listed")) yield `record ${seen.last} has no line of its index right after it`;
  if (kind === "forecast_taken" && seen.whole) yield* passedOver(seen, body);
  if (kind !== "forecast_listed") return;
  if (stream !== `instrument/${said(body.instrument ?? null)}`) yield "it is in the index of another instrument";
  if (wanted && beside) yield* differing(body, wanted, "that of the record before it");
  else if (body.event === "again") yield* againFaults(seen.indexes.get(stream), body);
  else if ((beside && !seen.unread) || (seen.whole && !beside)) yield "what it lists is not the record before it";
}

/** Yield why a forecast does not stand again from here on. */
function* againFaults(own, { forecast_id: id = null, attempt = null, again = null }) {
  if (!own || own.gap) return;
  const name = said(id), made = own.made.get(name) ?? null;
  if (made === null || !same(made, attempt)) yield "it names no forecast that was made before";
  if (stoodIn(own)?.[0] === name) yield "the forecast that it names stood already";
  if (!same(again, (own.again.get(name) ?? 0) + 1)) yield "its count is not the next one";
}

/** Yield that a decision names another forecast than the one that stood. */
function* passedOver(seen, { missing, of_seq: ofSeq = null, instrument = null, forecast_id: id = null, forecast_attempt: attempt = 0 }) {
  if (isGiven(missing) || ofSeq === null) return;
  const own = seen.indexes.get(`instrument/${said(instrument)}`);
  if (own?.gap) return;
  if (!own || stoodIn(own) === null) yield "no forecast of its instrument stood";
  else if (!same(stoodIn(own), [id, attempt])) yield PASSED_OVER;
}

/** Whose paths a record rests on, by its kind. */
const PATHS_OF = new Map([["intent_proposed", "forecast_made"], ["placebo_judged", "placebo_made"], ["gjr_judged", "gjr_made"]]);
const NEWS = "news_twin_made", ONE_1E6 = 1000000, WHOLE_BP = 10000;

/** Yield what a set of joint paths says that other records do not. */
async function* setFaults(seen, one) {
  const { stream, body } = one, { rule = null, without_bp: without = null, joint_id: id = null } = body, members = listIn(body.members).map(objectIn);
  const named = members.map(({ instrument = null, forecast_id: forecast = null, attempt = null, paths = null }) => [instrument, forecast, attempt, paths]);
  if (stream !== `joint/${said(id)}`) yield "it is in the stream of another set";
  if (one.place !== 0) yield "its set was joined before it";
  if (!same(id, await forecastName({ members: named, rule, without_bp: without }))) yield "its joint_id is not that of its members";
  const symbols = named.map(([symbol]) => said(symbol)), kinds = named.map((row) => said(row[3]));
  if (symbols.length < 2 || !same(symbols, [...new Set(symbols)].sort(compareCodePoints))) yield "its members are not two or more instruments, each once, in order";
  const news = kinds.filter((kind) => kind === NEWS).length === 1 && kinds.every((kind) => [NEWS, "forecast_made"].includes(kind));
  if (!news && !(new Set(kinds).size === 1 && [...PATHS_OF.values()].includes(kinds[0]))) yield "its members' paths are not of one kind";
  const found = body.correlation_1e6, pairs = (members.length * (members.length - 1)) / 2;
  if (!Array.isArray(found) || found.length !== pairs || !found.every((r) => isInteger(r) && Math.abs(r) <= ONE_1E6)) yield "its correlation is not one number within one for each pair";
  const parts = [body.keep_bp, body.without_bp, body.shrunk_bp];
  if (!parts.every((part) => isInteger(part) && part >= 0 && part <= WHOLE_BP)) yield "a part of it is not between none and the whole";
  if (!isInteger(body.n_paths) || body.n_paths < 1) yield "it has no number of paths";
  yield* membersFaults(seen, one, members);
}

/** Yield what a set says of its members that their own records do not. */
async function* membersFaults(seen, { seq, body }, members) {
  const seeds = [];
  for (const { instrument = null, forecast_id: id = null, attempt = null, of_seq: ofSeq = null, of_leaf: ofLeaf = null } of members) {
    const found = endedAttempt(seen, `forecast/${said(id)}.${said(attempt)}`);
    if (!found) {
      if (seen.whole) yield "a forecast that it joins is not on record before it";
      continue;
    }
    if (found.seed.length) seeds.push(found.seed);
    if (!same(found.inputs.instrument, instrument)) yield "a forecast that it joins is of another instrument";
    if (found.outcome !== "made" || !found.made || !same(found.made, [ofSeq, ofLeaf])) yield "a record that it names is not the forecast that was made";
    else if (found.made[0] >= seq) yield "a forecast that it joins is not before it";
  }
  const digest = hex(await sha256(concat(utf8("countersign/joint/1"), ...seeds)));
  if (seeds.length === members.length && !same(body.seed, digest)) yield "its seed is not that of its members' seeds";
}

/** Yield what a record says of the set of joint paths that it names. */
function* namingFaults(seen, one) {
  const own = seen.of(one), paths = objectIn(one.body.paths), { joint_id: id = null, of_seq: ofSeq = null, of_leaf: ofLeaf = null } = objectIn(paths.joint);
  if (own.gap) return;
  yield* readFaults(seen, one, paths);
  if (!Object.keys(objectIn(paths.joint)).length) return;
  const found = seen.joined.get(said(id));
  if (!found) {
    if (seen.whole) yield "the joint paths that it names are not on record before it";
    return;
  }
  if (!same(found.place, [ofSeq, ofLeaf])) yield "it names another record than that of its joint paths";
  if (!same(found.result, [paths.digest ?? null, paths.n_paths ?? null])) yield "its joint paths are not those of the set";
  if ((own.taken?.of_seq ?? null) !== null) yield* memberFaults(seen, one.kind, own.taken, found);
}

/** Yield which member is not the forecast that stood when the decision took its own. */
function* memberFaults(seen, kind, taken, { members }) {
  const symbol = said(taken.instrument);
  if (!members.has(symbol)) yield "its own forecast is not among the members of its joint paths";
  for (const [instrument, [id, attempt, paths]] of members) {
    if (paths !== PATHS_OF.get(kind)) yield "its joint paths are of another kind";
    if (instrument === symbol) {
      if (!same([id, attempt], [taken.id, taken.attempt])) yield "its own forecast is not the member of its joint paths";
      continue;
    }
    const index = seen.indexes.get(`instrument/${instrument}`);
    if (!index) {
      if (seen.whole) yield `of ${instrument} no forecast stood`;
    } else if (!index.gap && !same(stoodIn(index, taken.seq) ?? [], [id, attempt])) {
      yield `of ${instrument} ${PASSED_OVER}`;
    }
  }
}

/** Yield that a verdict rests on other paths than the intent that it judges. */
function* pathsFaults(seen, one) {
  const own = seen.of(one);
  if (!own.gap && own.paths !== null) yield* readFaults(seen, one, own.paths);
}

/** Yield that the rules of a record read other paths than those that are named; without a set they
 * are of the one instrument of the forecast that was taken. */
function* readFaults(seen, one, named) {
  const { inputs } = one.body, { taken = null } = seen.of(one);
  if (!isObject(inputs)) return;
  const read = objectIn(inputs.paths), joint = objectIn(named.joint), isSet = Object.keys(joint).length > 0;
  if (!same(read.digest ?? null, named.digest ?? null)) yield "its rules read other paths than those that are named";
  if (!Object.keys(read).length) return;
  const instruments = read.instruments ?? null;
  if (!isSet && taken !== null && !same(instruments, [taken.instrument])) yield "it rests on paths of other instruments, and no set is named";
  const found = isSet ? seen.joined.get(said(joint.joint_id ?? null)) : undefined;
  if (found && !same(instruments, [...found.members.keys()])) yield "its joint paths are of other instruments than the set";
}

/** Return the rules that a policy names for an instrument, and whether each is armed. */
function armingOf(policy, symbol) {
  const ofClass = listIn(policy.instruments).map(objectIn).find((one) => one.symbol === symbol)?.asset_class;
  const classes = listIn(policy.classes).map(objectIn), section = classes.find((one) => one.asset_class === ofClass);
  const rows = listIn((section ?? classes[0] ?? {}).arming).map(objectIn);
  return new Map(rows.map((one) => [said(one.rule), section === undefined || one.armed === true])); // an unknown instrument: every rule refuses
}

/** Return whether a result's margin, outcome and action follow from each other. */
function follows(one, armed) {
  const [observed, limit, margin] = [one.observed, one.limit, one.margin].map(wholeOf), action = said(one.action);
  if (one.bound !== "MAX" && one.bound !== "MIN") return false;
  if (observed !== null && limit !== null) {
    if (margin !== (one.bound === "MAX" ? limit - observed : observed - limit)) return false;
  } else if (margin !== null) return false;
  if (one.outcome === "PASS") return armed && margin !== null && margin >= 0n && PASSING.includes(action);
  if (one.outcome === "BREACH") {
    const passed = action === "WARN" && one.reason === "OVERRIDDEN";
    return armed && margin !== null && margin < 0n && (passed || !PASSING.includes(action));
  }
  if (one.outcome === "REFUSED") return armed && ["REJECT", "HALT", "KILL"].includes(action);
  return one.outcome === "NOT_APPLICABLE" && action === "ALLOW" && (one.reason !== "DISARMED" || !armed);
}

/** Yield what a verdict's results are not that the policy asks for. */
function* resultFaults(policy, intent, verdict, status) {
  const rows = listIn(verdict.results).map(objectIn), pairs = rows.map((one) => [said(one.rule_id), said(one.check)]);
  const names = pairs.map(([rule, check]) => keyOf(rule, check)), arming = armingOf(policy, intent.instrument);
  const wanted = [...arming.keys()].flatMap((rule) => (CHECKS.get(rule) ?? []).map((check) => [rule, check]));
  const missing = wanted.filter(([rule, check]) => !names.includes(keyOf(rule, check))).map((pair) => pair.join(" ")).sort(compareCodePoints);
  if (missing.length) yield `it has no result of ${missing[0]}`;
  if (new Set(names).size !== names.length) yield "it has two results of one check";
  const foreign = pairs.map(([rule]) => rule).filter((rule) => !arming.has(rule) && !["R29", "R48", "R54"].includes(rule)).sort(compareCodePoints);
  if (arming.size && foreign.length) yield `it has a result of ${foreign[0]}, which its policy does not name`;
  if (PASSING.includes(said(verdict.action)) && status.standing !== "ACTIVE") yield "its policy was not active, and no rule says so";
  for (const [at, [rule, check]] of pairs.entries()) {
    if (!follows(rows[at], arming.get(rule) ?? true)) yield `its result of ${rule} ${check} does not follow from what was measured`;
  }
  if (worstOf(verdict) === "") yield "its action is not the worst of its results";
}

/** Yield what is wrong with a verdict's intent, policy and results. */
async function* judgedFaults(seen, body) {
  const intent = objectIn(body.intent), verdict = objectIn(body.verdict), status = objectIn(body.policy_status);
  const digest = await taggedDigest("countersign.intent/1", intent), inForce = body.policy_digest;
  if (body.intent_digest !== digest || verdict.intent_digest !== digest) yield "its intent_digest is not that of its intent";
  if (!same(verdict.policy_digest, inForce) || !same(status.policy_digest, inForce)) yield "it names two policies";
  if (seen.whole && inForce !== seen.inForce) yield "its policy is not the one in force on record";
  const policy = seen.policies.get(said(inForce));
  if (policy) yield* resultFaults(policy, intent, verdict, status);
}

/** Return the band that a policy gives an intent, as pairs. */
function bandOf(allowed, intent) {
  const limits = ["price_band", "size_band", "exposure_band"].map((name) => objectIn(allowed[name]).value);
  const numbers = [...limits, intent.limit_ticks, intent.qty_lots, intent.target_exposure_bp];
  if (!numbers.every(isInteger)) return [];
  const [byPrice, bySize, byExposure, ticks, lots, exposure] = numbers.map(BigInt);
  const part = (whole, by) => { // rounded down, as Python does
    const product = whole * by, quotient = product / BAND_BP;
    return quotient * BAND_BP > product ? quotient - 1n : quotient;
  };
  return Object.entries({
    price_low_ticks: ticks - part(ticks, byPrice), price_high_ticks: ticks + part(ticks, byPrice), qty_max_lots: lots + part(lots, bySize),
    exposure_low_bp: exposure - byExposure, exposure_high_bp: exposure + byExposure,
  }).map(([name, value]) => [name, Number(value)]);
}

/** Yield what an agreement says that the held verdict, the policy or the read do not. */
function* agreementFaults(seen, one, held, allowed) {
  const { body, decision, actor } = one, band = objectIn(body.band), intent = objectIn(held.intent), { approver } = body;
  yield* differing(band, [
    ["intent_digest", held.intent_digest], ["policy_digest", held.policy_digest], ["verdict_digest", held.verdict_digest],
    ["account", intent.account], ["instrument", intent.instrument], ["side", intent.side], ["approver", approver], ["decision_id", decision],
  ], "that of what it agrees to");
  if (!isText(approver) || !approver || approver === intent.author) yield "its approver is the author, or nobody";
  if (actor !== `person:${said(approver)}`) yield "its approver is not the record's actor";
  if (!same(band.releases === undefined ? RELEASES_ALONE : band.releases, held.held_by)) yield "it releases other rules than those that held";
  const numbers = [band.given_at_us, band.expires_us, objectIn(allowed.ttl).value], whole = numbers.every(isInteger);
  if ((!whole && Object.keys(allowed).length) || !same(band.expires_us, body.expires_us)) yield "its expires_us is not that of its band";
  else if (whole && BigInt(numbers[0]) + BigInt(numbers[2]) !== BigInt(numbers[1])) yield "its expires_us is not after the policy's time to live";
  const read = seen.reads.get(numberOr(objectIn(body.shown).read_seq));
  const right = read && same(read.reader, approver) && read.object === `sheet/${decision}`;
  if (!right && (seen.whole || read)) yield "no read of its sheet by the approver is on record before it";
}

/** Yield what a verdict under an agreement has that the agreement does not cover. */
function* releasedFaults(seen, one) {
  const { body, at } = one, { agreed } = seen.of(one), { approval = null } = body;
  if ((body.renewal === undefined ? agreed !== null : body.renewal) !== (agreed !== null)) yield "it says of a renewal what the decision's records do not";
  if (approval === null) {
    if (body.result === "approved" && worstOf(body.verdict) === "HOLD") yield "it is approved although held, under no agreement";
    return;
  }
  if (agreed === null || !isObject(approval) || !same(approval, agreed)) {
    yield "its approval is not the agreement on record before it";
    return;
  }
  if (body.result === "approved") yield* beyondAgreed(body, agreed, at);
}

/** Yield what an approved verdict has that is outside its agreement. */
function* beyondAgreed(body, agreed, at) {
  const intent = objectIn(body.intent);
  for (const [name, low, high] of [
    ["limit_ticks", agreed.price_low_ticks, agreed.price_high_ticks],
    ["target_exposure_bp", agreed.exposure_low_bp, agreed.exposure_high_bp], ["qty_lots", 1, agreed.qty_max_lots],
  ]) {
    const value = intent[name];
    if (![low, value, high].every(isInteger) || value < low || value > high) yield `its ${name} is outside the agreed band`;
  }
  for (const name of ["account", "decision_id", "instrument", "side"]) if (!same(intent[name], agreed[name])) yield `its ${name} is not the agreed one`;
  if (!same(body.policy_digest, agreed.policy_digest)) yield "another policy is in force than when it was agreed to";
  const released = listIn(agreed.releases === undefined ? RELEASES_ALONE : agreed.releases).map(said);
  if (!heldBy(objectIn(body.verdict)).every((rule) => released.includes(rule))) yield "a rule holds it that the approver did not see";
  const ends = agreed.expires_us;
  if (!isInteger(ends) || ends < at) yield "its agreement had expired";
  else if (!isInteger(body.send_before_us) || body.send_before_us > ends) yield "it may leave after its agreement expires";
}

/** Return whether a message has a value, or a pseudonym where it named a person. */
const sentAs = (value, wanted) => value !== undefined && (value === wanted || value.startsWith("psn-"));

/** Yield what a replace asks for beyond what was allowed. */
async function* askedFaults(seen, body, order) {
  const before = objectIn(body.before), after = objectIn(body.after), { instrument: symbol, side } = order.intent;
  yield* differing(before, ["qty_lots", "limit_ticks", "quantity", "price"].map((name) => [name, order.terms[name]]), "the order's term");
  if (body.orig_cl_ord_id !== order.name) yield "it replaces another order than the one at work";
  const whole = [before.qty_lots, after.qty_lots, before.limit_ticks, after.limit_ticks], [lots, more, ticks, higher] = whole;
  if (!whole.every((one) => isInteger(one) && one > 0)) {
    yield "its terms are not numbers of lots and ticks";
    return;
  }
  if (seen.knows(symbol) || seen.whole) {
    if (!seen.counted(symbol, more, after.quantity) || !seen.priced(symbol, higher, after.price)) yield "its quantity and price are not its lots and ticks";
  }
  const unit = seen.unitOf(symbol) ?? (seen.whole ? null : objectIn(body.reservation).unit_minor ?? null);
  const wanted = { instrument: symbol ?? null, limit_ticks: Math.max(ticks, higher), qty_lots: Math.max(lots, more), side: side ?? null, unit_minor: unit };
  if (!same(body.reservation, wanted)) yield "its reservation is not the larger of both terms";
  const judged = body.judged ?? null;
  if (judged === null) {
    if (more > lots || !(higher === ticks || (higher < ticks && side === "BUY"))) yield "it raises what the order may do, and no verdict allowed it";
    return;
  }
  const verdictOf = objectIn(judged), open = Math.max(lots, more) - order.filled;
  if (!same(verdictOf.intent, { ...order.intent, limit_ticks: higher, qty_lots: open })) yield "its verdict judged other terms than it asks for";
  if (!PASSING.includes(worstOf(verdictOf.verdict))) yield "its verdict does not allow it";
  yield* judgedFaults(seen, verdictOf);
}

/** Return whether a record repeats a message's field, in any decimal form of one number. */
function readsAs(value, sent) {
  const number = unitsOf(sent);
  return value === sent || sent.startsWith("psn-") || (number !== null && number === unitsOf(said(value)));
}

const signedRoles = (body) => OFFICERS.filter((role) => isText(objectIn(body.signatures)[role]) && SIGNATURE.test(body.signatures[role]));
const changesABook = (body) => (body.adjustment ?? null) !== null || (body.trade ?? null) !== null || isGiven(body.ends);

/** Return how many officers must sign a change of mode. */
function modeSigners(seen, body) {
  const mode = said(body.mode), risk = RISKS.get(mode) ?? 2;
  if (mode === seen.mode && same(body.limits === undefined ? "" : body.limits, seen.modeLimits)) return 0;
  if (!seen.whole || (!seen.mode && !risk)) return 0;
  return risk && !(mode === "pilot" && seen.mode === "live") ? 2 : 1;
}

function* namedLog(seen, body, needed) {
  if (needed && seen.logId && ![seen.logId, `${seen.log}#new`].includes(said(body.log_id))) yield "its officers signed for another ledger";
}

function* byBoth(seen, body) {
  if (signedRoles(body).length < OFFICERS.length) yield "it has not both officers' signatures";
  yield* namedLog(seen, body, true);
}

/** The function of each statement that no class of its own judges: what contradicts it in a record. */
export const JUDGES = {
  * run(seen, { kind, body, stream }) {
    const walked = /^(decision|forecast|joint)\//.test(stream);
    if (["run_started", "mode_entered"].includes(kind)) return;
    if (body.run_id === undefined) {
      if (seen.whole && walked && isGiven(body.mode) && !seen.modes.has(said(body.mode))) yield "its mode is that of no run on record before it";
      return;
    }
    const run = seen.runs.get(said(body.run_id));
    if (!run) {
      if (seen.whole && walked) yield "its run is not on record before it";
      return;
    }
    yield* differing(body, ["mode", "dev"].filter((name) => body[name] !== undefined).map((name) => [name, run[name]]), "that of its run");
  },

  * decision(seen, one) {
    const { body, decision } = one, own = seen.of(one);
    if (!decision) return;
    if (body.decision_id !== undefined && body.decision_id !== decision) yield "it names another decision than its stream";
    if (body.account !== undefined && !own.gap && !same(body.account, own.account)) yield "its account is not that of its decision";
  },

  async* forecast(seen, one) {
    if (one.kind === "forecast_taken") yield* takenFaults(seen, one);
    else if (one.kind === "intent_proposed") yield* unfounded(seen, one);
    else yield* attemptFaults(seen, one);
  },

  * index(seen, one) {
    yield* indexFaults(seen, one);
  },

  async* joint(seen, one) {
    if (one.kind === "paths_joined") yield* setFaults(seen, one);
    else if (one.kind === "verdict_given") yield* pathsFaults(seen, one);
    else yield* namingFaults(seen, one);
  },

  async* intent(seen, one) {
    const { body, decision } = one, own = seen.of(one), intent = objectIn(body.intent);
    if ((body.intent ?? null) === null && (body.intent_digest ?? null) === null) return; // nothing to trade
    if (body.intent_digest !== (await taggedDigest("countersign.intent/1", intent))) yield "its intent_digest is not that of its intent";
    if (own.gap) return;
    const wanted = [["decision_id", decision], ["account", own.account], ["author", own.author]];
    for (const found of differing(intent, wanted, "that of its request")) yield `of its intent, ${found}`;
    const asked = own.request.instrument ?? null;
    if (asked !== null && !same(intent.instrument, asked)) yield "of its intent, its instrument is not that of its request";
  },

  async* verdict(seen, one) {
    const { body } = one, own = seen.of(one), intent = objectIn(body.intent), state = objectIn(body.state);
    if (!own.gap && (own.proposed === null || !same(own.proposed, intent))) yield "its intent is not the one proposed before it";
    yield* judgedFaults(seen, body);
    if (!same(state.egress_epoch, body.kill_epoch) || typeof state.killed !== "boolean") yield "its kill_epoch is not that of its state";
    const result = said(body.result), worst = worstOf(body.verdict), lasts = ["approved", "held"].includes(result);
    let wanted = null;
    if (lasts) {
      const { instrument = null, limit_ticks = null, qty_lots = null, side = null } = intent; // eslint-disable-line camelcase
      const unit = seen.unitOf(instrument) ?? (seen.whole ? null : objectIn(body.reservation).unit_minor ?? null);
      wanted = { instrument, limit_ticks, qty_lots, side, unit_minor: unit }; // eslint-disable-line camelcase
      if (state.killed !== false || !same(state.kill_epoch, state.egress_epoch)) yield `it is ${result} while a kill is in force`;
    }
    if (!same(body.reservation, wanted)) yield "its reservation is not its intent's";
    if (result === "held" && worst !== "HOLD") yield "it is held, and no rule holds it";
    if (!lasts && PASSING.includes(worst)) yield "it is refused, and no rule refuses it";
  },

  * hold(seen, one) {
    const { kind, body } = one, own = seen.of(one);
    if (own.gap) return;
    if (kind === "verdict_given") {
      yield* releasedFaults(seen, one);
      return;
    }
    const held = own.verdicts.get(numberOr(body.verdict_seq)) ?? {};
    if (held.result !== "held") {
      yield "it answers no held verdict on record before it";
      return;
    }
    if (kind === "approval_refused") return;
    const told = ["intent_digest", "policy_digest", "verdict_digest"].filter((name) => body[name] !== undefined);
    yield* differing(body, told.map((name) => [name, held[name]]), "that of the held verdict");
    const intent = objectIn(held.intent);
    if (body.author !== undefined && !same(body.author, intent.author)) yield "its author is not that of the held intent";
    const allowed = objectIn(seen.policies.get(said(held.policy_digest))?.approval);
    yield* differing(objectIn(body.band), bandOf(allowed, intent), "the policy's band");
    if (kind === "approval_given") yield* agreementFaults(seen, one, held, allowed);
  },

  * order(seen, one) {
    const { body, at } = one, own = seen.of(one), given = own.verdicts.get(numberOr(body.approving_seq)) ?? {};
    if (own.gap || given.result !== "approved") return; // `Approvals` reports an order without an approval
    const intent = objectIn(given.intent), symbol = intent.instrument;
    const rows = listIn(body.fields).filter((pair) => Array.isArray(pair) && pair.length === 2 && isInteger(pair[0]));
    const tags = rows.map(([tag]) => tag).filter((tag) => !REPEATED.has(tag)).sort((a, b) => a - b), twice = tags.filter((tag, i) => tag === tags[i - 1]);
    if (twice.length) yield `it has tag ${twice[0]} twice`;
    const fields = new Map(rows), account = isGiven(seen.profile.account) ? seen.profile.account : own.account;
    const right = new Map([
      [35, fields.get(35) === "D"], [11, same(fields.get(11), body.cl_ord_id)], [1, same(fields.get(1), account)],
      [55, same(fields.get(55), symbol)], [54, same(sideOf(fields), intent.side)],
      [38, seen.counted(symbol, intent.qty_lots, fields.get(38))], [40, fields.get(40) === LIMIT_ORDER],
      [44, seen.priced(symbol, intent.limit_ticks, fields.get(44))], [59, same(fields.get(59), TIMES_IN_FORCE.get(said(intent.tif)))],
      [15, same(fields.get(15), seen.profile.currency)],
    ]);
    const wrong = [...right].filter(([, isRight]) => !isRight).map(([tag]) => tag);
    if (wrong.length && (seen.knows(symbol) || seen.whole)) yield `its tag ${wrong.join(", ")} is not what was approved`;
    yield* differing(body, [["kill_epoch", given.kill_epoch], ["send_before_us", given.send_before_us]], "its verdict's");
    if (isGiven(body.session) && !["", body.session].includes(seen.session)) yield "it was announced for another session than its run has";
    if (!isInteger(body.send_before_us) || body.send_before_us <= at) yield "it was announced after its time was over";
    if (own.order) yield "its decision has an announced order already";
  },

  async* wire(seen, one) {
    const { kind, body } = one, inbound = kind === "fix_inbound", raw = said(body.raw), own = seen.of(one), { order } = own;
    if (/[^\x00-\xff]/.test(raw)) yield "its message has a character that is not one byte"; // eslint-disable-line no-control-regex
    else if (raw.length === RAW_MAX && inbound) { /* the beginning of a longer message, which is a blob */ }
    else if (hex(await sha256(Uint8Array.from(raw, (c) => c.charCodeAt(0)))) !== (inbound ? body.digest : body.raw_digest)) yield "its digest is not that of its message";
    if (inbound || !order || own.gap) return;
    const wanted = new Map(WORDS_OF_ORDER.map((tag) => [tag, order.fields.get(tag)]));
    wanted.set(35, "D").set(11, order.name);
    if (kind === "replace_sent") {
      const name = said(body.cl_ord_id), asked = order.asked.get(name) ?? {};
      wanted.set(38, asked.quantity).set(44, asked.price).set(35, "G").set(11, name).set(41, asked.orig);
    } else if (body.cl_ord_id !== order.name) yield "it left under another name than was announced";
    const fields = wireFields(raw), wrong = [...wanted].filter(([tag, value]) => !sentAs(fields.get(String(tag)), value)).map(([tag]) => tag);
    if (wrong.length) yield `its message has another tag ${wrong.join(", ")} than was announced`;
    const tags = raw.split("\x01").map((part) => part.split("=")[0]);
    const twice = [...wanted.keys()].find((tag) => tags.filter((other) => other === String(tag)).length > 1);
    if (twice !== undefined) yield `its message has tag ${twice} twice`;
  },

  async* replace(seen, one) {
    const { kind, body } = one, { gap, order } = seen.of(one);
    if (gap) return;
    if (!order) yield "its decision has no announced order";
    else if (kind === "replace_requested") yield* askedFaults(seen, body, order);
    else {
      const asked = order.asked.get(said(body.cl_ord_id));
      if (!asked) yield "no request on record before it has this name";
      else if (!same(body.orig_cl_ord_id, asked.orig)) yield "it replaces another order than was asked for";
    }
  },

  * fill(seen, one) {
    const { body } = one, { gap, order } = seen.of(one), report = objectIn(body.report), { session = null, inbox_offset: offset } = body;
    const isBooked = (body.fill ?? null) !== null;
    let message;
    if (isBooked && session === null && seen.whole) yield "it books a trade of no message";
    if (session !== null && offset !== undefined) {
      message = seen.messages.get(keyOf(`session/${said(session)}`, said(offset)));
      if (!message && seen.whole) yield "its message is not on record before it";
    }
    if (message) {
      const commission = message.fees === null ? [] : [["commission", message.commission]];
      for (const [name, sent] of [...message.report, ...commission]) {
        if (report[name] !== undefined && !readsAs(report[name], sent)) yield `its ${name} is not that of its message`;
      }
    }
    for (const name of ["exec_id", "ord_status"]) {
      if (body[name] !== undefined && report[name] !== undefined && !same(body[name], report[name])) yield `its ${name} is not its report's`;
    }
    if (!isBooked || !order || gap) return;
    yield* bookingFaults(seen, report, objectIn(body.fill), order);
    if (!message) return;
    yield* unbookable(message, order);
    yield* feeFaults(seen, body, message);
  },

  async* policy(seen, { kind, body }) {
    const policy = objectIn(body.policy), needed = policy.signatures_min;
    if (body.policy_digest !== (await taggedDigest("countersign.policy/1", policy))) yield "its policy_digest is not that of its policy";
    if (kind !== "policy_activated") return;
    const rows = listIn(body.signatures).map(objectIn);
    if (!same(body.signed_by, rows.map((one) => `${said(one.role)}:${said(one.signer)}`))) yield "its signed_by is not who signed";
    const roles = new Set(rows.filter(({ signature }) => isText(signature) && SIGNATURE.test(signature)).map((one) => said(one.role)));
    if (!isInteger(needed) || needed < 1 || roles.size < needed) yield "fewer roles signed it than it asks for";
  },

  * mode(seen, { body }) {
    if (seen.whole && said(body.before) !== seen.mode) yield "its mode before is not that of the records before it";
    if (!RISKS.has(said(body.mode))) yield "its mode is none";
    if (modeSigners(seen, body) > signedRoles(body).length) yield "fewer officers signed it than a change of mode needs";
    yield* namedLog(seen, body, Object.keys(objectIn(body.signatures)).length > 0);
  },

  * release(seen, { body }) {
    const press = seen.presses.get(said(body.kill_epoch));
    if (seen.whole && press === undefined) yield "no kill of its kill_epoch is on record before it";
    else if (seen.whole && press !== null && !same(body.press_id, press)) yield "its press_id is not that of the kill";
    yield* byBoth(seen, body);
  },

  * resume(seen, { body }) {
    const ids = listIn(body.stop_ids).map(said);
    if (!ids.length || new Set(ids).size !== ids.length) yield "it does not name each stop once";
    if (seen.whole && !ids.every((one) => seen.stops.has(one))) yield "it ends a stop that is not in force on record";
    if (ids.some((one) => BY_BOTH.includes(seen.stops.get(one)))) yield* byBoth(seen, body);
    else yield* namedLog(seen, body, Object.keys(objectIn(body.signatures)).length > 0);
  },

  * promotion(seen, { body }) {
    const tested = seen.tested.get(numberOr(body.tested_seq));
    if (tested) {
      if (tested.passed !== true) yield "its test did not pass";
      if (!["model_id", "model_digest", "report_blob"].every((name) => same(body[name], tested[name]))) yield "its test is of another model or report";
    } else if (seen.whole) yield "its test is not on record before it";
    yield* byBoth(seen, body);
  },

  async* criteria(seen, { body }) {
    if (body.criteria_digest !== (await taggedDigest("countersign.fairness.criteria/1", objectIn(body.criteria)))) yield "its criteria_digest is not that of its criteria";
    yield* byBoth(seen, body);
  },

  * justification(seen, { body }) {
    if (!same(body.ref, objectIn(body.terms).ref)) yield "its ref is not that of its terms";
  },

  * signed(seen, { kind, body }) {
    if (SIGNED_KINDS[kind][1]) yield* byBoth(seen, body);
    else if (signedRoles(body).length < OFFICERS.length) yield "it has not both officers' signatures";
  },

  * ended(seen, { kind, body }) {
    const found = seen.acts.get(numberOr(body.of_seq)), wanted = [SIGNED_KINDS[kind][0], body.of_leaf ?? null, body.ref ?? null];
    if (found === undefined) {
      if (seen.whole) yield "its act is not on record before it";
    } else if (!same(wanted, found)) yield "it names another act than the one on record";
  },

  * difference(seen, { body }) {
    const found = seen.differences.get(numberOr(body.of_seq));
    if (found === undefined) {
      if (seen.whole) yield "its difference is not on record before it";
    } else if (body.of_leaf !== found.leaf) yield "its of_leaf is not that of the difference";
    else if (isGiven(found.account) && !same(body.account, found.account)) yield "its account is not that of the difference";
    if (!changesABook(body)) return;
    if (signedRoles(body).length < OFFICERS.length) yield "it changes a book or ends an order without both officers' signatures";
    const terms = objectIn(body.terms), told = ["right", "reason", "evidence", "ends"].map((name) => [name, body[name] === undefined ? "" : body[name]]);
    if (told.some(([name, value]) => !same(terms[name], value))) yield "it says other words than were signed";
    if (isGiven(terms.account) && !same(terms.account, body.account)) yield "it books another account than was signed";
    yield* bookedFaults(seen, body, terms);
    if (found !== undefined && (body.adjustment ?? null) !== null) yield* adjustedFaults(seen, body, terms, found);
  },

  * adjustment(seen, { body }) {
    const terms = objectIn(body.terms), { instrument: symbol, sort, account } = terms, text = (value) => (value === undefined ? "" : value);
    if (signedRoles(body).length < OFFICERS.length) yield "it has not both officers' signatures";
    const other = ["ref", "sort", "instrument", "reference", "reason", "evidence"].filter((name) => !same(text(terms[name]), text(body[name])));
    if (isGiven(account) && !same(account, body.account)) other.push("account");
    if (other.length) yield `it has another ${other.join(", ")} than was signed`;
    if (sort !== "split" && !isGiven(account)) yield "its terms name no account";
    if (!seen.whole && ((seen.profile.minor_digits ?? null) === null || (isGiven(symbol) && !seen.knows(symbol)))) return; // a bundle that does not show the units
    const wanted = Object.hasOwn(EFFECTS, said(sort)) ? EFFECTS[said(sort)](seen, terms, body) : null;
    if (wanted === null) {
      yield "its terms do not say what it does";
      return;
    }
    for (const [name, value] of Object.entries({ ...NO_EFFECT, ...wanted })) {
      if (!same(body[name] === undefined ? NO_EFFECT[name] : body[name], value)) yield `its ${name} is not what was signed`;
    }
  },
};

/** Yield what a fill books that its report or its order do not say. */
function* bookingFaults(seen, report, booked, { intent: { instrument: symbol, side } }) {
  yield* differing(booked, [["instrument", symbol], ["side", side]], "its order's");
  if (!seen.knows(symbol) && !seen.whole) return;
  if (!same(booked.unit_minor, seen.unitOf(symbol))) yield "its unit_minor is not its instrument's";
  if (!seen.counted(symbol, booked.qty_lots, report.last_qty)) yield "its qty_lots is not what was reported";
  if (!seen.priced(symbol, booked.price_ticks, report.last_price)) yield "its price_ticks is not what was reported";
}

/** Yield why the gateway does not book a trade that this message tells. */
function* unbookable({ doubled, order: told }, { fields }) {
  if (doubled.length) yield `its message has tag ${doubled[0]} with two values`;
  for (const [tag, expected] of [["15", 15], ["120", 15], ["54", 54], ["55", 55]]) {
    const wanted = fields.get(expected);
    if (told.get(tag) && wanted && told.get(tag) !== wanted) yield `its message has another tag ${tag} than its order`;
  }
}

/** Yield a fee that is not what the message charges; a correction without one keeps the trade's fee. */
function* feeFaults(seen, body, { fees }) {
  const fill = objectIn(body.fill), report = objectIn(body.report), { currency, multiplier } = seen.instrument(fill.instrument);
  const { minor_digits: digits } = seen.profile, [quantity, price] = [report.last_qty, report.last_price].map((one) => unitsOf(said(one)) ?? 0n);
  if (fees === null || !isInteger(digits) || !isInteger(multiplier)) return;
  const one = 10n ** BigInt(SCALE), minor = (price * 10n ** BigInt(digits)) / one;
  let wanted = feeMinorOf(fees, { currency, digits: BigInt(digits), quantity: quantity / one, price: minor, multiplier: BigInt(multiplier) });
  if (!fees.length && isInteger(body.undoes_seq)) wanted = seen.fees.has(body.undoes_seq) ? seen.fees.get(body.undoes_seq) : fill.fee_minor;
  if (!same(fill.fee_minor, wanted)) yield "its fee_minor is not what its message charges";
}

/** Yield what a resolution books that its terms do not have. */
function* bookedFaults(seen, { adjustment = null, trade = null }, { lots, price }) {
  if (adjustment === null && trade === null) return;
  const booked = objectIn(adjustment), { instrument: symbol } = booked;
  if (!isInteger(lots) || !same(booked.qty_lots, Math.abs(lots))) yield "it books another quantity than was signed";
  if (adjustment !== null && !same(booked.fee_minor, 0)) yield "it books a fee that was not signed";
  if (!seen.knows(symbol) && !seen.whole) return;
  if (!seen.priced(symbol, booked.price_ticks, price)) yield "it books another price than was signed";
  if (!same(booked.unit_minor, seen.unitOf(symbol))) yield "its unit_minor is not its instrument's";
  if (trade === null) return;
  yield* differing(objectIn(trade), [["instrument", symbol], ["side", booked.side], ["price", price]], "that of what it books");
  if (!seen.counted(symbol, booked.qty_lots, objectIn(trade).quantity)) yield "its quantity is not its lots";
}

/** Yield what a resolution books that its difference is not about; positive lots are on the side of the difference's order. */
function* adjustedFaults(seen, body, { lots, side: signed }, { name, instrument, reason }) {
  const booked = objectIn(body.adjustment), apart = [body.book_lots, body.broker_lots];
  if (!same(booked.instrument, instrument)) yield "it books another instrument than the difference's";
  if (!apart.every(isInteger) || apart[1] - apart[0] !== lots) yield "its two sides are not as far apart as what it books";
  let [decision, side] = seen.named.get(said(name)) ?? ["", undefined];
  if (reason === "ACCOUNT_LOTS") side = "BUY";
  else if (!decision) side = seen.whole ? signed : undefined;
  else if (body.decision_id !== decision) yield "its decision_id is not that of the difference's order";
  const wanted = isInteger(lots) && lots < 0 ? OTHER_SIDE.get(said(side)) : side;
  if ((side ?? null) !== null && !same(booked.side, wanted)) yield "it books another side than was signed";
}

function policyLines({ policy_digest: policy = null }, { role = null, signer = null, trial = null }) {
  if (!isGiven(trial)) return `countersign policy signature v1\n${canonical({ policy, role, signer })}`;
  return `countersign policy signature v2\n${canonical({ policy, role, signer, trial })}`;
}

const resolutionLines = (body) => [`difference ${said(body.of_seq)} ${said(body.of_leaf)}`, `terms ${spacedJson(objectIn(body.terms))}`];

/** What moves a book, in an adjustment that moves nothing. */
const NO_EFFECT = {
  lots: {}, amount_minor: 0, fill: null, split: null, positions: [], effective_us: null, marks: null, mark_ticks: null, trade: null,
};
const RATIO = /^([1-9][0-9]{0,3}):([1-9][0-9]{0,3})$/, MARKS = /^([1-9][0-9]{0,15})-([1-9][0-9]{0,15})$/, MINUTE_US = 60_000_000;

/** Return an amount in text in whole minor units, null if it is none. */
function minorOf({ profile: { minor_digits: digits } }, text) {
  const units = unitsOf(said(text));
  if (!isInteger(digits) || digits < 0 || units === null) return null;
  const all = units * 10n ** BigInt(digits), one = 10n ** BigInt(SCALE);
  return all % one ? null : Number(all / one);
}

/** Return how many units a total is, null if it is not whole. */
const wholeIn = (total, unit) => (isInteger(total) && isInteger(unit) && unit > 0 && total % unit === 0 ? total / unit : null);

/** Return the lots, ticks and unit of a line of terms, null where they do not give them. */
function lineIn(seen, { instrument, quantity, price }) {
  const { lot, tick_minor: tick } = seen.instrument(instrument);
  const found = [wholeIn(quantity, lot), wholeIn(minorOf(seen, price), tick), seen.unitOf(instrument)];
  return found.includes(null) ? null : found;
}

/** Return the beginning (UTC) of a split's first day; without one, its own time, if it fits. */
function dayUs({ effective }, { effective_us: begins, market_time_us: now }) {
  if (isGiven(effective)) {
    const day = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(said(effective)) ? new Date(`${effective}T00:00:00Z`) : new Date(NaN);
    return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(effective) ? day.getTime() * 1000 : null;
  }
  if (!isInteger(begins) || !isInteger(now)) return null;
  return now >= begins && now - begins <= MINUTE_US ? begins : now;
}

const movedCash = (sign) => (seen, { amount }) => {
  const minor = minorOf(seen, amount);
  return minor === null ? null : { amount_minor: sign * minor || 0 };
};

function tradedBeside(seen, terms) {
  const { instrument, side, quantity, price, fee } = terms, fee_minor = minorOf(seen, isGiven(fee) ? fee : "0"), found = lineIn(seen, terms); // eslint-disable-line camelcase
  if (found === null || fee_minor === null || !["BUY", "SELL"].includes(side)) return null; // eslint-disable-line camelcase
  const [lots, ticks, unit] = found, fill = { instrument, side, qty_lots: lots, price_ticks: ticks, fee_minor, unit_minor: unit }; // eslint-disable-line camelcase
  return { fill, trade: { instrument, side, price, quantity: said(quantity) }, lots: { [said(instrument)]: side === "BUY" ? lots : -lots || 0 } };
}

/** What the terms of each sort do to the record's account; null if they do not say it. */
const EFFECTS = {
  fee: movedCash(-1), cash: movedCash(1), dividend: movedCash(1), trade: tradedBeside, give_up: tradedBeside,
  opening(seen, { amount, positions }) {
    const cash = minorOf(seen, amount), lines = listIn(positions).map(objectIn), found = lines.map((line) => lineIn(seen, line));
    if (cash === null || found.includes(null)) return null;
    const opened = found.map(([lots, ticks, unit], i) => ({ instrument: lines[i].instrument, lots, price_ticks: ticks, unit_minor: unit }));
    return { amount_minor: cash, positions: opened, lots: Object.fromEntries(opened.map((one) => [said(one.instrument), one.lots])) };
  },
  split(seen, terms, body) {
    const found = RATIO.exec(said(terms.ratio)), begins = dayUs(terms, body), symbol = said(terms.instrument);
    if (!found || begins === null) return null;
    const [next, old] = [Number(found[1]), Number(found[2])], held = seen.whole ? seen.held.lots(body.account, symbol) : null;
    let more = objectIn(body.lots);
    if (held !== null) {
      const all = held * BigInt(next), down = all / BigInt(old) - (all < 0n && all % BigInt(old) ? 1n : 0n); // rounded down, as Python does
      more = held ? { [symbol]: Number(down - held) } : {};
    }
    return { split: [next, old], effective_us: begins, lots: more };
  },
  mark(seen, { marks, price, instrument }) {
    const found = MARKS.exec(said(marks));
    if (!found) return null;
    const numbers = [Number(found[1]), Number(found[2])];
    if (!isGiven(price)) return { marks: numbers };
    const ticks = wholeIn(minorOf(seen, price), seen.instrument(instrument).tick_minor);
    return ticks === null ? null : { marks: numbers, mark_ticks: ticks };
  },
};

/** Kinds whose signed text is in the record itself; others need records before it. */
const SIGNED_ALONE = ["kill_released", "fairness_agreed", ...Object.keys(SIGNED_KINDS).filter((kind) => SIGNED_KINDS[kind][1])];

/** Return a particular with a record's fields in it. */
const filled = (line, body) => line.replace(/\{(\w+)(:json)?\}/g, (_, name, json) => (json ? spacedJson(body[name] ?? null) : said(body[name])));

/** What officers sign, by kind: the statement's id, its purpose and particulars, and how many must sign. */
const SIGNED = {
  kill_released: (seen, { kill_epoch: epoch, press_id: press, live }) => ["release", "kill release", [
    `epoch ${said(epoch)}`, `press ${said(press)}`, ...(listIn(live).length ? [`although live ${live.map(said).join(" ")}`] : []),
  ], 2],
  stop_ended: (seen, { stop_ids: ids }) => ["resume", "stop resume", listIn(ids).map((one) => `stop ${said(one)}`),
    listIn(ids).some((one) => BY_BOTH.includes(seen.stops.get(said(one)))) ? 2 : 0],
  mode_entered: (seen, body) => ["mode", "mode change", [
    `from ${seen.mode || "none"}`, `to ${said(body.mode)}`, ...(isGiven(body.limits) ? [`within ${said(body.limits)}`] : []), `after record ${seen.modeSeq}`,
  ], modeSigners(seen, body)],
  model_promoted: (seen, body) => ["promotion", "model promotion", [
    `model ${said(body.model_digest)}`, `gate ${said(seen.tested.get(numberOr(body.tested_seq))?.gate)}`, `report ${said(body.report_blob)}`,
    `record ${said(body.tested_seq)}`,
  ], 2],
  fairness_agreed: (seen, body) => ["criteria", "fairness criteria", [`version ${said(objectIn(body.criteria).version)}`, `digest ${said(body.criteria_digest)}`], 2],
  difference_resolved: (seen, body) => (changesABook(body) ? ["difference", "difference resolution", resolutionLines(body), 2] : null),
  ...Object.fromEntries(Object.entries(SIGNED_KINDS).map(([kind, [, , purpose, ...lines]]) => (
    [kind, (_, body) => ["signed", purpose, lines.map((line) => filled(line, body)), 2]]
  ))),
};

/** Every statement of the table over a log or a bundle; give it every record with `see`, then call `finish`. */
class Statements {
  seen;
  #signed = [];

  constructor(whole) {
    this.seen = new Seen(whole);
  }

  /** Take one record whose bytes were verified, in order. */
  async see(report, { log, seq, stream, stream_seq: place, kind, actor, recorded_at_us: at }, body, leaf) {
    const decision = stream.startsWith("decision/") ? stream.slice("decision/".length) : "";
    const one = { log, seq, stream, place, kind, actor, at, body, leaf, decision };
    this.seen.enter(one);
    for (const name of new Set([...idsOf("*"), ...(decision ? idsOf("decision") : []), ...idsOf(kind)])) {
      for await (const found of JUDGES[name](this.seen, one)) report.find(TAMPERED, `${name}: ${found}`, seq);
    }
    this.#toSign(one);
    this.seen.take(one);
  }

  #toSign({ seq, kind, body }) {
    if (kind === "policy_activated") {
      const rows = listIn(body.signatures).map(objectIn), texts = new Map(rows.map((one) => [said(one.role), policyLines(body, one)]));
      const signatures = Object.fromEntries(rows.map((one) => [said(one.role), one.signature]));
      this.#signed.push({ seq, id: "policy", texts, signatures, needed: OFFICERS.length });
    } else if (Object.hasOwn(SIGNED, kind)) {
      const [id, purpose, lines, needed] = SIGNED[kind](this.seen, body) ?? [];
      if (!id) return;
      const log = body.log_id === undefined ? this.seen.logId : said(body.log_id);
      if (!log || !(this.seen.whole || SIGNED_ALONE.includes(kind))) return;
      const source = [FORM, purpose, log, ...lines].map((line) => `${line}\n`).join("");
      this.#signed.push({ seq, id, texts: new Map(OFFICERS.map((role) => [role, source])), signatures: objectIn(body.signatures), needed });
    }
  }

  /** Note a record of which only the bytes were verified. */
  skip(header) {
    this.seen.skip(header);
  }

  /** Check what officers signed; `spans` has their keys with the record they count from. */
  async finish(report, spans) {
    if (this.seen.whole && this.seen.awaited) report.find(INCOMPLETE, "index: the log ends before the line of its last record", this.seen.last);
    if (!spans.length) {
      const counts = new Map();
      for (const { id } of this.#signed) counts.set(id, (counts.get(id) ?? 0) + 1);
      for (const id of [...counts.keys()].sort()) report.say(`${counts.get(id)} records of the statement ${id}: \`verify --officer\` checks who signed`);
      return;
    }
    let sound = 0;
    for (const { seq, id, texts, signatures, needed } of this.#signed) {
      const keys = spans.find(({ since }) => since < seq)?.keys ?? new Map();
      let given = 0;
      for (const [role, source] of texts) given += Number(await oneSigned(source, signatures[role], keys.get(role)));
      if (given >= needed) sound += 1;
      else report.find(TAMPERED, `${id}: its officers did not sign this`, seq);
    }
    if (this.#signed.length) report.say(`${sound} of ${this.#signed.length} statements of officers: signed as needed`);
  }
}

// ---- one decision: a bundle -----------------------------------------------------------------------

const BUNDLE = "countersign-bundle/2";

/** Formats of before, with who reads them. */
const READ_BY = new Map([["countersign-bundle/1", "commit fe4a99b2 is the last that reads it"]]);

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Return numbers in little-endian order; each is given with its width in bytes. */
function little(...pairs) {
  const out = [];
  for (const [value, width] of pairs) for (let i = 0; i < width; i += 1) out.push(Math.floor(value / 2 ** (8 * i)) % 256);
  return Uint8Array.from(out);
}

/** Return the canonical ZIP: names sorted, no compression, every time 1980-01-01, Unix mode 0644. */
function writeZip(files) {
  const names = [...files.keys()].sort(), local = [], central = [];
  let at = 0;
  for (const name of names) {
    const data = files.get(name), path = utf8(name);
    // version 2.0, no flags, stored, time 0, date 0x21; then CRC, both sizes, length of name and extra
    const common = little([20, 2], [0, 2], [0, 2], [0, 2], [0x21, 2], [crc32(data), 4], [data.length, 4], [data.length, 4], [path.length, 2], [0, 2]);
    const header = concat(utf8("PK\x03\x04"), common, path);
    central.push(utf8("PK\x01\x02"), little([20, 1], [3, 1]), common, little([0, 2], [0, 2], [0, 2], [0o100644 * 65536, 4], [at, 4]), path);
    local.push(header, data);
    at += header.length + data.length;
  }
  const directory = joinAll(central), many = names.length, long = directory.length, ends = at + long;
  const count = Math.min(many, 0xffff);
  const end = little([0, 2], [0, 2], [count, 2], [count, 2], [long, 4], [at, 4], [0, 2]);
  // beyond 65,535 names: the ZIP64 record and its locator
  const large = many <= 0xffff ? [] : [
    utf8("PK\x06\x06"), little([44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [many, 8], [many, 8], [long, 8], [at, 8]),
    utf8("PK\x06\x07"), little([0, 4], [ends, 8], [1, 4]),
  ];
  return joinAll([...local, directory, ...large, utf8("PK\x05\x06"), end]);
}

/** Read the stored entries from the front; writing them again shows whether anything else was there. */
function readZip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), files = new Map();
  let at = 0;
  while (at + 30 <= bytes.length && view.getUint32(at, true) === 0x04034b50) {
    const size = view.getUint32(at + 22, true), name = at + 30, data = name + view.getUint16(at + 26, true);
    if (view.getUint16(at + 8, true) !== 0 || view.getUint16(at + 28, true) !== 0 || data + size > bytes.length) throw new Bad("not a bundle: an entry is cut off, or not stored plainly");
    if (view.getUint32(at + 14, true) !== crc32(bytes.subarray(data, data + size))) throw new Bad("not a bundle: an entry has another checksum");
    files.set(text(bytes.subarray(name, data)), bytes.subarray(data, data + size));
    at = data + size;
  }
  return files;
}

function part(files, name) {
  if (!files.has(name)) throw new Bad(`not a bundle: it has no ${name}`);
  return files.get(name);
}

/** Return the parts of a bundle; foreign files are dropped here, and found when it is written again. */
function readBundle(bytes) {
  const files = readZip(bytes), manifest = parseCanonical(part(files, "manifest.json")), { format } = manifest ?? {};
  if (format !== BUNDLE) {
    if (isText(format) && /^countersign-bundle\/[1-9][0-9]{0,3}$/.test(format)) {
      throw new Unknown(`a bundle of the format ${format} is not read here: ${READ_BY.get(format) ?? "a later verifier may know it"}`);
    }
    throw new Bad("the manifest names no format");
  }
  if (!isText(manifest.stream)) throw new Bad("the manifest names no stream");
  const records = [];
  for (const name of [...files.keys()].sort()) {
    const stem = /^records\/(.*)\.header\.json$/s.exec(name)?.[1];
    if (stem === undefined) continue;
    const path = parseCanonical(part(files, `proofs/${stem}.json`));
    if (!Array.isArray(path)) throw new Bad(`the path of ${stem} is none`);
    records.push({ headerBytes: files.get(name), payloadBytes: part(files, `records/${stem}.payload.json`), path: path.map(unhex) });
  }
  const blobs = new Map([...files].filter(([name]) => name.startsWith("blobs/")).map(([name, data]) => [name.slice(6), data]));
  const link = files.has("consistency.txt") ? readLink(files.get("consistency.txt")) : null;
  return { files, stream: manifest.stream, note: part(files, "checkpoint.txt"), verifier: part(files, "verify.py"), records, blobs, link };
}

/** Return the bundle's bytes, written again from what was judged, to be compared with the file. */
async function writeBundle({ files, stream, note, verifier, records, blobs, link }) {
  const out = new Map([["checkpoint.txt", note], ["verify.py", verifier]]);
  if (link) out.set("consistency.txt", files.get("consistency.txt")).set("witnessed.txt", link.note);
  for (const [digest, data] of blobs) out.set(`blobs/${digest}`, data);
  for (const { header, payload, headerBytes, payloadBytes, path } of records) {
    const name = `${String(header.seq).padStart(12, "0")}-${header.kind}`;
    out.set(`records/${name}.header.json`, headerBytes).set(`records/${name}.payload.json`, payloadBytes);
    out.set(`proofs/${name}.json`, utf8(canonical(path.map(hex))));
    // FIX messages once more, a field on each line, for reading
    if (isText(payload.raw)) out.set(`fix/${name}.txt`, utf8(payload.raw.replaceAll("\x01", "|\n")));
  }
  const manifest = { dev: records.some(({ payload }) => payload.dev === true), format: BUNDLE, stream, verifier_sha256: hex(await sha256(verifier)) };
  out.set("manifest.json", utf8(canonical(manifest)));
  return writeZip(out);
}

async function judgeBundle(report, bytes, trust, options) {
  refuse(report, options, "a bundle", "header", "payload");
  const bundle = readBundle(bytes), disclosed = await Disclosed.read(options.disclosures), { stream } = bundle;
  const signed = readCheckpoint(bundle.note);
  for (const record of bundle.records) Object.assign(record, await readRecord(record.headerBytes, record.payloadBytes));
  const links = [...(bundle.link ? [bundle.link] : []), ...options.links];
  await judgeHead(report, trust, signed, { ...options, links }, await changesIn(bundle.records));
  for (const record of bundle.records) {
    await judgePlace(report, record, record.path, signed);
    disclosed.see(report, record.header);
  }
  await judgeStream(report, stream, bundle.records, signed.size);
  await judgeForecasts(report, bundle.records);
  judgeStanding(report, stream, bundle.records);
  judgeContext(report, stream, bundle.records);
  await judgeBlobs(report, bundle);
  for (const record of bundle.records) record.upTo = await rootUpTo(record.leaf, record.header.seq, signed.size, record.path);
  await judgeSeeds(report, bundle.records);
  await judgeWords(report, bundle.records, options);
  const digest = hex(await sha256(bundle.verifier));
  report.say(`the verify.py in it has the digest ${digest}: run one that you took elsewhere`);
  if (!equal(await writeBundle(bundle), bytes)) report.find(TAMPERED, "the bytes are not those of the canonical bundle of this content");
  disclosed.finish(report);
  Unread.of(bundle.records.map(({ header }) => header)).finish(report);
  report.say(`${stream}: ${bundle.records.length} records under ${signed.origin} at ${signed.size}`);
}

/** Judge approvals, fills, baskets, and what two officers signed. */
async function judgeWords(report, records, { fills: broker, officers }) {
  const approvals = new Approvals(), fills = new Fills(broker, false), signed = new OfficersWord(officers), baskets = new Baskets();
  const statements = new Statements(false);
  for (const { header, payload, leaf } of [...records].sort((a, b) => a.header.seq - b.header.seq)) {
    if (!known(header)) {
      statements.skip(header);
      continue;
    }
    approvals.see(report, header, payload, leaf);
    fills.see(report, header, payload, leaf);
    await statements.see(report, header, payload, leaf);
    signed.see(header, payload, leaf);
    baskets.see(header, payload);
  }
  fills.finish(report);
  await statements.finish(report, await signed.finish(report, fills.reliedOn));
  await baskets.finish(report, false, true);
}

/** Check that a decision's records are complete: dense, chained, mapped, sealed. */
async function judgeStream(report, stream, records, size) {
  const own = records.filter(({ header }) => header.stream === stream), streams = new Streams();
  for (const { header, leaf } of own) await streams.follow(report, header, leaf);
  const maps = [], others = [];
  for (const record of records) (record.header.kind === "stream_heads" && known(record.header) ? maps : others).push(record);
  judgeMaps(report, maps, size, others);
  // the map of the checkpoint itself: its last part is the last record below it
  const last = maps.filter(({ header, payload }) => header.seq + payload.parts - payload.part === size);
  const rows = last.flatMap(({ payload }) => payload.heads).filter(([name]) => name === stream);
  for (const row of rows) judgeEnd(report, row, streams.at(stream));
  if (!rows.length) report.find(INCOMPLETE, "the checkpoint's own stream-head map does not name the decision");
  judgeSeal(report, stream, own.map(({ header }) => header));
}

/** Check that each attempt at a forecast is here from its first record to its seal. */
async function judgeForecasts(report, records) {
  const found = new Map(), streams = new Streams();
  for (const { header, leaf } of [...records].sort((a, b) => a.header.seq - b.header.seq)) {
    if (!header.stream.startsWith("forecast/")) continue;
    found.set(header.stream, [...(found.get(header.stream) ?? []), header]);
    await streams.follow(report, header, leaf);
  }
  for (const [stream, headers] of found) judgeSeal(report, stream, headers, "forecast_sealed");
}

// ---- which forecast stood --------------------------------------------------------------------------
// By the part of its instrument's index from the line by which the forecast stands that a decision names
// to the first line after the decision named it. Where there is none, maps show that the index ended: one
// after the decision names the end, or each one from the last line on is there and names no later line.

/** Check that no forecast was passed over that stood when a decision named another: its own, or a member
 * of its joint paths. */
function judgeStanding(report, stream, records) {
  const shown = [...records].sort((a, b) => a.header.seq - b.header.seq);
  const sets = new Map(shown.filter(({ header }) => header.kind === "paths_joined").map((one) => [one.header.seq, one]));
  let taken = null, seen = new Set();
  for (const { header, payload } of shown) {
    if (header.stream !== stream || !known(header)) continue;
    const { payload: joined = {} } = sets.get(objectIn(objectIn(payload.paths).joint).of_seq) ?? {};
    let named = listIn(joined.members).map(objectIn).map(({ instrument, forecast_id: id, attempt = 0 }) => [instrument, id, attempt]);
    if (header.kind === "forecast_taken") {
      const { of_seq: ofSeq = null, missing, instrument, forecast_id: id, forecast_attempt: attempt = 0 } = payload;
      [taken, seen] = [ofSeq !== null && !isGiven(missing) ? header.seq : null, new Set()];
      named = [[instrument, id, attempt]];
    }
    for (const [instrument = null, id = null, attempt = null] of taken === null ? [] : named) {
      if (seen.has(said(instrument))) continue;
      seen.add(said(instrument));
      judgeIndex(report, taken, `instrument/${said(instrument)}`, [id, attempt], shown);
    }
  }
}

/** Follow an index from the line of the forecast that a decision names to the one after it. */
function judgeIndex(report, seq, index, [id, attempt], shown) {
  const lines = new Map();
  const stands = ({ header, payload }) => known(header) && STANDS.includes(payload.event);
  let at;
  for (const one of shown.filter(({ header }) => header.stream === index)) {
    lines.set(one.header.stream_seq, one);
    const { forecast_id: listed = null, attempt: number = null } = one.payload;
    if (one.header.seq < seq && stands(one) && same([listed, number], [id, attempt])) at = one;
  }
  if (!at) return report.find(INCOMPLETE, "index: the line by which its forecast stands is not shown", seq);
  for (let after = lines.get(at.header.stream_seq + 1); after; after = lines.get(at.header.stream_seq + 1)) {
    if (after.header.prev !== hex(at.leaf)) return report.find(TAMPERED, "prev is not the leaf before it", after.header.seq);
    if (after.header.seq > seq) return undefined;
    if (!known(after.header)) return report.find(NOT_CHECKABLE, "index: a line of an unknown version: which forecast stood cannot be seen", after.header.seq);
    if (stands(after)) return report.find(TAMPERED, `index: ${PASSED_OVER}`, seq);
    at = after;
  }
  const beyond = Math.min(...[...lines.keys()].filter((place) => place > at.header.stream_seq));
  if (beyond < Infinity) return report.find(INCOMPLETE, `${index} goes from ${at.header.stream_seq} to ${beyond}`, lines.get(beyond).header.seq);
  return judgeIndexEnd(report, seq, at, shown);
}

/** Check by maps that an index had no line between its last one here and a decision. */
function judgeIndexEnd(report, taken, { header: { stream: index, stream_seq: number, seq: last }, leaf }, shown) {
  const maps = ({ header }) => header.kind === "stream_heads", end = { number, leaf: hex(leaf) };
  for (const { header, payload } of shown.filter((one) => maps(one) && known(one.header) && one.header.seq > last)) {
    for (const row of payload.heads.filter(([name]) => name === index)) {
      if (!same(row, [index, end.number, end.leaf])) return judgeEnd(report, row, end);
      if (header.seq > taken) return undefined;
    }
  }
  const line = new Map(shown.filter(({ header }) => header.stream === "control").map((one) => [one.header.stream_seq, one]));
  let before = { place: -1, leaf: ZERO_HASH };
  for (const one of line.values()) if (one.header.seq < last) before = { place: one.header.stream_seq, leaf: hex(one.leaf) };
  for (let after = line.get(before.place + 1); after && (known(after.header) || !maps(after)); after = line.get(before.place + 1)) {
    if (after.header.prev !== before.leaf) return report.find(TAMPERED, "prev is not the leaf before it", after.header.seq);
    if (after.header.seq > taken && maps(after) && after.payload.part + 1 === after.payload.parts) return undefined;
    before = { place: after.header.stream_seq, leaf: hex(after.leaf) };
  }
  return report.say(`record ${taken}: whether a newer forecast stood is not checkable: maps of the streams' ends are not shown`);
}

// ---- where seeds come from -------------------------------------------------------------------------
// Rule 3: a seed's root is that of the largest checkpoint before the record that opened the first
// attempt at its forecast, for every attempt. Every checkpoint ends with a stream-head map, a record of
// the dense and chained stream `control`: the log itself shows that no checkpoint stood between.

const SEED_RULE = 3, PATHS_MAX = 65536;

async function hmac(key, message) {
  const pad = (byte) => Uint8Array.from({ length: 64 }, (_, i) => byte ^ (key[i] ?? 0));
  return sha256(pad(0x5c), await sha256(pad(0x36), message));
}

const bigEndian = (number) => new Uint8Array(new Uint32Array([number]).buffer).reverse();

/** Return the seed of an attempt at a forecast. Its label is the digest of the prompt's token ids, in hex. */
async function seedOf(root, promptIds, attempt) {
  const key = await hmac(utf8("countersign/decision-seed/v1"), root), label = hex(await sha256(utf8(canonical(promptIds))));
  return hmac(key, concat(utf8(label), Uint8Array.of(0), bigEndian(attempt), Uint8Array.of(1)));
}

/** Return the seeds of an attempt's trajectories in the form that records have. */
export async function seedsOf(root, promptIds, attempt, n) {
  const seed = await seedOf(root, promptIds, attempt), seeds = [];
  for (let i = 0; i < n; i += 1) {
    const drawn = await hmac(seed, concat(utf8("countersign/trajectory/v1"), bigEndian(i)));
    seeds.push(String(BigInt(`0x${hex(drawn.subarray(0, 8))}`) >> 1n));
  }
  return seeds;
}

/** Return whether a request's seeds follow rule 3; a later rule is not known here. */
function judgeRule(report, { header: { seq }, payload: { seed_rule: rule } }) {
  if (isInteger(rule) && rule > SEED_RULE) report.find(NOT_CHECKABLE, `its seed follows rule ${rule}, not known here`, seq);
  else if (rule !== SEED_RULE) report.find(TAMPERED, `its seed does not follow rule ${SEED_RULE}`, seq);
  return rule === SEED_RULE;
}

/** Return whether the seeds follow from the named root and it is not a later one. The paths of a direct
 * forecast have none: its capture's record has the seed of its draws. */
async function judgeSeed(report, { header, payload }, opened, { id, number }) {
  const { seed_size: size, seed_root: root, paths = null, sampler = null } = payload;
  if (!isInteger(size) || !isInteger(paths) || paths <= 0 || paths > PATHS_MAX || !isText(root) || !/^[0-9a-f]{64}$/.test(root)) throw new Bad("a request for a forecast says nothing of its seeds");
  const seeds = sampler === "direct" ? null : await seedsOf(unhex(root), payload.prompt_ids ?? null, number, paths);
  const digest = seeds === null ? "" : hex(await sha256(utf8(canonical(seeds))));
  if (size <= 0 || size > opened) report.find(TAMPERED, "its seed comes from a later root", header.seq);
  else if (payload.seeds_digest !== digest) report.find(TAMPERED, "its seeds do not follow from its root", header.seq);
  else return true;
  return false;
}

/** The seeds of a whole log, judged record by record. */
class Seeds {
  #opened = new Map();

  /** Judge a record; `mapped` is the size of the tree that ends with the last whole map. */
  async see(report, record, mapped, roots) {
    const { header: { stream, stream_seq: place, seq, kind } } = record, attempt = attemptIn(stream);
    if (!attempt) return;
    if (attempt.number === 0 && place === 0) this.#opened.set(attempt.id, { opened: seq, before: mapped });
    const first = this.#opened.get(attempt.id);
    if (kind !== "forecast_requested" || !first) return;
    if (judgeRule(report, record) && (await judgeSeed(report, record, first.opened, attempt))) this.#hold(report, record, first.before, roots.get(first.before));
  }

  #hold(report, { header: { seq }, payload }, before, root) {
    if (payload.seed_size !== before) report.find(TAMPERED, `its seed is the root of ${payload.seed_size}, the last checkpoint was of ${before}`, seq);
    else if (!root) report.find(INCOMPLETE, `no checkpoint of ${before}: its seed's root`, seq);
    else if (hex(root) !== payload.seed_root) report.find(TAMPERED, "its seed's root is none that was signed", seq);
  }
}

/** Judge each request for a forecast in a bundle, as far as records are shown. */
async function judgeSeeds(report, records) {
  const opened = new Map();
  for (const record of [...records].sort((a, b) => a.header.seq - b.header.seq)) {
    const { header: { kind, seq, stream, stream_seq: place } } = record, attempt = attemptIn(stream);
    if (!attempt) continue;
    if (attempt.number === 0 && place === 0) opened.set(attempt.id, seq);
    if (kind !== "forecast_requested" || !known(record.header) || !judgeRule(report, record)) continue;
    const first = opened.get(attempt.id);
    if (first === undefined) report.say(`record ${seq}: its seed's root is not checkable: the first attempt at its forecast is not shown`);
    else if (await judgeSeed(report, record, first, attempt)) await judgeLast(report, record, first, records);
  }
}

/** Check by the stream of maps that no later checkpoint stood before the opening record. */
async function judgeLast(report, { header: { seq }, payload: { seed_size: size, seed_root: root } }, opened, records) {
  const maps = (header) => header.kind === "stream_heads";
  const ends = ({ header, payload }) => maps(header) && known(header) && payload.part + 1 === payload.parts;
  let before = records.find(({ header }) => header.seq === size - 1);
  if (!before || !known(before.header)) return report.say(`record ${seq}: its seed's root is not checkable: its map is not shown`);
  if (hex(before.upTo) !== root) return report.find(TAMPERED, "its seed's root is not that of its tree", seq);
  if (!ends(before)) return report.find(TAMPERED, "its seed's root is of no checkpoint", seq);
  const line = new Map(records.filter(({ header }) => header.stream === "control").map((record) => [record.header.stream_seq, record]));
  while (before.header.seq < opened) {
    const after = line.get(before.header.stream_seq + 1);
    if (!after || (maps(after.header) && !known(after.header))) {
      return report.say(`record ${seq}: its seed is the root of ${size}; whether a later one stood before record ${opened} is not checkable`);
    }
    if (after.header.prev !== hex(before.leaf)) return report.find(TAMPERED, "prev is not the leaf before it", after.header.seq);
    before = after;
    if (before.header.seq < opened && ends(before)) return report.find(TAMPERED, `its seed is the root of ${size}, a later checkpoint stood before ${opened}`, seq);
  }
  return report.say(`record ${seq}: its seed is the root of ${size}, the last before ${opened}`);
}

/** Check that runs, policies, messages and forecasts were recorded before they were named. */
function judgeContext(report, stream, records) {
  const there = new Map();
  for (const { header, payload } of records) {
    if (!known(header)) continue;
    const name = {
      run_started: ["run", payload.run_id],
      policy_activated: ["policy", payload.policy_digest],
      fix_inbound: ["inbound", header.stream, payload.offset],
      override_granted: ["override", payload.override_id],
      snapshot_taken: ["forecast", header.stream.replace(/^forecast\//, "")],
      paths_joined: ["joint", header.stream.replace(/^joint\//, "")],
    }[header.kind];
    const key = name && JSON.stringify(name);
    if (key && !(there.get(key) <= header.seq)) there.set(key, header.seq);
  }
  for (const { header, payload } of records) {
    const isSet = header.kind === "paths_joined";
    if (!known(header) || !(header.stream === stream || isSet || attemptIn(header.stream))) continue;
    const named = [["run", payload.run_id], ["policy", payload.policy_digest]];
    const session = isText(payload.session) ? `session/${payload.session}` : null;
    if (["order_reported", "order_ended"].includes(header.kind)) named.push(["inbound", session, payload.inbox_offset]);
    const state = header.kind === "verdict_given" ? payload.state : null;
    if (isObject(state) && isObject(state.override)) named.push(["override", state.override.override_id]);
    for (const { forecast_id: id = null, attempt = null } of (isSet ? listIn(payload.members) : []).map(objectIn)) named.push(["forecast", `${said(id)}.${said(attempt)}`]);
    const { joint_id: joint = null } = objectIn(objectIn(payload.paths).joint);
    named.push(["joint", joint === null ? null : said(joint)]);
    const { forecast_id: taken, forecast_attempt: number = 0 } = payload;
    if (header.kind === "forecast_taken" && isGiven(taken)) named.push(["forecast", `${said(taken)}.${said(number)}`]);
    const opened = header.kind === "snapshot_taken" ? attemptIn(header.stream) : null;
    if (opened?.number) named.push(["forecast", `${opened.id}.${opened.number - 1}`]);
    for (const name of named) {
      const last = name.at(-1);
      if (last === undefined || last === null || there.get(JSON.stringify(name)) < header.seq) continue;
      report.find(INCOMPLETE, `names ${name.join(" ")}: missing`, header.seq);
    }
  }
}

/** Check that every named blob is there, and that every blob is named and has its digest. */
async function judgeBlobs(report, { blobs, records }) {
  const named = new Set();
  for (const { header, payload } of records) {
    for (const digest of new Set(blobsOf(payload))) {
      named.add(digest);
      if (known(header) && !blobs.has(digest)) report.find(INCOMPLETE, `blob ${digest} is missing`, header.seq);
    }
  }
  for (const [digest, data] of blobs) {
    if (hex(await sha256(data)) !== digest) report.find(TAMPERED, `blob ${digest} has other content`);
    if (!named.has(digest)) report.find(TAMPERED, `blob ${digest} belongs to no record`);
  }
}

// ---- a whole log: a dump --------------------------------------------------------------------------

const DUMP = {
  head: { origin: "text", size: "number", root: "bytes", frontier: "bytes" },
  checkpoint: { size: "number", note: "bytes" },
  blob: { digest: "bytes", data: "bytes" },
  entry: {
    stream: "text", kind: "text", actor: "text", idem_key: "text", seq: "number", stream_seq: "number", version: "number",
    recorded_at_us: "number", prev: "bytes", payload_digest: "bytes", leaf: "bytes", header: "bytes", payload: "bytes", account: "text?",
  },
  end: { entries: "number" },
};
const STAGES = Object.keys(DUMP);
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

function readLine(bytes) {
  let row, bare;
  try {
    const source = text(bytes);
    row = JSON.parse(source);
    bare = source.replace(STRING, ""); // without its strings: numbers, null, punctuation
  } catch {
    throw new Bad("a line is not JSON");
  }
  // JSON.parse keeps the last of two fields of one name, and takes 2.0 and 2e0 for 2
  if (isObject(row) && bare.split(":").length - 1 !== Object.keys(row).length) throw new Bad("a line has a field twice");
  if (/[.eE]/.test(bare)) throw new Bad("a number has another form");
  const { type, ...fields } = isObject(row) ? row : {};
  const shape = isText(type) && Object.hasOwn(DUMP, type) ? DUMP[type] : null;
  if (!shape || Object.keys(fields).sort().join() !== Object.keys(shape).sort().join()) throw new Bad("a line has other fields");
  for (const [name, wanted] of Object.entries(shape)) {
    const value = fields[name];
    if (wanted === "bytes") fields[name] = unbase64(value);
    else if (wanted === "number" ? !isInteger(value) : !isText(value) && !(wanted === "text?" && value === null)) {
      throw new Bad(`${name} of a line of type ${type} has another type`);
    }
  }
  return { type, row: fields };
}

/** A whole log, line by line; memory grows with streams, checkpoints, blobs and idempotency keys. */
class LogVerifier {
  report;
  #trust;
  #disclosed;
  #rotations;
  #given = []; // changes of keys, from outside
  #changes = []; // and the log's own
  #stage = "";
  #head = null;
  #origin = null;
  #announced = null;
  #tree = new Tree();
  #roots = new Map(); // size to root, as signed
  #notes = [];
  #compared = new Set();
  #checked = 0; // the newest size whose root was compared
  #last = -1;
  #whole = true;
  #disordered = false;
  #blobs = new Set();
  #streams = new Streams();
  #unread = new Unread();
  #changed = new Map(); // streams since the last map
  #map = { expected: [], rows: [], next: 0, parts: 0, seq: -1 };
  #mapped = 0;
  #seeds = new Seeds();
  #fills;
  #signed;
  #successions = new PolicySuccessions();
  #approvals = new Approvals();
  #statements = new Statements(true);
  #baskets = new Baskets();

  constructor(report, trust, disclosed, { rotations, fills, officers }) {
    [this.report, this.#trust, this.#disclosed, this.#rotations] = [report, trust, disclosed, rotations];
    [this.#fills, this.#signed] = [new Fills(fills), new OfficersWord(officers)];
  }

  async line(bytes) {
    if (this.#announced !== null) throw new Bad("the dump goes on after its end");
    const { type, row } = readLine(bytes);
    if (type === "end") {
      this.#announced = row.entries;
      return;
    }
    const right = this.#stage === "" ? type === "head" : type !== "head" && STAGES.indexOf(type) >= STAGES.indexOf(this.#stage);
    if (!right && !this.#disordered) {
      this.#disordered = true;
      this.report.find(TAMPERED, `a ${type} out of order, after ${this.#stage || "nothing"}`);
    }
    this.#stage = type;
    if (type === "checkpoint") await this.note(row.note, row.size);
    else if (type === "entry") await this.#entry(row);
    else if (type === "blob") await this.#blob(row);
    else await this.#start(row);
  }

  async #start(row) {
    if (this.#origin !== null && this.#origin !== row.origin) this.report.find(TAMPERED, `the trusted checkpoint is not of the log ${row.origin}`);
    [this.#head, this.#origin] = [row, row.origin];
    try {
      this.#given = await readGiven(this.#rotations, row.origin);
    } catch (error) {
      this.report.caught(error);
    }
  }

  async #blob({ digest, data }) {
    if (!equal(await sha256(data), digest)) this.report.find(TAMPERED, `blob ${hex(digest)} has other content`);
    this.#blobs.add(hex(digest));
  }

  /** Take a checkpoint, stored under a size or kept outside. Its signers are judged at the end, when all changes of keys are known. */
  async note(bytes, size = null) {
    let checkpoint;
    try {
      checkpoint = readCheckpoint(bytes);
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      this.report.find(TAMPERED, `checkpoint of ${size}: ${error.message}`);
      return;
    }
    this.#origin ??= checkpoint.origin;
    if ((size !== null && size !== checkpoint.size) || checkpoint.origin !== this.#origin) {
      this.report.find(TAMPERED, `checkpoint of ${size} states ${checkpoint.origin} and ${checkpoint.size}`);
      return;
    }
    const before = this.#roots.get(checkpoint.size);
    if (before && !equal(before, checkpoint.root)) this.report.find(TAMPERED, `two checkpoints of ${checkpoint.size} differ`);
    else this.#roots.set(checkpoint.size, checkpoint.root);
    this.#notes.push(checkpoint);
    if (checkpoint.size === 0) {
      this.#compared.add(0);
      if (!equal(checkpoint.root, await new Tree().root())) this.report.find(TAMPERED, "the checkpoint of 0 is not that of an empty log");
    }
  }

  async #entry(row) {
    const { seq } = row;
    if (seq !== this.#last + 1) {
      this.#whole = false;
      if (seq > this.#last) this.report.find(INCOMPLETE, `missing, as all up to record ${seq}`, this.#last + 1);
      else this.report.find(TAMPERED, `out of order, after record ${this.#last}`, seq);
    }
    this.#last = Math.max(seq, this.#last);
    try {
      await this.#judge(row);
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      this.report.find(TAMPERED, error.message, seq);
      this.#streams.heads.set(row.stream, { number: row.stream_seq, leaf: hex(row.leaf), seq });
    }
    await this.#tree.append(row.leaf);
    if (this.#whole && this.#roots.has(this.#tree.size)) await this.#compare(row);
  }

  /** Compare the tree so far with the checkpoint of its size. */
  async #compare({ seq }) {
    const { size } = this.#tree;
    this.#compared.add(size);
    if (!equal(this.#roots.get(size), await this.#tree.root())) {
      this.report.find(TAMPERED, `the tree of ${size} is not the one signed, that of ${this.#checked} is`, this.report.firstBadSeq === null ? this.#checked : null);
      this.#whole = false;
    } else if (this.#mapped !== size && !this.#unread.maps) {
      this.report.find(TAMPERED, "signed without a stream-head map before it", seq);
    }
    this.#checked = size;
  }

  /** Compare every column with the hashed bytes, and the record with its stream. */
  async #judge(row) {
    const { header, payload, leaf } = await readRecord(row.header, row.payload);
    if (!equal(leaf, row.leaf)) throw new Bad("the leaf is not the header's hash");
    const stated = {
      seq: row.seq, stream: row.stream, stream_seq: row.stream_seq, kind: row.kind, version: row.version, actor: row.actor,
      recorded_at_us: row.recorded_at_us, idem_key: row.idem_key, prev: hex(row.prev), payload_sha256: hex(row.payload_digest),
      log: this.#head?.origin ?? header.log,
    };
    const differing = Object.keys(stated).filter((name) => stated[name] !== header[name]);
    if (row.account !== (payload.account ?? null)) differing.push("account");
    if (differing.length) throw new Bad(`${differing.join(", ")} differs from the hashed bytes`);
    await this.#streams.follow(this.report, header, leaf);
    this.#disclosed.see(this.report, header);
    if (known(header)) {
      await this.#interpret(header, payload);
      this.#approvals.see(this.report, header, payload, leaf);
      this.#fills.see(this.report, header, payload, leaf);
      this.#statements.seen.whole = this.#whole;
      await this.#statements.see(this.report, header, payload, leaf);
      this.#signed.see(header, payload, leaf);
      this.#successions.see(header, payload);
      this.#baskets.see(header, payload);
      this.#unread.see(header);
      if (this.#whole) await this.#seeds.see(this.report, { header, payload }, this.#mapped, this.#roots);
    } else {
      this.#unread.add(header);
      this.#statements.skip(header);
      this.#unread.maps ||= header.kind === "stream_heads";
    }
    this.#changed.set(header.stream, [header.stream, header.stream_seq, hex(leaf)]);
  }

  async #interpret(header, payload) {
    for (const digest of new Set(blobsOf(payload))) {
      if (!this.#blobs.has(digest)) this.report.find(INCOMPLETE, `blob ${digest} is missing`, header.seq);
    }
    if (header.kind === "stream_heads") this.#judgeMap(payload, header.seq);
    else this.#changes.push(...(await changesIn([{ header, payload }])));
  }

  /** Compare a map, part by part, with the streams that changed since the last one. */
  #judgeMap({ part: number, parts, heads }, seq) {
    const broken = number === 0 ? this.#map.next > 0 : number !== this.#map.next || parts !== this.#map.parts || seq !== this.#map.seq + number;
    if (broken && this.#whole) this.report.find(TAMPERED, "the parts of a stream-head map do not follow each other", seq);
    if (number === 0) {
      this.#map = { expected: [...this.#changed.values()].sort((a, b) => compareCodePoints(a[0], b[0])), rows: [], parts, seq };
      this.#changed = new Map();
    }
    this.#map.next = (number + 1) % parts;
    const { expected, rows } = this.#map;
    for (const row of heads) rows.push(row);
    if (number + 1 !== parts) return;
    this.#mapped = seq + 1;
    if (canonical(rows) === canonical(expected)) return;
    const stated = new Map(rows.map((row) => [row[0], row]));
    for (const [name, count, leaf] of expected) {
      const [, found, other] = stated.get(name) ?? [];
      if (found === count && other !== leaf) this.report.find(TAMPERED, `is not the one that the stream-head map of record ${seq} names`, this.#streams.at(name).seq);
    }
    if (this.#whole) throw new Bad("the stream-head map is not that of the streams");
    for (const [name, count] of stated.values()) {
      const have = this.#streams.at(name).number;
      if (count > have) this.report.find(INCOMPLETE, `${name} ends at ${have} here, at ${count} in the map of record ${seq}`);
    }
  }

  async finish() {
    const { report } = this, { size } = this.#tree, beyond = largest(this.#roots.keys());
    if (this.#announced === null) report.find(INCOMPLETE, "the dump has no end");
    else if (this.#announced !== size) report.find(INCOMPLETE, `${this.#announced} records announced, ${size} found`, size);
    if (beyond > size) report.find(INCOMPLETE, `a checkpoint of ${beyond} is signed, ${size} found`, size);
    if (!this.#head) report.find(INCOMPLETE, "there is no head");
    else if (this.#whole) await this.#judgeStoredHead();
    try {
      await this.#trust.follow(report, this.#changes, this.#given);
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      report.find(TAMPERED, `a change of keys: ${error.message}`);
    }
    const seen = await this.#judgeKeys();
    if (this.#whole) {
      this.#judgeCoverage();
      await this.#judgeWitnesses(seen);
    }
    if (!this.#trust.logs.size) report.find(NOT_CHECKABLE, "no trusted key given: nothing says who wrote this");
    this.#disclosed.finish(report);
    this.#fills.finish(report);
    await this.#statements.finish(report, await this.#signed.finish(report, this.#fills.reliedOn));
    this.#successions.finish(report, this.#whole);
    await this.#baskets.finish(report, this.#whole);
    this.#unread.finish(report);
    report.say(`${size} records, ${this.#streams.heads.size} streams, ${this.#blobs.size} blobs, ${this.#roots.size} checkpoints; signed up to ${this.#checked}`);
  }

  /** Compare the stored head with the tree; a sound, larger one shows a lost tail. */
  async #judgeStoredHead() {
    const { size, root, frontier } = this.#head, stored = new Tree();
    for (let at = 0; at < frontier.length; at += 32) stored.nodes.push(frontier.subarray(at, at + 32));
    const bits = size.toString(2).replaceAll("0", "").length;
    const sound = size >= 0 && frontier.length === 32 * bits && equal(await stored.root(), root);
    if (sound && size > this.#tree.size) {
      this.report.find(INCOMPLETE, `the stored head is that of ${size} records, ${this.#tree.size} found`, this.#tree.size);
    } else if (!sound || size !== this.#tree.size || !equal(frontier, concat(...this.#tree.nodes))) {
      this.report.find(TAMPERED, `the stored head is not that of ${this.#tree.size} records`);
    }
  }

  /** Judge who signed each checkpoint; all changes of keys in the log are known only now. */
  async #judgeKeys() {
    const seen = [], signers = new Map();
    for (const checkpoint of this.#notes) {
      try {
        seen.push(await this.#trust.open(checkpoint));
      } catch (error) {
        if (!(error instanceof Bad)) throw error;
        this.report.find(TAMPERED, `checkpoint of ${checkpoint.size}: ${error.message}`);
      }
    }
    for (const one of this.#trust.logs.size ? seen : []) {
      if (one.signers.size) signers.set(one.size, new Set([...(signers.get(one.size) ?? []), ...one.signers]));
      else if (one.unsure) this.report.find(NOT_CHECKABLE, `checkpoint of ${one.size}: signature not checkable here`);
      else this.report.find(TAMPERED, `checkpoint of ${one.size} is signed by no trusted key${CHANGED}`);
    }
    this.#judgeEndedKeys(seen, signers);
    return seen;
  }

  /**
   * A replaced key signs nothing more. A checkpoint that only a revoked key signed counts if a later
   * one of this tree covers it, signed by a key that counts or seen by the quorum before. Times in
   * records prove nothing, since the thief of a key writes them too.
   */
  #judgeEndedKeys(seen, signers) {
    const trust = this.#trust, times = new Map();
    for (const one of seen) times.set(one.size, Math.min(trust.seenUs(one), times.get(one.size) ?? Infinity));
    let made = Infinity, covered = false;
    for (const [size, keys] of [...signers].sort(([a], [b]) => b - a)) {
      if (this.#compared.has(size)) made = Math.min(made, times.get(size));
      const why = trust.gone(keys, size, made), words = `checkpoint of ${size} is signed only by a key that had been ${why}`;
      if (why === "replaced") this.report.find(TAMPERED, words);
      else if (why && !covered) this.report.find(NOT_CHECKABLE, `${words}: no quorum of witnesses says that it was signed before`);
      covered ||= !why && this.#compared.has(size);
    }
  }

  /** Require that every checkpoint was compared, and that they cover all records. */
  #judgeCoverage() {
    const { size } = this.#tree;
    for (const missed of this.#roots.keys()) {
      if (missed <= size && !this.#compared.has(missed)) this.report.find(TAMPERED, `the checkpoint of ${missed} was not compared`);
    }
    if (!this.#compared.size) this.report.find(INCOMPLETE, "no checkpoint covers these records");
    else if (this.#checked < size) this.report.find(INCOMPLETE, `records from ${this.#checked} on are not signed yet`);
  }

  /** Require the policy's quorum for what is signed. */
  async #judgeWitnesses(seen) {
    const { report } = this, { policy } = this.#trust;
    const shown = seen.filter((one) => policy?.asks && one.size > 0 && this.#compared.has(one.size) && this.#trust.met(one));
    const newest = seen.reduce((best, one) => (best && best.size > one.size ? best : one), null);
    if (!policy?.asks) {
      report.say("no witness policy given: that others saw this log is not shown");
      return;
    }
    if (!shown.length) {
      if (newest) await judgeQuorum(report, this.#trust, [newest]);
      return;
    }
    const witnessed = largest(shown.map((one) => one.size));
    report.say(`the policy's quorum cosigned the tree of ${witnessed}`);
    if (witnessed >= this.#checked) return;
    const unread = newest.unread.length ? ": ML-DSA-44 lines are not checkable here, use verify.py" : "";
    report.find(unread ? NOT_CHECKABLE : INCOMPLETE, `records from ${witnessed} on are not cosigned by the quorum yet${unread}`);
  }
}

/** Return the largest number; a log may have more checkpoints than a call may have arguments. */
function largest(sizes) {
  let size = 0;
  for (const one of sizes) size = Math.max(size, one);
  return size;
}

/** Order as Python does, by code points: UTF-16 puts some beyond 2^16 before others below. */
function compareCodePoints(a, b) {
  const [left, right] = [utf8(a), utf8(b)];
  const at = left.findIndex((byte, i) => byte !== right[i]);
  return at < 0 ? left.length - right.length : (left[at] ?? -1) - (right[at] ?? -1);
}

/** Verify a dump line by line; it may be larger than memory. */
export async function verifyDump(lines, trust, options = {}) {
  return judged(async (report) => {
    const given = await withDefaults(options);
    refuse(report, given, "a dump", "consistency", "header", "payload");
    const log = new LogVerifier(report, trust.fresh(), await Disclosed.read(given.disclosures), given);
    for (const note of given.checkpoints) await log.note(note);
    try {
      for await (const line of lines) await log.line(line);
    } catch (error) {
      report.caught(error instanceof Unknown || !(error instanceof Bad) ? error : new Bad(`the dump is malformed: ${error.message}`));
    }
    await log.finish();
  });
}

function* linesOf(bytes) {
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at) + 1 || bytes.length;
    yield bytes.subarray(at, end);
    at = end;
  }
}

// ---- a mirrored log: tiles ------------------------------------------------------------------------

const TILE_WIDTH = 256;

/** Return the path of a tile: its number in groups of three digits, all but the last with an x. */
function tilePath(level, n, width) {
  const digits = String(n).padStart(Math.ceil(String(n).length / 3) * 3, "0").match(/.../g);
  const path = ["tile", level, ...digits.slice(0, -1).map((group) => `x${group}`), digits.at(-1)].join("/");
  return width === TILE_WIDTH ? path : `${path}.p/${width}`;
}

/**
 * Verify tlog-tiles: every hash, every entry, every stream's chain.
 *
 * `read` takes a path and returns the file's bytes, or null if there is none.
 */
export async function verifyTiles(read, trust, options = {}) {
  return judged(async (report) => {
    const given = await withDefaults(options), note = await read("checkpoint");
    if (!note) {
      report.find(NOT_CHECKABLE, "there is no checkpoint: not a folder of tiles");
      return;
    }
    await judgeNote(report, note, trust.fresh(), given, "tiles");
    await new Tiles(report, read, readCheckpoint(note)).run();
  });
}

class Tiles {
  #foreign = 0;
  #streams = new Streams();
  #tree = new Tree();
  #unread = new Unread();

  constructor(report, read, signed) {
    [this.report, this.read, this.signed] = [report, read, signed];
  }

  async run() {
    const { report, signed } = this;
    let row = []; // the roots of full tiles, which are the hashes of the level above
    for (let n = 0; n * TILE_WIDTH < signed.size; n += 1) {
      const width = Math.min(TILE_WIDTH, signed.size - n * TILE_WIDTH);
      const hashes = await this.#hashes(0, n, width), entries = await this.#entries(n, width);
      if (!hashes && !entries) return;
      const leaves = hashes ?? (await Promise.all(entries.map(leafHash)));
      for (const [at, leaf] of leaves.entries()) {
        await this.#tree.append(leaf);
        if (entries) await this.#entry(n * TILE_WIDTH + at, entries[at], leaf);
      }
      if (width === TILE_WIDTH) row.push(await rootOf(leaves));
    }
    for (let level = 1; row.length; level += 1) row = await this.#level(level, row);
    if (!equal(await this.#tree.root(), signed.root)) report.find(TAMPERED, `the tiles' tree of ${signed.size} is not the one signed`);
    this.#unread.finish(report);
    const foreign = this.#foreign ? `, ${this.#foreign} entries are not records: bytes only` : "";
    report.say(`${signed.size} entries, ${this.#streams.heads.size} streams${foreign}`);
  }

  /** Compare a level's tiles with those below it; return the hashes of the next level. */
  async #level(level, row) {
    const above = [];
    for (let n = 0; n * TILE_WIDTH < row.length; n += 1) {
      const made = row.slice(n * TILE_WIDTH, (n + 1) * TILE_WIDTH), stored = await this.#hashes(level, n, made.length);
      if (stored && !equal(concat(...stored), concat(...made))) this.report.find(TAMPERED, `tile ${level}/${n} is not what the tiles below it make`);
      if (made.length === TILE_WIDTH) above.push(await rootOf(made));
    }
    return above;
  }

  /** Return a tile's bytes: the partial tile, or else the full one. */
  async #file(level, n, width) {
    const path = tilePath(level, n, width), bytes = (await this.read(path)) ?? (await this.read(tilePath(level, n, TILE_WIDTH)));
    if (!bytes) this.report.find(INCOMPLETE, `${path} is missing`);
    return bytes;
  }

  async #hashes(level, n, width) {
    const bytes = await this.#file(level, n, width);
    if (!bytes) return null;
    if (bytes.length !== 32 * width && bytes.length !== 32 * TILE_WIDTH) throw new Bad(`tile ${level}/${n} has ${bytes.length} bytes, not those of ${width} hashes`);
    return Array.from({ length: width }, (_, i) => bytes.subarray(32 * i, 32 * i + 32));
  }

  /** Read an entry bundle: each entry follows its length in two bytes, big-endian. */
  async #entries(n, width) {
    const bytes = await this.#file("entries", n, width), entries = [];
    if (!bytes) return null;
    for (let at = 0; at < bytes.length && entries.length <= TILE_WIDTH;) {
      const start = at + 2, end = start + bytes[at] * 256 + (bytes[at + 1] ?? NaN);
      if (!(end <= bytes.length)) throw new Bad(`the entry bundle ${n} is cut off`);
      entries.push(bytes.subarray(start, end));
      at = end;
    }
    if (entries.length !== width && entries.length !== TILE_WIDTH) throw new Bad(`the entry bundle ${n} has ${entries.length} entries, not ${width}`);
    return entries.slice(0, width);
  }

  /** Judge an entry's header; tiles have no payloads. */
  async #entry(seq, entry, leaf) {
    if (!equal(await leafHash(entry), leaf)) this.report.find(TAMPERED, "the entry is not the one in its tile", seq);
    let header;
    try {
      header = readHeader(entry);
    } catch (error) {
      if (!(error instanceof Bad)) throw error;
      this.#foreign += 1;
      return;
    }
    if (header.seq !== seq || header.log !== this.signed.origin) this.report.find(TAMPERED, `calls itself record ${header.seq} of ${header.log}`, seq);
    await this.#streams.follow(this.report, header, leaf);
    if (!known(header)) this.#unread.add(header);
  }
}

async function rootOf(hashes) {
  const tree = new Tree();
  for (const hash of hashes) await tree.append(hash);
  return tree.root();
}

// ---- any file -------------------------------------------------------------------------------------

/** Read what comes from outside the file; a malformed part is no finding about the file. */
async function withDefaults({
  checkpoints = [], consistency = [], rotations = [], disclosures = [], header = null, payload = null, broker = {}, officers = [],
}) {
  const outside = (name, read) => (bytes) => {
    try {
      return read(bytes);
    } catch (error) {
      if (error instanceof Bad) throw new Unknown(`a ${name} that was given is not readable: ${error.message}`);
      throw error;
    }
  };
  checkpoints.forEach(outside("checkpoint", readCheckpoint));
  rotations.forEach(outside("change of keys", (bytes) => readNote(isText(bytes) ? utf8(bytes) : bytes)));
  const links = consistency.map(outside("consistency proof", readLink));
  return { checkpoints, links, rotations, disclosures, header, payload, broker, ...readBrokersSide(broker, officers) };
}

/** Read the broker's files and the officers' keys; a malformed one is no finding about the file. */
function readBrokersSide({ files = [], first = "", last = "", accounts = [] }, officers) {
  try {
    if (!files.length && (first || last || accounts.length)) throw new Bad("--broker-from, --broker-to and --broker-account need --broker-fills");
    return { fills: files.length ? readBrokerFiles(files, { first, last, accounts }) : null, officers: readOfficers(officers) };
  } catch (error) {
    if (error instanceof Bad) throw new Unknown(error.message);
    throw error;
  }
}

const BROKER = ["broker-fills", "broker-from", "broker-to", "broker-account", "officer"];

/** Report options that do not apply to such a file: silence would read as a check. */
function refuse(report, { links, disclosures, header, payload, broker = {}, officers = [] }, sort, ...names) {
  const given = {
    consistency: links.length, disclosure: disclosures.length, header: header !== null, payload: payload !== null,
    "broker-fills": broker.files?.length, "broker-from": broker.first, "broker-to": broker.last, "broker-account": broker.accounts?.length,
    officer: officers.size,
  };
  for (const name of names) if (given[name]) report.find(NOT_CHECKABLE, `--${name} does not apply to ${sort}`);
}

async function judged(judge) {
  const report = new Report();
  try {
    await judge(report);
  } catch (error) {
    report.caught(error);
  }
  return report;
}

const startsWith = (bytes, start) => equal(bytes.subarray(0, start.length), utf8(start));

/** Return a file's type by its first bytes; null for a dump or an unknown file. */
function sortOf(start) {
  if (startsWith(start, "PK")) return judgeBundle;
  if (startsWith(start, "c2sp.org/tlog-proof")) return judgeProof;
  if (startsWith(start, "old ")) return judgeLink;
  if (latin1(start.subarray(0, 4096)).replaceAll("\r", "").includes(latin1(utf8("\n\n\u2014 ")))) return judgeNote;
  return null;
}

async function noSort(report) {
  report.find(NOT_CHECKABLE, "this is none of the files that --help names");
}

/** Return whether these are a dump's first bytes; an empty file counts as an incomplete dump. */
function readsAsDump(start) {
  return sortOf(start) === null && (!start.length || start[0] === 0x7b);
}

/**
 * Verify the bytes of a file of any type.
 *
 * `trust` comes from `readTrust`. `options`: kept `checkpoints`, `consistency` proofs between them,
 * `rotations` (signed changes of keys), `disclosures` (all arrays of bytes), for a proof the
 * record's `header` and `payload` (bytes), the `broker`'s own fills ({ files: [{ name, bytes }], first,
 * last, accounts }) and both `officers`' .pub files ([{ name, source }]). All of it comes from outside
 * the file.
 */
export async function verifyBytes(bytes, trust, options = {}) {
  if (readsAsDump(bytes)) return verifyDump(linesOf(bytes), trust, options);
  const judge = sortOf(bytes) ?? noSort;
  return judged(async (report) => judge(report, bytes, trust.fresh(), await withDefaults(options)));
}

// ---- the command line (Node) ----------------------------------------------------------------------

const HELP = `usage: node verify.mjs FILE --key KEY [--policy FILE] [--checkpoint NOTE] ..

FILE is a bundle, receipt, .tlog-proof, consistency proof, checkpoint, dump, or a folder of tiles.

  --key KEY            trusted log key (a line, or a file with some); may be repeated
  --policy FILE        C2SP tlog-policy: logs, witnesses, quorum
  --checkpoint FILE    a checkpoint that was kept; may be repeated
  --consistency FILE   a proof between checkpoints; may be repeated
  --rotation FILE      a signed change of the log's keys; may be repeated
  --disclosure FILE    a disclosed personal value; may be repeated
  --header FILE        the entry of a proof, if it is not in it
  --payload FILE       the payload of the record that it proves
  --broker-fills FILE  the broker's own file of fills, CSV or a FIX log; may be repeated
  --broker-from DAY    first day of that file, YYYYMMDD; --broker-to DAY is the last
  --broker-account A   only this account must be in that file; may be repeated
  --officer FILE       an officer's .pub file; give both

Take this file, the key and the policy from places that you trust, never from beside FILE.

exit codes: 0 all as signed; 1 tampered; 2 incomplete; 3 not checkable (no trusted key, unknown version,
nothing to compare with, wrong arguments, a signature that this runtime cannot check: for ML-DSA-44 use
verify.py). The last line is the code's word and the first reason for it.`;

/** Verify a file from the command line; return the exit code. Wrong arguments never end in OK. */
export async function main(args, print = console.log) {
  let report = new Report();
  try {
    const many = { type: "string", multiple: true, default: [] }, one = { type: "string" };
    const options = {
      key: many, policy: one, checkpoint: many, consistency: many, rotation: many, disclosure: many, header: one, payload: one,
      "broker-fills": many, "broker-from": one, "broker-to": one, "broker-account": many, officer: many,
      help: { type: "boolean", short: "h" },
    };
    const { parseArgs } = await import("node:util");
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    if (values.help) {
      print(HELP);
      return OK;
    }
    if (positionals.length !== 1) throw new Bad("give one FILE; --help says more");
    report = await judgeFile(positionals[0], values);
  } catch (error) {
    report.find(NOT_CHECKABLE, error.message);
  }
  report.conclude();
  for (const line of report.lines) print(line);
  return report.exitCode;
}

async function judgeFile(path, values) {
  const { readFile, stat } = await import("node:fs/promises");
  const read = async (name) => (name === undefined ? null : new Uint8Array(await readFile(name)));
  const all = (names) => Promise.all(names.map(read));
  const keys = (await Promise.all(values.key.map(keysIn))).flat();
  const trust = await readTrust({ keys, policy: await read(values.policy) });
  const options = {
    checkpoints: await all(values.checkpoint), consistency: await all(values.consistency), rotations: await all(values.rotation),
    disclosures: await all(values.disclosure), header: await read(values.header), payload: await read(values.payload),
    broker: {
      files: (await all(values["broker-fills"])).map((bytes, i) => ({ name: basename(values["broker-fills"][i]), bytes })),
      first: values["broker-from"] ?? "", last: values["broker-to"] ?? "", accounts: values["broker-account"],
    },
    officers: (await all(values.officer)).map((bytes, i) => ({ name: basename(values.officer[i]), source: textOf(values.officer[i], bytes) })),
  };
  const found = await stat(path);
  if (found.isDirectory()) return verifyTiles(readerOf(path, stat), trust, options);
  if (!found.isFile()) throw new Bad(`${path} is a pipe or a device: save what comes from it to a file first`);
  if (readsAsDump(await startOf(path))) return verifyDump(linesFrom(path, found.size), trust, options);
  return verifyBytes(await read(path), trust, options);
}

const basename = (path) => path.split("/").filter((part) => part).at(-1) ?? "";

function textOf(path, bytes) {
  try {
    return text(bytes);
  } catch {
    throw new Bad(`${path} is not UTF-8`);
  }
}

/** Return trusted keys, given as text or as a file with one key on each line. */
async function keysIn(given) {
  try {
    await readKey(given);
    return [given];
  } catch (wrong) {
    const { readFile } = await import("node:fs/promises");
    const whole = await readFile(given, "utf-8").catch((missing) => {
      throw given.includes("+") ? wrong : missing;
    });
    const lines = whole.split("\n").map(trimmed).filter((line) => line);
    if (!lines.length) throw new Bad(`${given} holds no key`);
    for (const line of lines) await readKey(line);
    return lines;
  }
}

async function startOf(path) {
  const { open } = await import("node:fs/promises");
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(new Uint8Array(4096), 0, 4096, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Yield a file's lines; print progress to stderr if it takes long. */
async function* linesFrom(path, size) {
  const { createReadStream } = await import("node:fs");
  let rest = [], done = 0, said = Date.now();
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    for (const piece of linesOf(chunk)) {
      rest.push(piece);
      if (piece.at(-1) !== 10) continue;
      yield rest.length === 1 ? piece : concat(...rest);
      rest = [];
    }
    done += chunk.length;
    if (Date.now() - said > 2000) {
      said = Date.now();
      console.error(`${Math.floor((100 * done) / size)} % read`);
    }
  }
  if (rest.length) yield concat(...rest);
}

/** Return a reader of plain files that reads no more of a file than shows that it is too long. */
function readerOf(folder, stat) {
  return async (path) => {
    try {
      if (!(await stat(`${folder}/${path}`)).isFile()) return null;
    } catch (error) {
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes(error.code)) return null;
      throw error;
    }
    const { createReadStream } = await import("node:fs"), parts = [];
    for await (const chunk of createReadStream(`${folder}/${path}`, { end: TILE_WIDTH * (ENTRY_MAX + 2) })) parts.push(chunk);
    return joinAll(parts);
  };
}

if (node && process.argv[1]) {
  const { realpathSync } = await import("node:fs");
  const { fileURLToPath } = await import("node:url");
  if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
}
