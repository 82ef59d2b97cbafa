// kill -9 of a server that trackers share through: what was written is there again, what was not comes
// back with the views of its clients, and decisions never notice.
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess } from './cli-process.js';

async function serve(...args: readonly string[]): Promise<CliProcess> {
  const server = new CliProcess(['serve', '--http-port', '0', ...args]);
  await server.url();
  return server;
}

function portOf(server: CliProcess): number {
  return server.listeners().find(({ listener }) => listener === 'grpc')?.port ?? 0;
}

function track(port: number): FairTracker {
  const remote = grpcRemote({ address: `127.0.0.1:${port}`, tracker: 'api' });
  return createFairTracker({ remote, secret: '0123456789abcdef', flushIntervalMs: 10 });
}

function fail(tracker: FairTracker, times: number): void {
  for (let time = 0; time < times; time += 1) tracker.report('noisy', 'failure');
}

const probability = (tracker: FairTracker) => tracker.peek('noisy').probability;

/** How often cells were written to disk. */
async function persistsOf(server: CliProcess): Promise<number> {
  const text = await (await fetch(`${await server.url()}/metrics`)).text();
  return Number(/^syncline_fair_persist_seconds_count (\d+)/m.exec(text)?.[1] ?? 0);
}

async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<number> {
  const startMs = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - startMs > 20_000) throw new Error(`not within 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - startMs;
}

test('the embedded store has the buckets again, for a client that never saw them', async () => {
  await using directory = await makeTempDirectory('fair-kill');
  const args = ['--grpc-port', '0', '--data-dir', directory.path];
  {
    await using server = await serve(...args);
    await using tracker = track(portOf(server));
    await until(() => tracker.status().connected, 'the connection');
    fail(tracker, 25);
    await until(() => tracker.status().pendingCells === 0, 'the acknowledgement');
    const before = await persistsOf(server);
    tracker.report('other', 'failure'); // so that there is something to write after it
    await until(async () => (await persistsOf(server)) > before, 'the write');
    server.child.kill('SIGKILL');
    await server.end();
    expect(probability(tracker)).toBeGreaterThan(0.9);
  }
  await using server = await serve(...args);
  await using fresh = track(portOf(server));
  await until(() => probability(fresh) > 0.8, 'the restored state');
});

test('without a disk the views of clients bring the buckets back, soon', async () => {
  await using server = await serve('--memory', '--grpc-port', '0');
  const port = portOf(server);
  await using witness = track(port);
  await until(() => witness.status().connected, 'the connection');
  const { epoch } = witness.status();
  fail(witness, 25);
  await until(() => witness.status().pendingCells === 0, 'the acknowledgement');
  server.child.kill('SIGKILL');
  await server.end();
  await until(() => !witness.status().connected, 'the loss');
  const lost = probability(witness);
  expect(lost).toBeGreaterThan(0.9);
  fail(witness, 1); // goes on alone, and throws nothing

  await using again = await serve('--memory', '--grpc-port', String(port));
  expect(portOf(again)).toBe(port);
  const backMs = await until(() => witness.status().connected, 'the return');
  expect(backMs).toBeLessThan(2_500);
  expect(witness.status().epoch).not.toBe(epoch);
  await using fresh = track(port);
  await until(() => fresh.status().connected, 'another client');
  await until(() => probability(fresh) > lost - 0.1, 'the joined view');
});
