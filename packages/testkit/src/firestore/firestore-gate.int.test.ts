// Why the gate exists: the emulator alone loses updates. And the faults that it can inject.
import { Firestore } from '@google-cloud/firestore';
import { expect, test } from 'vitest';
import { startFirestore, type TestFirestore } from './start-firestore.js';

const WRITERS = 20;

async function countTogether(server: TestFirestore): Promise<number> {
  const client = connect(server);
  const counter = client.doc('jobs/count');
  await counter.set({ count: 0 });
  const increment = () =>
    client.runTransaction(
      async (transaction) => {
        const count: unknown = (await transaction.get(counter)).get('count');
        transaction.set(counter, { count: Number(count) + 1 });
      },
      { maxAttempts: 50 },
    );
  await Promise.all(Array.from({ length: WRITERS }, increment));
  const count: unknown = (await counter.get()).get('count');
  await client.terminate();
  return Number(count);
}

function connect(server: TestFirestore): Firestore {
  return new Firestore({ projectId: 'test', ...server.settings });
}

test('without the gate updates are lost', async () => {
  await using server = await startFirestore({ isIsolating: false });
  expect(await countTogether(server)).toBeLessThan(WRITERS);
});

test('with the gate no update is lost', async () => {
  await using server = await startFirestore();
  expect(await countTogether(server)).toBe(WRITERS);
  expect(server.gate.abortedCount).toBeGreaterThan(0);
});

test('a listener sees what changed, what was deleted, and what it missed while its stream was cut', async () => {
  await using server = await startFirestore();
  const client = connect(server);
  const states = client.collection('jobs/nightly/states');
  const seen: string[] = [];
  const stop = states.onSnapshot((snapshot) => {
    seen.push(snapshot.docs.map((doc) => `${doc.id}=${String(doc.get('at'))}`).join(' '));
  });
  await expect.poll(() => seen).toEqual(['']);
  await states.doc('a').set({ at: 1 });
  await expect.poll(() => seen.at(-1)).toBe('a=1');
  await states.doc('b').set({ at: 2 });
  await expect.poll(() => seen.at(-1)).toBe('a=1 b=2');
  await states.doc('a').delete();
  await expect.poll(() => seen.at(-1)).toBe('b=2');
  server.gate.setFaults({ isMute: true });
  await states.doc('b').set({ at: 3 });
  server.gate.cutStreams();
  server.gate.setFaults({});
  await expect.poll(() => seen.at(-1)).toBe('b=3');
  stop();
  await client.terminate();
  await expect.poll(() => server.gate.streamsCount).toBe(0);
});
