// The names by which code reaches the real world, and the port to use instead of each.
import type { WorldPart } from './rooms.js';

export interface Ban {
  readonly part: WorldPart;
  readonly instead: string;
}

const clock: Ban = { part: 'clock', instead: 'ask a Clock' };
const timer: Ban = { part: 'timer', instead: 'use the timers of a Clock' };
const random: Ban = { part: 'random', instead: 'draw from a Random' };
const environment: Ban = { part: 'environment', instead: 'take the value as an option' };
const output: Ban = { part: 'console', instead: 'write to a Logger' };
const io: Ban = { part: 'io', instead: 'go through the Storage, Files or Network port' };

const turn: Ban = { part: 'turn', instead: 'use the `defer` of a Clock' };

/** `name` is a global, `object.member` a member of one or what a module of that name exports. */
export const bannedNames: ReadonlyMap<string, Ban> = new Map([
  ['console', output],
  ['process.stdout', output],
  ['process.stderr', output],
  ['setTimeout', timer],
  ['setInterval', timer],
  ['AbortSignal.timeout', timer],
  ['setImmediate', turn],
  ['process.nextTick', turn],
  ['new Date()', clock],
  ['Date()', clock],
  ['Date.now', clock],
  ['performance.now', clock],
  ['performance.timeOrigin', clock],
  ['process.hrtime', clock],
  ['process.uptime', clock],
  ['Math.random', random],
  ...['getRandomValues', 'randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID']
    .concat(['webcrypto', 'default'])
    .map((name) => [`crypto.${name}`, random] as const),
  ['process.env', environment],
  ['process.argv', environment],
  ['process.cwd', environment],
  ['process.stdin', io],
  ['fetch', io],
  ['WebSocket', io],
  ['EventSource', io],
]);

/** Taken as values they could reach anything above under another name. */
export const bannedWholes: ReadonlyMap<string, Ban> = new Map([
  ['Date', clock],
  ['performance', clock],
  ['Math', random],
  ['crypto', random],
  ['process', environment],
  ['globalThis', { part: 'globals', instead: 'name what is needed of it' }],
  ['AbortSignal', timer],
]);

/** With and without `node:`. */
export const bannedModules: ReadonlyMap<string, Ban> = new Map([
  ['timers', timer],
  ['timers/promises', timer],
  ['perf_hooks', clock],
  ['console', output],
  ['process', environment],
  ...['fs', 'fs/promises', 'net', 'tls', 'dgram', 'dns', 'dns/promises', 'http', 'http2', 'https']
    .concat(['child_process', 'cluster', 'worker_threads', 'module'])
    .map((name) => [name, io] as const),
]);
