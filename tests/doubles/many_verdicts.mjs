// Ask verify.mjs many times in one process: a list of argument lists as JSON on standard input, then
// a list of [exit code, lines] as JSON on standard output.
import { readFileSync } from "node:fs";
import { main } from "../../audit/verifier/verify.mjs";

const told = [];
for (const args of JSON.parse(readFileSync(0, "utf-8"))) {
  const lines = [];
  told.push([await main(args, (line) => lines.push(line)), lines]);
}
process.stdout.write(JSON.stringify(told));
