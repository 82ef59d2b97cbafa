// Runs the programs of a document one after the other in one process, each to its end: loading the packages again for
// each would take longer than the programs themselves.
//
// Usage: node run-programs.mjs FILE...
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const pollMs = 5;
/** Standard output and error, which stay open. */
const lasting = new Set(['PipeWrap', 'TTYWrap']);

for (const file of process.argv.slice(2)) {
  process.stdout.write(`--- ${file}\n`);
  await import(pathToFileURL(resolve(file)).href);
  await whenIdle();
}
process.stdout.write('--- all have ended\n');

/** A program has ended when nothing is left that would keep a process of its own alive. */
async function whenIdle() {
  do await new Promise((wake) => setTimeout(wake, pollMs));
  while (process.getActiveResourcesInfo().some((kind) => !lasting.has(kind)));
}
