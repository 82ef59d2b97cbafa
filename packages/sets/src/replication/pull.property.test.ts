// Pulls between states that change in the meantime, compared with the tag model, and what they cost on the wire.
import { actorId, type VersionVector } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { DrivenState } from '../engine/testing/driven-state.js';
import { PlainSets } from '../engine/testing/plain-sets.js';
import { type PlainOperation, plainByProtobuf } from '../testing/plain-operation.js';
import { PayloadWriter } from './payload.js';
import type { PullLimits } from './pull-limits.js';
import type { PullMessage, SymbolsMessage } from './pull-messages.js';
import {
  type DrivenPullOptions,
  drivePull,
  receive,
  settleAndTake,
} from './testing/driven-pull.js';

type Chance = ReturnType<typeof createSeededRandom>;
const pick = <T>(random: Chance, list: readonly T[]): T =>
  list[Math.floor(random.float() * list.length)] as T;

interface Made {
  readonly plain: PlainOperation;
  readonly bytes: Uint8Array;
  readonly seen: VersionVector;
}

/** Three nodes that write, lose some of what others wrote, and pull. */
class World {
  readonly nodes = [1, 2, 3].map((id) => new DrivenState({}, actorId(id, 9)));
  readonly made: Made[] = [];
  readonly #random: Chance;

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
  }

  /** One write, delivery or undone turn at one node. */
  change(): void {
    const random = this.#random;
    const node = pick(random, this.nodes);
    const roll = random.float();
    if (roll < 0.4) this.#write(node);
    else if (roll < 0.5) this.#undone(node);
    else this.#deliver(node);
  }

  pull(limits: Partial<PullLimits>, change = () => this.change()): void {
    const random = this.#random;
    const to = pick(random, this.nodes);
    const from = pick(
      random,
      this.nodes.filter((node) => node !== to),
    );
    const changes = pick(random, [0, 0.2, 0.6]);
    const options: DrivenPullOptions = {
      limits,
      listing: random.float() < 0.2,
      meanwhile: () => {
        if (random.float() < changes) change();
      },
    };
    const { outcome } = drivePull(to.state, from.state, options);
    expect(['applied', 'nothing']).toContain(outcome);
  }

  /** Each node holds the result of the operations that its version covers. */
  check(): void {
    for (const node of this.nodes) {
      const version = node.state.version.toVector();
      const plain = new PlainSets();
      for (const { plain: operation } of this.made) {
        const { actor, base, count } = operation;
        if (version.counterOf(actor) >= base + count - 1) plain.apply(operation);
      }
      expect(version.toString()).toBe(plain.version.toString());
      expect(node.lines(), `at ${version.toString()}`).toEqual(plain.lines());
      expect(node.state.digest.liveDots).toBe(plain.lines().length);
    }
  }

  #write(node: DrivenState): void {
    const random = this.#random;
    const seen = node.state.version.toVector();
    const members = Array.from({ length: 1 + Math.floor(random.float() * 3) }, () =>
      pick(random, ['x', 'y', 'z', '']),
    );
    if (random.float() < 0.6) node.add(pick(random, ['a', 'b']), members);
    else node.remove(pick(random, ['a', 'b']), members);
    const bytes = settleAndTake(node);
    for (const plain of plainByProtobuf(bytes)) this.made.push({ plain, bytes, seen });
  }

  #undone(node: DrivenState): void {
    node.add('a', ['x', 'undone']);
    node.remove('b', ['y', 'z']);
    node.undo();
  }

  #deliver(node: DrivenState): void {
    const { version } = node.state;
    const ready = this.made.filter(
      ({ plain, seen }) =>
        version.counterOf(plain.actor) === plain.base - 1 && version.toVector().dominates(seen),
    );
    const next = ready[Math.floor(this.#random.float() * ready.length)];
    if (next !== undefined) receive(node.state, next.bytes);
  }
}

const limitChoices: readonly Partial<PullLimits>[] = [
  { stepRows: 1, frameBytes: 30, framesAhead: 1 },
  { stepRows: 2, frameBytes: 100 },
  {},
];

test('S1 S2 S20 S31 S32 S33 nodes that write and pull at the same time agree with the tag model', () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const world = new World(seed);
    const random = createSeededRandom(`limits/${seed}`);
    for (let step = 0; step < 40; step += 1) {
      if (random.float() < 0.25) world.pull(pick(random, limitChoices));
      else world.change();
      world.check();
    }
  }
}, 60_000);

/** Two nodes with the same members; one changes, the other pulls. */
function prepare(common: number, memberBytes = 20): { from: DrivenState; to: DrivenState } {
  const from = new DrivenState({}, actorId(1, 1));
  const to = new DrivenState({}, actorId(2, 1));
  for (let at = 0; at < common; at += 1_000) {
    from.add(
      'set',
      Array.from({ length: 1_000 }, (_, index) => memberOf(at + index, memberBytes)),
    );
    receive(to.state, settleAndTake(from));
  }
  return { from, to };
}

/** Comparing all lines would take longer than the pull. */
const digestOf = ({ state }: DrivenState) => {
  const { version, liveDots, xor } = state.digestNow();
  return `${version.toString()} ${liveDots} ${xor.join()}`;
};

const memberOf = (number: number, bytes: number) => `${number}`.padStart(bytes, 'm');

describe('S38 what a pull costs on the wire', () => {
  test.each([
    { common: 12_000, removes: 1_000, adds: 0 },
    { common: 20_000, removes: 2_000, adds: 1_000 },
    { common: 5_000, removes: 0, adds: 5_000 },
    { common: 5_000, removes: 4_000, adds: 100 },
    { common: 30_000, removes: 2_500, adds: 0 },
  ])('$removes missed removes and $adds missed adds among $common', ({ common, removes, adds }) => {
    const { from, to } = prepare(common);
    const random = createSeededRandom(1);
    const gone = new Set<number>();
    while (gone.size < removes) gone.add(Math.floor(random.float() * common));
    from.remove(
      'set',
      [...gone].map((number) => memberOf(number, 20)),
    );
    from.add(
      'set',
      Array.from({ length: adds }, (_, n) => memberOf(common + n, 20)),
    );
    from.settle();
    const { outcome, totalBytes } = drivePull(to.state, from.state);
    expect(outcome).toBe('applied');
    expect(digestOf(to)).toBe(digestOf(from));
    expect(totalBytes).toBeLessThanOrEqual(1_024 + 32 * removes + (20 + 16) * adds);
  });

  test('an idle round takes less than 200 bytes, and walks nothing', () => {
    const { from, to } = prepare(1_000);
    const { outcome, totalBytes } = drivePull(to.state, from.state);
    expect(outcome).toBe('nothing');
    expect(totalBytes).toBeLessThan(200);
  });

  test('nodes are reported equal only when version and digest are', () => {
    const { from, to } = prepare(10);
    expect(drivePull(to.state, from.state)).toMatchObject({ outcome: 'nothing', isEqual: true });
    to.add('set', ['only here']);
    to.settle();
    expect(drivePull(to.state, from.state)).toMatchObject({ outcome: 'nothing', isEqual: false });
    expect(drivePull(from.state, to.state)).toMatchObject({ outcome: 'applied', isEqual: false });
    expect(drivePull(from.state, to.state)).toMatchObject({ outcome: 'nothing', isEqual: true });
  });

  test('the second sketch and the listing follow when the first is not enough', () => {
    for (const limits of [
      { symbolsSmall: 512, symbolsMax: 8_192 },
      { symbolsSmall: 64, symbolsMax: 256 },
    ]) {
      const { from, to } = prepare(8_000);
      from.remove(
        'set',
        Array.from({ length: 400 }, (_, n) => memberOf(n * 17, 20)),
      );
      from.settle();
      expect(drivePull(to.state, from.state, { limits }).outcome).toBe('applied');
      expect(digestOf(to)).toBe(digestOf(from));
    }
  });
});

test('S31 a removed element of our own does not come back, and is not taken for missed', () => {
  const { from, to } = prepare(2_000);
  to.remove('set', [memberOf(5, 20)]);
  to.add('set', ['mine']);
  to.settle();
  from.remove('set', [memberOf(7, 20)]);
  from.settle();
  expect(drivePull(to.state, from.state).outcome).toBe('applied');
  expect(to.members('set')).toContain('mine');
  expect(to.members('set')).not.toContain(memberOf(5, 20));
  expect(to.members('set')).not.toContain(memberOf(7, 20));
  expect(to.members('set').length).toBe(1_999);
});

test.each([false, true])(
  'S39 equal versions with unequal dots are reported, and nothing changes (listing: %s)',
  (listing) => {
    const { from, to } = prepare(1_000);
    from.remove('set', [memberOf(5, 20)]);
    from.add('set', ['new']);
    to.state.version.advance(actorId(1, 1), from.state.version.ownCounter);
    from.settle();
    const { outcome, differences } = drivePull(to.state, from.state, { listing });
    expect(outcome).toBe('diverged');
    expect(differences).toEqual({ onlyHere: ['1.1:6'], onlyThere: ['1.1:1002'] });
    expect(to.members('set').length).toBe(1_000);
  },
);

test('S39 of a large divergence 100 dots are reported', () => {
  const { from, to } = prepare(1_000);
  from.remove(
    'set',
    Array.from({ length: 500 }, (_, number) => memberOf(number, 20)),
  );
  from.add(
    'set',
    Array.from({ length: 200 }, (_, number) => `new ${number}`),
  );
  to.state.version.advance(actorId(1, 1), from.state.version.ownCounter);
  from.settle();
  const { onlyHere, onlyThere } = drivePull(to.state, from.state).differences;
  expect([onlyHere.length, onlyThere.length]).toEqual([50, 50]);
});

describe('a peer that sends what it should not', () => {
  const changed = () => {
    const pair = prepare(3_000);
    pair.from.remove('set', [memberOf(5, 20), memberOf(6, 20)]);
    pair.from.add('set', ['new']);
    pair.from.settle();
    return pair;
  };

  const damage = (change: (message: SymbolsMessage) => PullMessage): DrivenPullOptions => ({
    onMessage: (message) =>
      message.kind === 'symbols' && message.counts.length > 0 ? change(message) : message,
  });

  test('symbols that never decode give no wrong dot: the listing decides', () => {
    const { from, to } = changed();
    const flipped = (message: SymbolsMessage) => ({
      ...message,
      checks: message.checks.map((byte) => byte ^ 0x55),
    });
    expect(drivePull(to.state, from.state, damage(flipped)).outcome).toBe('applied');
    expect(digestOf(to)).toBe(digestOf(from));
  });

  test('symbols out of order end the pull before anything has changed', () => {
    const { from, to } = changed();
    const before = to.lines();
    const shifted = (message: SymbolsMessage) => ({ ...message, from: message.from + 1 });
    expect(drivePull(to.state, from.state, damage(shifted)).outcome).toBe('corrupt');
    expect(to.lines()).toEqual(before);
    expect(drivePull(to.state, from.state, { listing: true }).outcome).toBe('applied');
    expect(digestOf(to)).toBe(digestOf(from));
  });

  test.each([
    ['a dot that is covered here', [1], /told to leave out/],
    ['a dot that it has not seen itself', [9_999], /has not seen/],
    ['a dot twice', [3_002, 3_002], /appears twice/],
    ['more dots than it has offered', [3_001, 3_002], /but 1 were offered/],
  ] as const)('%s is refused, and nothing changes', (_, counters, reason) => {
    const { from, to } = changed();
    const before = to.lines();
    const writer = new PayloadWriter();
    for (const counter of counters)
      writer.add(Buffer.from('set'), Buffer.from('x'), { actor: actorId(1, 1), counter });
    const encoded = writer.take(7, true);
    const onMessage = (message: PullMessage): PullMessage =>
      message.kind === 'payload' ? { ...message, encoded } : message;
    expect(() => drivePull(to.state, from.state, { onMessage })).toThrow(reason);
    expect(to.lines()).toEqual(before);
  });
});
