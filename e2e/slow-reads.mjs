// Loaded into a server by `node --import`: every read of a file takes SLOW_READS_MS longer, as on a slow disk.
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {import('node:fs/promises').FileHandle} FileHandle */

const delayMs = Number(process.env.SLOW_READS_MS ?? 0);
const file = await open(process.execPath, 'r');
const prototype = /** @type {{ read: (...args: unknown[]) => Promise<unknown> }} */ (
  Object.getPrototypeOf(file)
);
await file.close();

const { read } = prototype;
/** @this {FileHandle} */
prototype.read = async function slowRead(...args) {
  await sleep(delayMs);
  return Reflect.apply(read, this, args);
};
