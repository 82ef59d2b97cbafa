// Three nodes that apply each other's operations in causal order, with turns that fail and pins that are read
// meanwhile: each step must agree with the tag model, each pin with a copy of its moment, and all nodes in the end.
import { actorId, type Dot, formatDot, type VersionVector } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { memberBuffer, memberEnd, memberStart } from '../memory/element-row.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import { LocalOperation } from './local-changes.js';
import { MemberPin } from './member-pin.js';
import { applyOperation } from './operations.js';
import { DotPin } from './pins.js';
import { SetsState } from './sets-state.js';
import { keyOf, PlainSets } from './testing/plain-sets.js';

const keys = createOrderKeys('test');
const setNames = ['a', '', 'c'];
const members = ['', 'x', 'y', 'z', 'a longer member'];
const names = ByteList.of(...setNames.map((name) => Buffer.from(name)));
const memberList = ByteList.of(...members.map((member) => Buffer.from(member)));

interface Change {
  readonly kind: 'add' | 'remove';
  readonly set: number;
  readonly member: number;
}

type Step = { readonly node: number } & (
  | { readonly kind: 'write'; readonly changes: readonly Change[]; readonly isAbandoned: boolean }
  | { readonly kind: 'settle' | 'undo' | 'openPins' | 'walk' | 'finishPins' }
  | { readonly kind: 'deliver'; readonly from: number }
);

const node = fc.nat(2);
const change = fc.record<Change>({
  kind: fc.constantFrom('add', 'add', 'remove'),
  set: fc.nat(setNames.length - 1),
  member: fc.nat(members.length - 1),
});
const writes = fc.record({
  kind: fc.constant('write' as const),
  node,
  changes: fc.array(change, { minLength: 1, maxLength: 5 }),
  isAbandoned: fc.nat(9).map((chance) => chance === 0),
});
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: writes },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('deliver' as const), node, from: node }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('undo' as const), node }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('openPins' as const, 'walk' as const, 'finishPins' as const),
      node,
    }),
  },
);

interface Sent {
  readonly bytes: Uint8Array;
  readonly seen: VersionVector;
}

interface OpenPins {
  readonly moment: PlainSets;
  readonly dots: DotPin;
  readonly dotLines: string[];
  readonly members: MemberPin;
  readonly walks: readonly AsyncGenerator<readonly Uint8Array[]>[];
  readonly found: string[][];
}

class Replica {
  readonly sent: Sent[] = [];
  readonly #state = new SetsState(keys);
  readonly #operation = new LocalOperation(this.#state);
  readonly #received = new Map<Replica, number>();
  readonly #random = createSeededRandom(1);
  /** As of the last settled turn, and now. */
  #settled = new PlainSets();
  #plain = new PlainSets();
  /** Sent with the next settled turn. */
  #made: Sent[] = [];
  #pins: OpenPins | undefined;

  constructor(nodeId: number) {
    this.#state.version.useActor(actorId(nodeId, 0xffff));
  }

  write(changes: readonly Change[], isAbandoned: boolean): void {
    const seen = this.#state.version.toVector();
    const before = this.#state.record.size;
    this.#operation.begin();
    for (const { kind, set, member } of changes) {
      this.#operation.begin(); // pairs may be nested, as commands are in a transaction
      if (kind === 'add') {
        this.#operation.add(this.#state.sets.findOrCreate(names, set), memberList, member);
      } else {
        const found = this.#state.sets.find(names, set);
        if (found !== undefined) this.#operation.remove(found, memberList, member);
      }
      expect(this.#operation.end()).toBe(false);
    }
    if (isAbandoned) {
      this.#operation.giveUp();
      return;
    }
    if (!this.#operation.end()) return;
    const bytes = this.#state.record.bytes().slice(before);
    this.#applyPlain(bytes, seen);
    this.#made.push({ bytes, seen });
  }

  settle(): void {
    this.#state.record.clear();
    this.#state.settleTurn();
    this.#settled = this.#plain.copy();
    this.sent.push(...this.#made);
    this.#made = [];
    for (const index of setNames.keys()) {
      const set = this.#state.sets.find(names, index);
      expect(set?.table.size ?? 0, 'S7 rows of removed members are freed').toBe(
        set?.cardinality ?? 0,
      );
    }
  }

  undo(): void {
    this.#state.undoTurn();
    this.#plain = this.#settled.copy();
    this.#made = [];
  }

  /** Remote operations are separate turns here: their sender has settled them. */
  deliver(from: Replica): boolean {
    const next = this.#received.get(from) ?? 0;
    const sent = from.sent[next];
    if (from === this || sent === undefined) return false;
    this.settle();
    if (!this.#state.version.toVector().dominates(sent.seen)) return false;
    for (const operation of decodeOperations(sent.bytes))
      Array.from(applyOperation(this.#state, operation));
    this.#applyPlain(sent.bytes, sent.seen);
    this.#received.set(from, next + 1);
    this.settle();
    return true;
  }

  openPins(): void {
    if (this.#pins !== undefined) return;
    const deps = {
      random: this.#random,
      commitNow: () => this.settle(),
      yieldIfOverBudget: () => undefined,
    };
    this.settle();
    const pinned = setNames.map((name) => Buffer.from(name));
    const dots = new DotPin(this.#state);
    const memberPin = new MemberPin(this.#state, deps, pinned);
    const walks = pinned.map((name) => memberPin.members(name));
    const moment = this.#plain.copy();
    this.#pins = {
      moment,
      dots,
      members: memberPin,
      walks,
      dotLines: [],
      found: setNames.map(() => []),
    };
  }

  /** One step of each walk. False when all are done. */
  async walk(): Promise<boolean> {
    const pins = this.#pins;
    if (pins === undefined) return false;
    this.settle();
    const { heap } = this.#state;
    let isMore = pins.dots.walk(1, (set, row, dots) => {
      const member = memberBuffer(heap, row).subarray(memberStart(row), memberEnd(heap, row));
      for (const dot of dots) pins.dotLines.push(lineOf(set.name, member, dot));
    });
    for (const [index, walk] of pins.walks.entries()) {
      const { done, value } = await walk.next();
      if (done === true) continue;
      isMore = true;
      for (const member of value) pins.found[index]?.push(Buffer.from(member).toString());
    }
    for (const set of setNames) {
      const name = Buffer.from(set);
      const wanted = pins.moment.members(set);
      expect(pins.members.cardinality(name)).toBe(wanted.length);
      for (const member of members)
        expect(pins.members.has(name, Buffer.from(member))).toBe(wanted.includes(member));
      if (wanted.length > 0)
        expect(wanted).toContain(Buffer.from(pins.members.randomMember(name)).toString());
    }
    return isMore;
  }

  async finishPins(): Promise<void> {
    const pins = this.#pins;
    if (pins === undefined) return;
    while (await this.walk());
    while (
      pins.dots.walkDropped(1, (set, member, dot) => {
        pins.dotLines.push(lineOf(set.name, member, dot));
      })
    );
    expect(pins.dotLines.toSorted(), 'S20 each dot once').toEqual(pins.moment.lines());
    for (const [index, set] of setNames.entries())
      expect(pins.found[index]?.toSorted(), 'S20 each member once').toEqual(
        pins.moment.members(set),
      );
    pins.dots.close();
    pins.members.close();
    this.#pins = undefined;
  }

  compare(): readonly [version: string, digest: string] {
    for (const [index, set] of setNames.entries()) {
      const entry = this.#state.sets.find(names, index);
      const found = members.filter(
        (_, member) => entry !== undefined && this.#state.has(entry, memberList, member),
      );
      expect(found.toSorted()).toEqual(this.#plain.members(set));
      expect(entry?.cardinality ?? 0).toBe(found.length);
    }
    expect(this.#state.sets.filledCount).toBe(this.#plain.setNames().length);
    const { version, liveDots, xor } = this.#state.digestNow();
    const digest = `${liveDots}:${xor[0]}:${xor[1]}`;
    expect(digest).toBe(this.#plain.digest(keys));
    expect(version.toString()).toBe(this.#plain.version.toString());
    return [version.toString(), digest];
  }

  /** An element named by the operation loses the tags that its writer had seen; an added one gets a new tag. */
  #applyPlain(bytes: Uint8Array, seen: VersionVector): void {
    for (const operation of decodeOperations(bytes)) {
      const { actor, base, count } = operation;
      for (let index = 0; index < operation.members.length; index += 1) {
        const set = operation.sets.text(operation.setOf(index));
        const element = { set, member: operation.members.text(index) };
        const unseen = this.#plain.dotsOf(element).filter((dot: Dot) => !seen.covers(dot));
        const counter = operation.counterOf(index);
        const added = counter > 0 ? [{ actor, counter }] : [];
        this.#plain.write(element, [...unseen, ...added]);
      }
      this.#plain.version.advance(actor, base + count - 1);
    }
  }
}

function lineOf(set: Uint8Array, member: Uint8Array, dot: Dot): string {
  const element = { set: Buffer.from(set).toString(), member: Buffer.from(member).toString() };
  return `${keyOf(element)} ${formatDot(dot)}`;
}

async function runStep(replicas: readonly Replica[], step: Step): Promise<Replica | undefined> {
  const replica = replicas[step.node];
  if (replica === undefined) return undefined;
  if (step.kind === 'write') replica.write(step.changes, step.isAbandoned);
  else if (step.kind === 'settle') replica.settle();
  else if (step.kind === 'undo') replica.undo();
  else if (step.kind === 'openPins') replica.openPins();
  else if (step.kind === 'walk') await replica.walk();
  else if (step.kind === 'finishPins') await replica.finishPins();
  else if ('from' in step) replica.deliver(replicas[step.from] ?? replica);
  return replica;
}

test('S1 S2 S4 S7 S20 nodes agree with the tag model, pins with their moment, and all in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 100, size: 'max' }), async (list) => {
      const replicas = [1, 2, 3].map((id) => new Replica(id));
      const digests = new Map<string, string>();
      for (const step of list) {
        const replica = await runStep(replicas, step);
        replica?.compare();
        if (step.kind !== 'settle') continue; // until then a turn may still be undone
        const [version, digest] = replica?.compare() ?? ['', ''];
        expect(digests.get(version) ?? digest, `S1 at ${version}`).toBe(digest);
        digests.set(version, digest);
      }
      for (const replica of replicas) {
        replica.settle();
        await replica.finishPins();
      }
      for (let isMoving = true; isMoving; ) {
        isMoving = false;
        for (const to of replicas) for (const from of replicas) isMoving ||= to.deliver(from);
      }
      const ends = new Set(replicas.map((replica) => replica.compare().join(' ')));
      expect(ends.size).toBe(1);
    }),
    { numRuns: 60 },
  );
});

test('S2 a member that one node adds while another removes it stays', () => {
  const [left, right] = [new Replica(1), new Replica(2)];
  left.write([{ kind: 'add', set: 0, member: 0 }], false);
  left.settle();
  right.deliver(left);
  left.write([{ kind: 'add', set: 0, member: 0 }], false);
  right.write([{ kind: 'remove', set: 0, member: 0 }], false);
  left.settle();
  right.settle();
  left.deliver(right);
  right.deliver(left);
  expect(left.compare()).toEqual(right.compare());
  expect(left.compare()[1]).toMatch(/^1:/);
});
