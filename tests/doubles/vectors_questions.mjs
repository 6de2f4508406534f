// Ask the second verifier's own functions about published proofs and checkpoints; print the answers.
//
//     node vectors_questions.mjs VERIFIER < QUESTIONS
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const verifier = await import(pathToFileURL(resolve(process.argv[2])).href);
const { inclusion, consistency, checkpoints } = JSON.parse(readFileSync(0, "utf-8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));

async function signed({ key, note, policy }) {
  const trust = await verifier.readTrust({ keys: [key], policy: policy ? verifier.utf8(policy) : null });
  try {
    const seen = await trust.open(verifier.readCheckpoint(verifier.utf8(note)));
    return [seen.signers.size, Object.fromEntries(seen.cosigners)];
  } catch (error) {
    if (!(error instanceof verifier.Bad)) throw error;
    return error.message;
  }
}

const answers = { inclusion: [], consistency: [], checkpoints: [] };
for (const [leaf, index, size, path, root] of inclusion) {
  answers.inclusion.push(await verifier.verifyInclusion(bytes(leaf), index, size, path.map(bytes), bytes(root)));
}
for (const [old, before, size, after, path] of consistency) {
  answers.consistency.push(await verifier.verifyConsistency(old, bytes(before), size, bytes(after), path.map(bytes)));
}
for (const question of checkpoints) answers.checkpoints.push(await signed(question));
console.log(JSON.stringify(answers));
