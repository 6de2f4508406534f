// Ask verify.mjs many times in one process: each line of standard input is a folder and a list of
// arguments as JSON, each line of standard output an exit code and what was said. A fault that main
// lets out is an answer too: no code, and its stack.
import { createInterface } from "node:readline";
import { main } from "../../audit/verifier/verify.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, args } = JSON.parse(line), lines = [];
  process.chdir(folder);
  let code;
  try {
    code = await main(args, (said) => lines.push(said));
  } catch (fault) {
    [code, lines.length] = [null, 0];
    lines.push(String(fault.stack));
  }
  process.stdout.write(`${JSON.stringify([code, lines])}\n`);
}
