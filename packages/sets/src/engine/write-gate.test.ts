// Which commands may write while large ones work in parts.
import { type Clock, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { WriteHold } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import { LoopShare } from './turns.js';
import { WriteGate } from './write-gate.js';

const HOLD_MS = setsLimits.gateHoldMs.value;
const never = new AbortController().signal;
const shutError = new SynclineError('closed', 'server is shutting down');

interface World {
  readonly clock: Clock;
  readonly gate: WriteGate;
  /** What happened, in order. */
  readonly events: string[];
  /** Why commits fail from now on. */
  failWith(error: SynclineError): void;
  /** Writes as soon as it is admitted. */
  write(name: string): Promise<void>;
}

function withGate(body: (world: World) => Promise<void>): Promise<void> {
  return runInSimulation(1, async ({ clock }) => {
    const events: string[] = [];
    let error: SynclineError | undefined;
    const commitNow = () => {
      events.push('commit');
      return error;
    };
    const gate = new WriteGate({ clock, turns: { commitNow }, loop: new LoopShare(clock) });
    const write = async (name: string) => {
      const admitted = gate.admit();
      if (admitted !== undefined) await admitted;
      events.push(name);
    };
    const failWith = (reason: SynclineError) => {
      error = reason;
    };
    await body({ clock, gate, events, failWith, write });
  });
}

const nextTurn = (clock: Clock) => new Promise<void>((resolve) => void clock.defer(resolve));

/** Lets everything happen that does not depend on time. */
async function settle(clock: Clock): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn(clock);
}

/** Works in parts that take `partMs` each, until `endMs`. */
async function workInParts(
  { clock, events }: World,
  hold: WriteHold,
  {
    name,
    partMs,
    endMs,
  }: { readonly name: string; readonly partMs: number; readonly endMs: number },
): Promise<void> {
  while (clock.monotonicMs() < endMs) {
    await clock.sleep(partMs);
    events.push(name);
    await hold.nextPart();
  }
  hold.release();
}

test('while the gate is free a write passes at once', () =>
  withGate(async ({ gate }) => {
    expect(gate.admit()).toBeUndefined();
    const hold = await gate.close(never);
    expect(gate.admit()).toBeInstanceOf(Promise);
    hold.release();
  }));

test('writes that wait for a release pass in their order, before later ones', () =>
  withGate(async ({ gate, clock, events, write }) => {
    const hold = await gate.close(never);
    const writes = ['one', 'two', 'three'].map(write);
    await settle(clock);
    expect(events).toEqual(['commit']);
    expect(gate.waitingCount).toBe(3);
    hold.release();
    writes.push(write('four')); // the gate is no longer held, but others wait
    await Promise.all(writes);
    expect(events).toEqual(['commit', 'one', 'two', 'three', 'four']);
    expect(gate.waitingCount).toBe(0);
    expect(gate.admit()).toBeUndefined();
  }));

test('S7 writes of others are stored, or undone, before a holder begins', () =>
  withGate(async ({ gate, events, write }) => {
    await write('small');
    const hold = await gate.close(never);
    expect(events).toEqual(['small', 'commit']);
    hold.release();
  }));

test('a part is stored before the next one begins', () =>
  withGate(async ({ gate, events, failWith }) => {
    const hold = await gate.close(never);
    await hold.nextPart();
    expect(events).toEqual(['commit', 'commit']);
    const full = new SynclineError('storage-full', 'no room');
    failWith(full);
    await expect(hold.nextPart()).rejects.toBe(full);
    hold.release();
    expect(gate.admit()).toBeUndefined();
  }));

test('a holder keeps the gate while no one else waits', () =>
  withGate(async ({ gate, clock }) => {
    const hold = await gate.close(never);
    for (let part = 0; part < 10; part += 1) {
      await clock.sleep(HOLD_MS);
      await hold.nextPart();
    }
    expect(gate.admit()).toBeInstanceOf(Promise);
    hold.release();
  }));

test('S19 a holder lets waiting writers through after each gateHoldMs', () =>
  withGate(async (world) => {
    const { gate, clock, write } = world;
    const hold = await gate.close(never);
    const work = workInParts(world, hold, { name: 'part', partMs: 2, endMs: 500 });
    const waitedMs: number[] = [];
    while (clock.monotonicMs() < 400) {
      const startMs = clock.monotonicMs();
      await write('small');
      waitedMs.push(clock.monotonicMs() - startMs);
      await clock.sleep(3);
    }
    await work;
    expect(waitedMs.length).toBeGreaterThan(400 / (HOLD_MS + 10));
    expect(Math.max(...waitedMs)).toBeLessThanOrEqual(HOLD_MS + 3);
  }));

test('S19 several holders take turns, and a write waits for one hold', () =>
  withGate(async (world) => {
    const { gate, clock, events, write } = world;
    const names = ['A', 'B', 'C'];
    const work = names.map(async (name) => {
      const hold = await gate.close(never);
      await workInParts(world, hold, { name, partMs: 2, endMs: 1_000 });
    });
    const waitedMs: number[] = [];
    while (clock.monotonicMs() < 800) {
      const startMs = clock.monotonicMs();
      await write('small');
      waitedMs.push(clock.monotonicMs() - startMs);
      await clock.sleep(1);
    }
    await Promise.all(work);
    expect(Math.max(...waitedMs)).toBeLessThanOrEqual(HOLD_MS + 3);
    const parts = events.filter((event) => names.includes(event)).join('');
    const holds = parts.match(/A+|B+|C+/g)?.slice(0, -names.length) ?? [];
    expect(holds.length).toBeGreaterThan(20);
    for (const [index, hold] of holds.entries()) {
      expect(hold[0], 'each gets its turn').toBe(names[index % names.length]);
      expect(hold.length).toBeLessThanOrEqual(HOLD_MS / 2 + 2);
    }
  }));

test('waiting writers pass before the next holder, and later ones do not keep it out', () =>
  withGate(async ({ gate, clock, events, write }) => {
    const hold = await gate.close(never);
    const writes = Array.from({ length: 1_000 }, (_, index) => write(`w${index}`));
    const next = gate.close(never).then((other) => {
      events.push('closed');
      return other;
    });
    await settle(clock);
    hold.release();
    for (let turn = 0; turn < 20; turn += 1) {
      await nextTurn(clock);
      writes.push(...Array.from({ length: 300 }, (_, index) => write(`late ${turn} ${index}`)));
    }
    const other = await next;
    const passed = events.indexOf('closed');
    expect(passed).toBeGreaterThanOrEqual(1_000);
    expect(passed).toBeLessThan(1_300);
    expect(events.slice(1, 1_001)).toEqual(Array.from({ length: 1_000 }, (_, n) => `w${n}`));
    other.release();
    await Promise.all(writes);
    expect(events.filter((event) => event !== 'commit').length).toBe(1 + writes.length);
  }));

test('a command that gives up while waiting does not get the gate', () =>
  withGate(async ({ gate, clock, events, write }) => {
    const hold = await gate.close(never);
    const abort = new AbortController();
    const waiting = gate.close(abort.signal);
    const waitingError = waiting.catch((error: unknown) => error);
    const next = gate.close(never).then((other) => {
      events.push('closed');
      other.release();
    });
    const small = write('small');
    await settle(clock);
    abort.abort();
    expect(await waitingError).toMatchObject({ code: 'aborted' });
    expect(gate.waitingCount).toBe(2);
    hold.release();
    await Promise.all([next, small]);
    expect(events).toEqual(['commit', 'small', 'commit', 'closed']);
    await expect(gate.close(abort.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(gate.admit()).toBeUndefined();
  }));

test('a signal that fires too late does not take the gate away', () =>
  withGate(async ({ gate, clock, write }) => {
    const abort = new AbortController();
    const hold = await gate.close(abort.signal);
    abort.abort();
    const small = write('small');
    await clock.sleep(HOLD_MS);
    await hold.nextPart(); // lets the writer through, and comes back
    await small;
    expect(gate.admit()).toBeInstanceOf(Promise);
    hold.release();
  }));

test('when it is shut all are refused, including those that wait', () =>
  withGate(async ({ gate, clock }) => {
    const hold = await gate.close(never);
    const waiting = [gate.admit(), gate.close(never), gate.admit()];
    const errors = Promise.allSettled(waiting.map(async (each) => each));
    await settle(clock);
    gate.shut(shutError);
    gate.shut(new SynclineError('storage-failed', 'a later reason'));
    expect(await errors).toEqual(waiting.map(() => ({ status: 'rejected', reason: shutError })));
    expect(gate.waitingCount).toBe(0);
    await expect(gate.admit()).rejects.toBe(shutError);
    await expect(gate.close(never)).rejects.toBe(shutError);
    await hold.nextPart(); // what it has changed is stored
    hold.release();
    await settle(clock);
    await expect(gate.admit()).rejects.toBe(shutError);
  }));

test('a holder that has passed the gate on has stored its part even if the gate is then shut', () =>
  withGate(async ({ gate, clock, write }) => {
    const hold = await gate.close(never);
    const other = gate.close(never);
    const small = write('small');
    await clock.sleep(HOLD_MS);
    const part = hold.nextPart();
    const otherHold = await other;
    await small;
    gate.shut(shutError);
    await part;
    hold.release(); // it does not hold the gate
    await otherHold.nextPart();
    otherHold.release();
    otherHold.release();
  }));

test('a hold that is released while it waits for the gate again does not keep it closed', () =>
  withGate(async ({ gate, clock, write, events }) => {
    const hold = await gate.close(never);
    const small = write('small');
    await clock.sleep(HOLD_MS);
    const part = hold.nextPart();
    hold.release();
    await Promise.all([part, small]);
    await settle(clock);
    expect(gate.admit()).toBeUndefined();
    expect(gate.waitingCount).toBe(0);
    expect(events).toContain('small');
  }));

test('releasing twice does not open the gate of the next holder', () =>
  withGate(async ({ gate, clock }) => {
    const hold = await gate.close(never);
    hold.release();
    const next = await gate.close(never);
    hold.release();
    await settle(clock);
    expect(gate.admit()).toBeInstanceOf(Promise);
    next.release();
  }));
