// Operations of peers in the turns of this node: what reaches the log, what is published, and what an undone turn
// leaves.
import { actorId, SynclineError, silentMetrics } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { applyOperation } from '../engine/operations.js';
import { DrivenState } from '../engine/testing/driven-state.js';
import { type TurnLog, Turns } from '../engine/turns.js';
import { decodeOperations } from '../operation/decode-operations.js';
import type { OperationWriter } from '../operation/operation-writer.js';
import { settleAndTake } from './testing/driven-pull.js';

/** `node:base` of each operation. */
const namesOf = (bytes: Uint8Array) =>
  Array.from(decodeOperations(bytes), ({ actor, base }) => `${actor >>> 16}:${base}`);

class MemoryLog implements TurnLog {
  readonly fullBy = undefined;
  readonly records: Uint8Array[] = [];
  syncedThrough = 0;
  isFull = false;

  get nextNumber(): number {
    return this.records.length + 1;
  }

  append(_kind: number, parts: readonly Uint8Array[]): number {
    if (this.isFull) throw new SynclineError('storage-full', 'no room');
    return this.records.push(Buffer.concat(parts));
  }

  async sync(): Promise<void> {
    const through = this.records.length;
    await Promise.resolve();
    this.syncedThrough = through;
  }
}

class World {
  readonly peer = new DrivenState({}, actorId(2, 1));
  readonly node = new DrivenState({}, actorId(1, 1));
  readonly log = new MemoryLog();
  readonly turns: Turns;
  /** The notifications that the follower received. */
  readonly events: string[] = [];

  constructor(
    clock: ConstructorParameters<typeof Turns>[0]['clock'],
    durability: 'buffered' | 'synced',
  ) {
    const { state, operation } = this.node;
    const ignore = () => undefined;
    this.turns = new Turns(
      { state, operation, clock, metrics: silentMetrics, onCommitted: ignore, onFailed: ignore },
      durability,
    );
    this.turns.attach(this.log);
    this.turns.follow({
      appended: (record: OperationWriter, number) =>
        this.events.push(`appended ${namesOf(record.ownBytes()).join()} ${number}`),
      synced: (number) => this.events.push(`synced ${number}`),
      undone: (record) => this.events.push(`undone ${record.hasForeign}`),
    });
  }

  /** The peer adds a member, and this node applies that. */
  deliver(member: string): Uint8Array {
    this.peer.add('set', [member]);
    const bytes = settleAndTake(this.peer);
    const { state } = this.node;
    for (const operation of decodeOperations(bytes)) Array.from(applyOperation(state, operation));
    state.record.addForeign({ bytes, start: 0, end: bytes.length }, true);
    this.turns.foreignEnded();
    return bytes;
  }

  write(member: string): void {
    this.node.add('set', [member]);
    this.turns.operationEnded();
  }
}

const withWorld = (durability: 'buffered' | 'synced', body: (world: World) => Promise<void>) =>
  runInSimulation(1, ({ clock }) => body(new World(clock, durability)));

test('S30 the record holds the bytes of peers as they came, and only our own are published', () =>
  withWorld('buffered', async (world) => {
    const first = world.deliver('a');
    world.write('b');
    const second = world.deliver('c');
    world.write('d');
    world.turns.commitNow();
    const [record = new Uint8Array(0)] = world.log.records;
    expect(namesOf(record)).toEqual(['2:1', '1:1', '2:2', '1:2']);
    expect(Buffer.from(record).includes(Buffer.from(first))).toBe(true);
    expect(Buffer.from(record).includes(Buffer.from(second))).toBe(true);
    expect(world.events).toEqual(['appended 1:1,1:2 0']);
    expect(world.node.members('set')).toEqual(['a', 'b', 'c', 'd']);
    expect(world.turns.foreignCount).toBe(2);
  }));

test('S30 an operation of a peer that cannot be stored is undone with its turn', () =>
  withWorld('buffered', async (world) => {
    world.deliver('a');
    world.turns.commitNow();
    const before = world.node.lines();
    world.log.isFull = true;
    world.deliver('b');
    world.write('c');
    expect(world.turns.commitNow()).toMatchObject({ code: 'storage-full' });
    expect(world.node.lines()).toEqual(before);
    expect(world.node.state.version.counterOf(actorId(2, 1))).toBe(1);
    expect(world.events.at(-1)).toBe('undone true');
    expect(() => world.deliver('d')).toThrow(/starts with counter 3/); // 2 must be received again first
  }));

test('S5 in class synced the follower learns the number to wait for, and what is synced', () =>
  withWorld('synced', async (world) => {
    world.write('a');
    world.turns.commitNow();
    expect(world.events).toEqual(['appended 1:1 1']);
    await world.turns.settled();
    expect(world.events.at(-1)).toBe('synced 1');
  }));

test('S5 the settled version leaves out the running turn', () =>
  withWorld('buffered', async (world) => {
    world.deliver('a');
    world.turns.commitNow();
    world.write('b');
    world.deliver('c');
    expect(world.node.state.settledVersion().toString()).toBe('2.1:1');
    world.turns.commitNow();
    expect(world.node.state.settledVersion().toString()).toBe('1.1:1,2.1:2');
  }));
