// Loaded into a server by `node --import`: every large read of a file takes SLOW_READS_MS longer, as on a slow disk. From
// the third one on, they also wait until the file SLOW_READS_UNTIL exists.
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {import('node:fs/promises').FileHandle} FileHandle */

const LARGE_BYTES = 65_536;
const READS_BEFORE = 2;
const delayMs = Number(process.env.SLOW_READS_MS ?? 0);
const signal = process.env.SLOW_READS_UNTIL ?? '';
let reads = 0;
const file = await open(process.execPath, 'r');
const prototype = /** @type {{ read: (...args: unknown[]) => Promise<unknown> }} */ (
  Object.getPrototypeOf(file)
);
await file.close();

const { read } = prototype;
/** @this {FileHandle} */
prototype.read = async function slowRead(...args) {
  const [, , length] = args;
  if (Number(length) >= LARGE_BYTES) {
    await sleep(delayMs);
    reads += 1;
    while (reads > READS_BEFORE && !existsSync(signal)) await sleep(20);
  }
  return Reflect.apply(read, this, args);
};
