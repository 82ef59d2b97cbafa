// Three nodes that get each other's journal records in causal order: they must agree, and adds must win.
//
// Replay is the rule by which operations of other nodes are applied too, so this holds it to more than one
// node can make: elements with several dots, in memory, in the storage and across folds.
import { actorId, createMemoryStorage, type Dot, VersionVector } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import { newFold } from './fold-record.js';
import { SetsState } from './sets-state.js';
import { PlainSets } from './testing/plain-sets.js';

const keys = createOrderKeys('test');
const setNames = ['a', 'b'];
const members = ['w', 'x', 'y', 'z'];
const nodes = [1, 2, 3];
const names = ByteList.of(...setNames.map((name) => Buffer.from(name)));
const memberList = ByteList.of(...members.map((member) => Buffer.from(member)));

interface Change {
  readonly kind: 'add' | 'remove';
  readonly set: number;
  readonly member: number;
}

/** A record as its writer made it, with what the tag model needs to know. */
interface Sent {
  readonly bytes: Uint8Array;
  readonly seen: VersionVector;
}

type Step =
  | { readonly kind: 'write'; readonly node: number; readonly changes: readonly Change[] }
  | { readonly kind: 'fold' | 'unload'; readonly node: number }
  | { readonly kind: 'deliver'; readonly node: number; readonly from: number };

const node = fc.nat(nodes.length - 1);
const change = fc.record<Change>({
  kind: fc.constantFrom('add', 'add', 'remove'),
  set: fc.nat(setNames.length - 1),
  member: fc.nat(members.length - 1),
});
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      node,
      changes: fc.array(change, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver' as const), node, from: node }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('fold' as const, 'unload' as const), node }),
  },
);

class Replica {
  readonly sent: Sent[] = [];
  readonly #storage = createMemoryStorage();
  readonly #state: SetsState;
  readonly #plain = new PlainSets();
  readonly #received = new Map<Replica, number>();

  constructor(nodeId: number) {
    const options = {
      keys,
      fold: newFold(),
      version: new VersionVector(),
      generationEntriesMax: 3,
    };
    this.#state = new SetsState({ storage: this.#storage }, options);
    this.#state.useActor(actorId(nodeId, 0));
  }

  write(changes: readonly Change[]): void {
    const seen = this.#state.version();
    this.#state.begin();
    for (const { kind, set, member } of changes) {
      const memorySet = this.#state.setOf(names, set);
      if (kind === 'add') this.#state.add(memorySet, memberList, member);
      else this.#state.remove(memorySet, memberList, member);
    }
    this.#state.end();
    const record = this.#state.takeRecord();
    if (record === undefined) return;
    this.#state.settled(record.number);
    this.#applyPlain(record.bytes, seen);
    this.sent.push({ bytes: record.bytes, seen });
  }

  /** True when a record was applied. */
  deliver(from: Replica): boolean {
    const next = this.#received.get(from) ?? 0;
    const sent = from.sent[next];
    if (from === this || sent === undefined) return false;
    if (!this.#state.version().dominates(sent.seen)) return false;
    Array.from(this.#state.replay(this.#state.gatheringNumber, sent.bytes));
    this.#applyPlain(sent.bytes, sent.seen);
    this.#received.set(from, next + 1);
    return true;
  }

  fold(): void {
    for (let fold = this.#state.nextFold(); fold !== undefined; fold = this.#state.nextFold()) {
      while (!fold.advance(1));
      void this.#storage.write(fold.batch, { durability: 'synced' });
      this.#state.folded(fold);
    }
    expect([this.#state.foldedNumber, this.#state.headEntries]).toEqual([
      this.#state.gatheringNumber - 1,
      0,
    ]);
    for (const index of setNames.keys()) {
      const set = this.#state.setOf(names, index);
      const rows = set.isWhole ? set.cardinality : 0;
      expect(set.table.size, 'rows that are of no use are gone').toBe(rows);
    }
  }

  unload(): void {
    for (const index of setNames.keys()) {
      const set = this.#state.setOf(names, index);
      while (!this.#state.unload(set, 10));
    }
  }

  /** Version and digest. */
  compare(): readonly [version: string, digest: string] {
    const found = [...setNames.keys()].map((index) => {
      const set = this.#state.setOf(names, index);
      const present = members.filter((_, member) => this.#state.has(set, memberList, member));
      return `${set.cardinality} ${present.join()}`;
    });
    const wanted = setNames.map((set) => {
      const present = members.filter((member) => this.#plain.has({ set, member }));
      return `${this.#plain.cardinality(set)} ${present.join()}`;
    });
    expect(found).toEqual(wanted);
    const { version, liveDots, xor } = this.#state.digest();
    const digest = `${liveDots}:${xor[0]}:${xor[1]}`;
    expect(digest).toBe(this.#plain.digest(keys));
    return [version.toString(), digest];
  }

  /** An element named loses the tags that its writer had seen; what is added gets a tag. */
  #applyPlain(bytes: Uint8Array, seen: VersionVector): void {
    for (const operation of decodeOperations(bytes)) {
      for (let index = 0; index < operation.members.length; index += 1) {
        const set = operation.sets.text(operation.setOf(index));
        const element = { set, member: operation.members.text(index) };
        const unseen = this.#plain.dotsOf(element).filter((dot: Dot) => !seen.covers(dot));
        const counter = operation.counterOf(index);
        const added = counter > 0 ? [{ actor: operation.actor, counter }] : [];
        this.#plain.write(element, [...unseen, ...added]);
      }
    }
  }
}

function deliverAll(replicas: readonly Replica[]): void {
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (const to of replicas) for (const from of replicas) isMoving ||= to.deliver(from);
  }
}

test('S1 S2 three nodes agree with the tag model at each step, and with each other in the end', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 80, size: 'max' }), (list) => {
      const replicas = nodes.map((id) => new Replica(id));
      const digests = new Map<string, string>();
      const compare = (replica: Replica) => {
        const [version, digest] = replica.compare();
        expect(digests.get(version) ?? digest, `at ${version}`).toBe(digest);
        digests.set(version, digest);
      };
      for (const step of list) {
        const replica = replicas[step.node];
        const from = step.kind === 'deliver' ? replicas[step.from] : undefined;
        if (replica === undefined) continue;
        if (step.kind === 'write') replica.write(step.changes);
        else if (step.kind === 'fold') replica.fold();
        else if (step.kind === 'unload') replica.unload();
        else if (from !== undefined) replica.deliver(from);
        compare(replica);
      }
      deliverAll(replicas);
      for (const replica of replicas) compare(replica);
      expect(new Set(replicas.map((replica) => replica.compare().join(' '))).size).toBe(1);
    }),
    { numRuns: 40 },
  );
});

test('S2 a member that one node adds while another removes it stays', () => {
  const [left, right] = [new Replica(1), new Replica(2)];
  left.write([{ kind: 'add', set: 0, member: 0 }]);
  right.deliver(left);
  left.write([{ kind: 'add', set: 0, member: 0 }]);
  right.write([{ kind: 'remove', set: 0, member: 0 }]);
  deliverAll([left, right]);
  expect(left.compare()).toEqual(right.compare());
  expect(left.compare()[1]).toMatch(/^1:/);
});

test('a record that changes nothing here is folded like any other, and leaves no row', () => {
  const [left, right] = [new Replica(1), new Replica(2)];
  left.write([{ kind: 'add', set: 0, member: 0 }]);
  right.deliver(left);
  left.write([{ kind: 'remove', set: 0, member: 0 }]);
  right.write([{ kind: 'remove', set: 0, member: 0 }]);
  left.fold();
  left.deliver(right); // the member is gone already
  left.fold();
  left.write([{ kind: 'add', set: 0, member: 0 }]);
  right.deliver(left);
  right.deliver(left);
  left.write([{ kind: 'add', set: 0, member: 0 }]);
  right.write([{ kind: 'remove', set: 0, member: 0 }]);
  left.fold();
  left.unload();
  left.deliver(right); // the member has a dot that the remover has not seen
  left.fold();
});
