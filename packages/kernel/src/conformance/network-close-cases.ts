// Cases of the network suite: how a connection ends.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { SynclineError } from '../error.js';
import type { CloseReason, Connection } from '../network/network.js';
import { randomBelow } from '../random.js';
import { createSeededRandom } from '../seeded-random.js';
import { type NetworkSubject, openPair, readAll, readBytes, utf8 } from './network-pair.js';

export const networkCloseCases = {
  'K66 one direction can end while the other continues': oneDirectionCanEnd,
  'K66 closed resolves with ended when both sides have ended': closedSaysEnded,
  'K66 what is written after end is dropped': writeAfterEndIsDropped,
  'K67 a reset is thrown to the reader': resetIsThrownToReader,
  'K67 a reset is noticed even by a side that does not read': resetIsNoticedWithoutReader,
  'K67 destroy reports its reason to its own side': destroyTellsOwnSide,
  'K67 destroy drops what is unsent': destroyDropsUnsent,
  'K67 destroy of an ended connection closes it': destroyAfterEndCloses,
  'K67 disposing destroys': disposingDestroys,
  'K64 operations in any order do no harm': anyOrderIsFine,
  'K68 drained rejects when the connection is gone': drainedRejectsWhenGone,
  'K68 drained rejects after end': drainedRejectsAfterEnd,
  'K68 drained ends when its signal fires': drainedEndsWithSignal,
} as const;

async function oneDirectionCanEnd(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(utf8('all I have'));
  pair.client.end();
  assert.equal((await readAll(pair.server)).length, 10);
  const answering = readAll(pair.client);
  const answer = new Uint8Array(1024 * 1024).fill(1);
  if (!pair.server.write(answer)) await pair.server.drained();
  pair.server.end();
  assert.equal((await answering).length, answer.length);
}

async function closedSaysEnded(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.end();
  pair.server.write(utf8('bye'));
  pair.server.end();
  await Promise.all([readAll(pair.client), readAll(pair.server)]);
  assert.deepEqual(await pair.client.closed, { kind: 'ended' });
  assert.deepEqual(await pair.server.closed, { kind: 'ended' });
  pair.client.destroy(); // too late to change anything
  assert.deepEqual(await pair.client.closed, { kind: 'ended' });
}

async function writeAfterEndIsDropped(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(utf8('before'));
  pair.client.end();
  pair.client.end();
  assert.equal(pair.client.write(utf8('after')), false);
  assert.equal((await readAll(pair.server)).length, 6);
}

/** Both ends are idle and nothing is in flight: a reset next to bytes may look like an end. */
async function settle({ client, server }: { client: Connection; server: Connection }) {
  client.write(utf8('ping'));
  await readBytes(server, 4);
}

async function resetIsThrownToReader(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  await settle(pair);
  const reading = readAll(pair.client);
  pair.server.destroy();
  await assert.rejects(reading, isReset);
  const reason = await pair.client.closed;
  assert.ok(reason.kind === 'reset' && isReset(reason.error));
}

async function resetIsNoticedWithoutReader(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  await settle(pair);
  pair.server.destroy();
  const reason: CloseReason = await pair.client.closed;
  assert.ok(reason.kind === 'reset' && isReset(reason.error));
  assert.equal(pair.client.write(utf8('too late')), false);
}

async function destroyTellsOwnSide(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const reading = readAll(pair.client);
  pair.client.destroy(new Error('for a reason'));
  await assert.rejects(reading, { code: 'closed', message: /for a reason/ });
  const reason = await pair.client.closed;
  assert.ok(reason.kind === 'reset');
  assert.match(String(reason.error), /for a reason/);
}

async function destroyDropsUnsent(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const chunk = new Uint8Array(subject.highWaterBytes + subject.transitBytesMax);
  assert.equal(pair.client.write(chunk), false);
  const draining = pair.client.drained();
  pair.client.destroy();
  await assert.rejects(draining, { code: 'closed' });
  assert.equal(pair.client.unsentBytes, 0);
  assert.equal((await pair.client.closed).kind, 'reset');
  const arrived = await readAll(pair.server).catch(() => new Uint8Array(0)); // an end, next to bytes
  assert.ok(arrived.length < chunk.length);
}

/** Calls in any order and at any time must not crash, hang or throw. */
async function anyOrderIsFine(subject: NetworkSubject): Promise<void> {
  const random = createSeededRandom('any order');
  const nextTurn = () => new Promise<void>((resolve) => void subject.clock.defer(resolve));
  for (let round = 0; round < 40; round += 1) {
    await using pair = await openPair(subject);
    for (let step = 0; step < 8; step += 1) {
      const end = randomBelow(random, 2) === 0 ? pair.client : pair.server;
      const actions: readonly (() => unknown)[] = [
        () => end.write(new Uint8Array(randomBelow(random, 1_000_000))),
        () => end.write(new Uint8Array(1)),
        () => end.end(),
        () => end.destroy(),
        () => end.drained().catch(() => {}),
        () => readBytes(end, 1_000).catch(() => {}),
        nextTurn,
        nextTurn,
      ];
      const result = actions[randomBelow(random, actions.length)]?.();
      if (randomBelow(random, 2) === 0) await Promise.race([result, nextTurn()]);
    }
  }
}

async function destroyAfterEndCloses(subject: NetworkSubject): Promise<void> {
  for (const unsentBytes of [0, 1, subject.highWaterBytes + subject.transitBytesMax]) {
    for (const turns of [0, 1, 2]) {
      await using pair = await openPair(subject);
      pair.client.write(new Uint8Array(unsentBytes));
      pair.client.end();
      for (let turn = 0; turn < turns; turn += 1)
        await new Promise<void>((resolve) => subject.clock.defer(resolve));
      pair.client.destroy();
      assert.equal((await pair.client.closed).kind, 'reset');
    }
  }
}

async function disposingDestroys(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  await settle(pair);
  await pair.client[Symbol.asyncDispose]();
  await pair.client[Symbol.asyncDispose]();
  assert.equal((await pair.client.closed).kind, 'reset');
  assert.equal((await pair.server.closed).kind, 'reset');
}

async function drainedRejectsWhenGone(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(new Uint8Array(subject.highWaterBytes + subject.transitBytesMax));
  const draining = pair.client.drained();
  pair.server.destroy();
  await assert.rejects(draining, isReset);
  await assert.rejects(pair.client.drained(), isReset);
}

async function drainedRejectsAfterEnd(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(new Uint8Array(subject.highWaterBytes + subject.transitBytesMax));
  const draining = pair.client.drained();
  pair.client.end();
  await assert.rejects(draining, { code: 'closed' });
  await assert.rejects(pair.client.drained(), { code: 'closed' });
}

async function drainedEndsWithSignal(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(new Uint8Array(subject.highWaterBytes + subject.transitBytesMax));
  const controller = new AbortController();
  const draining = pair.client.drained(controller.signal);
  controller.abort();
  await assert.rejects(draining, { code: 'aborted' });
  assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
}

function isReset(error: unknown): boolean {
  const { code, details } = error as SynclineError;
  assert.equal(code, 'unavailable', String(error));
  assert.equal(details['reason'], 'reset');
  return true;
}
