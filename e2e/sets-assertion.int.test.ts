// A failed assertion in a long command stops the node, even if the client has left and no one waits for the
// answer: the state of the sets can no longer be trusted.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { COMMAND } from './cli-process.js';
import { startCluster } from './cluster.js';
import { SetsRawClient } from './sets-raw-client.js';

const WAIT = { timeout: 60_000, interval: 10 };
const MEMBERS = 20_000;

/** Loaded into the server: a walk over a large set fails once the file `signal` exists. */
function plantedAssertion(signal: string): string {
  const moduleOf = (path: string) => new URL(`../packages/${path}`, import.meta.url).href;
  return `
    import { existsSync } from 'node:fs';
    import { setTimeout as afterMs } from 'node:timers/promises';
    import { assert } from '${moduleOf('kernel/dist/assert.js')}';
    import { MemberPin } from '${moduleOf('sets/dist/engine/member-pin.js')}';
    MemberPin.prototype.members = async function* () {
      while (!existsSync('${signal}')) await afterMs(5);
      assert(false, 'planted in a long command');
    };
  `;
}

test('an assertion that fails in a long command after its client has left stops the node', async () => {
  await using directory = await makeTempDirectory('assertion');
  const signal = join(directory.path, 'fail-now');
  const planted = join(directory.path, 'planted.mjs');
  await writeFile(planted, plantedAssertion(signal));
  await using cluster = await startCluster({
    nodes: 1,
    program: COMMAND, // its modules can be patched
    env: { NODE_OPTIONS: `--import=${planted}` },
  });
  const node = cluster.node(1);
  const other = new Redis(node.address('resp').port, { lazyConnect: true, retryStrategy: null });
  other.on('error', () => undefined); // the server exits
  await other.connect();
  const members = Array.from({ length: MEMBERS }, (_, index) => `member:${index}`);
  await other.sadd('set', members);
  using reader = await SetsRawClient.connect(node.address('resp').port);
  reader.send('SMEMBERS set\r\n');
  await vi.waitFor(async () => expect(await connections(other)).toEqual(['smembers']), WAIT);
  reader.reset();
  await vi.waitFor(async () => expect(await connections(other)).toEqual([]), WAIT);
  await writeFile(signal, '');
  await vi.waitFor(() => expect(other.status).toBe('end'), WAIT);
  expect(await node.kill()).toEqual({ code: 1, signal: null });
  expect(node.tail()).toContain('planted in a long command');
});

/** The last commands of all connections but this one. */
async function connections(redis: Redis): Promise<readonly string[]> {
  const lines = (await redis.client('LIST')) as string;
  const names = lines.split('\n').flatMap((line) => /cmd=(\S+)/.exec(line)?.[1] ?? []);
  return names.filter((name) => name !== 'client|list');
}
