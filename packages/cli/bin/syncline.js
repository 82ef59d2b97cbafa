#!/usr/bin/env node
// The `syncline` command. Plain JavaScript, because it must work, and say what is wrong, even if nothing is built
// yet or modules cannot be loaded.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/main.js', import.meta.url);
try {
  if (existsSync(built)) {
    const { main } = await import(built.href);
    await main(process);
  } else {
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    fail(`not built yet. Run "npm start" or "npm run build" in ${root}`);
  }
} catch (thrown) {
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EMFILE')) throw thrown;
  fail(
    'this process may open too few files to start. Raise the limit: "ulimit -n 4096", or LimitNOFILE= in a systemd unit.',
  );
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`syncline: ${message}\n`);
  process.exitCode = 1;
}
