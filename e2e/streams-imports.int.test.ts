// What importing a door of the streams loads: clients of Redis and NATS, and LevelDB, only where they are used.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from './run-program.js';

const PACKAGE = new URL('../packages/streams/dist/', import.meta.url);

/** The third-party packages that are loaded once a door is. All that could be are CommonJS, so they show here. */
async function loadedBy(door: string): Promise<readonly string[]> {
  const program = `
    import Module from 'node:module';
    await import(${JSON.stringify(fileURLToPath(new URL(`${door}.js`, PACKAGE)))});
    const names = Object.keys(Module._cache).map((path) => /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(path)?.[1]);
    process.stdout.write(JSON.stringify([...new Set(names)].filter((name) => name !== undefined)));`;
  const args = ['--input-type=module', '--eval', program];
  const { code, stdout, stderr } = await runProgram(process.execPath, args, {});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as readonly string[];
}

test('the main door loads no third-party package; the others load their client alone', async () => {
  expect(await loadedBy('index')).toEqual([]);
  const redis = await loadedBy('redis');
  expect(redis).toContain('ioredis');
  expect(redis.filter((name) => /nats|level/.test(name))).toEqual([]);
  const nats = await loadedBy('nats');
  expect(nats).toContain('@nats-io/transport-node');
  expect(nats.filter((name) => /redis|level/.test(name))).toEqual([]);
});
