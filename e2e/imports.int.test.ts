// What importing an entry point loads, and that a browser bundle of the rate limiter works without Node.
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { runProgram } from './run-program.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const printer = fileURLToPath(new URL('loaded-modules.mjs', import.meta.url));

interface Loaded {
  readonly modulesCount: number;
  /** Names of packages and of Node's own modules, without our own. */
  readonly others: readonly string[];
}

async function loadedBy(entry: string): Promise<Loaded> {
  const [, name = '', door = 'index'] = /^@syncline\/([^/]+)(?:\/(.*))?$/.exec(entry) ?? [];
  const path = new URL(`../packages/${name}/dist/${door}.js`, import.meta.url).href;
  const { code, stdout, stderr } = await runProgram(process.execPath, [printer, path], {});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const urls = (JSON.parse(stdout) as readonly string[]).filter((url) => url !== 'node:module');
  const names = urls.map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)|^(node:.*)/.exec(url));
  const others = names.flatMap((match) => match?.[1] ?? match?.[2] ?? []);
  return { modulesCount: urls.length, others: [...new Set(others)].sort() };
}

test.each([
  // Before the kernel's entry points were split, fair, fair/fetch and jobs loaded 183, 108 and 177 modules in 163, 113
  // and 169 ms of processor time; afterwards 119, 58 and 94 modules in 123, 51 and 123 ms.
  ['@syncline/fair', [], 125],
  ['@syncline/fair/fetch', [], 65],
  ['@syncline/fair/connect', [], 65],
  ['@syncline/jobs', ['node:buffer', 'node:crypto', 'node:events', 'node:os'], 150],
  ['@syncline/kernel', [], 45],
  ['@syncline/riblt', [], 15],
])('%s loads only %j beside ours, in at most %i modules', async (entry, allowed, modulesMax) => {
  const { modulesCount, others } = await loadedBy(entry);
  expect(others.filter((name) => !allowed.includes(name))).toEqual([]);
  expect(modulesCount).toBeGreaterThan(5);
  expect(modulesCount).toBeLessThanOrEqual(modulesMax);
});

test.each([
  ['@syncline/fair/grpc', '@grpc/grpc-js', /redis|level|bufbuild/],
  ['@syncline/fair/redis', 'ioredis', /grpc|level|bufbuild/],
  ['@syncline/jobs/grpc', '@grpc/grpc-js', /redis|level|bufbuild/],
  ['@syncline/streams/redis', 'ioredis', /nats|level|grpc/],
  ['@syncline/streams/nats', '@nats-io/transport-node', /redis|level|grpc/],
  ['@syncline/streams', 'node:fs', /redis|nats|level|grpc|bufbuild/],
  ['@syncline/server', 'fastify', /bufbuild|protobufjs|proto-loader|redis|level/],
  ['@syncline/server/config', 'zod', /fastify|grpc|pino|prom-client|bufbuild/],
])('%s loads %s, and none of %s', async (entry, wanted, unwanted) => {
  const { others } = await loadedBy(entry);
  expect(others).toContain(wanted);
  // grpc-js brings its own protobufjs; the contracts' runtime is @bufbuild/protobuf.
  expect(others.filter((name) => unwanted.test(name))).toEqual([]);
});

const worker = `
  import { createFairTracker } from '@syncline/fair';
  import { withFair } from '@syncline/fair/fetch';
  const tracker = createFairTracker();
  for (let i = 0; i < 200; i += 1) tracker.report('noisy', 'failure');
  const handler = withFair(tracker, async () => new Response('ok'), { keyGenerator: () => 'noisy' });
  globalThis.answers = (async () => {
    const statuses = [];
    for (let i = 0; i < 20; i += 1) statuses.push((await handler(new Request('http://x/'))).status);
    await tracker.close();
    return statuses;
  })();
`;

test('@syncline/fair/fetch bundles for a platform without Node and throttles there', async () => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: worker, resolveDir: root },
    bundle: true,
    format: 'iife',
    logLevel: 'silent',
    platform: 'browser',
    write: false,
  });
  expect(warnings).toEqual([]);
  const random = { getRandomValues: (bytes: Uint8Array) => bytes.fill(7) };
  const web = { AbortSignal, clearTimeout, DOMException, performance, Request, Response };
  const context = createContext({ ...web, crypto: random, setTimeout, TextDecoder, TextEncoder });
  runInContext(outputFiles[0]?.text ?? '', context);
  const statuses = (await (context as { answers?: Promise<number[]> }).answers) ?? [];
  expect(new Set(statuses)).toContain(429);
});
