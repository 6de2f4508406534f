// Ask the second verifier every question of a manifest, in one process; print what it answered.
//
//     node evidence_questions.mjs VERIFIER FOLDER
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [verifier, folder] = process.argv.slice(2);
const { main } = await import(pathToFileURL(resolve(verifier)).href);
process.chdir(folder);
const answers = [];
for (const { file, arguments: given } of JSON.parse(readFileSync("manifest.json", "utf-8"))) {
  const lines = [];
  const exit = await main([file, ...given], (line) => lines.push(line));
  answers.push({ exit, lines });
}
console.log(JSON.stringify(answers));
