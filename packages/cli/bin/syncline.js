#!/usr/bin/env node
// The `syncline` command. Plain JavaScript, because it must be able to say that nothing is built yet.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  await main(process);
} else {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  process.stderr.write(`syncline: not built yet. Run "npm start" or "npm run build" in ${root}\n`);
  process.exitCode = 1;
}
