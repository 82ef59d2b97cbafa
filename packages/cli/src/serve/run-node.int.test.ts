// How a node ends: by a signal, and because a slice cannot continue.
import { SynclineError } from '@syncline/kernel';
import type { Slice, SliceDeps } from '@syncline/server';
import { loadConfig } from '@syncline/server/config';
import { expect, test } from 'vitest';
import type { CliWorld, StopEvent } from '../cli-world.js';
import { reportFailure } from '../failure.js';
import { runNode } from './run-node.js';

const NOT_READY = { kind: 'not-ready', reason: 'loading' } as const;

/** Runs until the node has ended. `act` is called when it is ready, after `loadingChecks` that say that it is not. */
async function run(
  act: (deps: SliceDeps, send: (event: StopEvent) => void) => void,
  loadingChecks = 0,
) {
  let checks = 0;
  const journal: string[] = [];
  let started: SliceDeps | undefined;
  let stderr = '';
  let send: (event: StopEvent) => void = () => expect.unreachable();
  const slice: Slice = {
    name: 'toy',
    metrics: {},
    limits: {},
    listeners: [],
    async start(deps) {
      started = deps;
      deps.draining.addEventListener('abort', () => journal.push('draining'));
      return {
        status: () => {
          checks += 1;
          const isLoading = checks <= loadingChecks;
          const health = isLoading ? NOT_READY : ({ kind: 'ready' } as const);
          return { health, details: {} };
        },
        stop: async () => void journal.push('stop'),
      };
    },
  };
  const world: CliWorld = {
    stdout: { write() {} },
    stderr: { write: (text) => (stderr += text) },
    environment: {},
    onStopEvent: (listener) => {
      send = listener;
    },
    onSuspend() {},
    ask: async () => undefined,
    reportStarted: () => started && act(started, send),
    makeNewFilesPrivate() {},
    exitNow: () => expect.unreachable(),
  };
  const flags = new Map<string, string>([
    ['memory', 'true'],
    ['http.port', '0'],
  ]);
  const loaded = loadConfig({ flags, environment: {} });
  const exit = await runNode(world, { ...loaded, file: undefined, slices: [slice] }).then(
    () => 0,
    (thrown: unknown) => reportFailure(world, thrown, false),
  );
  return { exit, journal, stderr };
}

test('a node that is still loading does not report that it has started', async () => {
  const { exit, stderr } = await run((_deps, send) => send('SIGTERM'), 2);
  expect(exit).toBe(0);
  expect(stderr).toMatch(/"not ready yet".*"server ready".*"stop requested"/s);
});

test('a signal stops the node cleanly', async () => {
  const { exit, journal } = await run((_deps, send) => send('SIGTERM'));
  expect(exit).toBe(0);
  expect(journal).toEqual(['draining', 'stop']);
});

test('if a slice cannot continue, the node stops cleanly and exits with the code of the error', async () => {
  const { exit, journal, stderr } = await run((deps) => {
    deps.fail(new SynclineError('conflict', 'the data directory is a copy of one in use'));
  });
  expect(exit).toBe(5);
  expect(journal).toEqual(['draining', 'stop']);
  expect(stderr).toMatch(/syncline: the data directory is a copy of one in use\n$/);
  expect(stderr).toContain('"msg":"slice failed"');
});
