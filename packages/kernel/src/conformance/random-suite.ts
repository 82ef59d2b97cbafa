// The contract of every Random. The bounds are so wide that a sound source fails less than once in 10^12 runs.
import assert from 'node:assert/strict';
import { type Random, randomBelow } from '../random.js';
import { casesFor } from './conformance-case.js';

export interface RandomSubject {
  readonly random: Random;
  /** A second one, made in the same way. */
  readonly other: Random;
}

/** `create` is called once per case. */
export function randomSuite(create: () => Promise<RandomSubject & AsyncDisposable>) {
  return casesFor(create, {
    'K62 u32 returns integers below 2^32': u32IsInRange,
    'each bit of u32 is set about half of the time': u32BitsAreEven,
    'K62 float returns numbers from 0 to below 1': floatIsInRange,
    'float uses 53 bits': floatUses53Bits,
    'K62 bytes returns the requested number of bytes': bytesHaveLength,
    'bytes differ from call to call': bytesDiffer,
    'K62 two streams differ': streamsDiffer,
    'randomBelow stays below its bound and reaches each value': belowReachesEachValue,
  });
}

const DRAWS = 10_000;

async function u32IsInRange({ random }: RandomSubject): Promise<void> {
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const value = random.u32();
    assert.ok(Number.isInteger(value) && value >= 0 && value < 2 ** 32, `got ${value}`);
  }
}

async function u32BitsAreEven({ random }: RandomSubject): Promise<void> {
  const setCounts = new Array<number>(32).fill(0);
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const value = random.u32();
    for (let bit = 0; bit < 32; bit += 1)
      setCounts[bit] = (setCounts[bit] ?? 0) + ((value >>> bit) & 1);
  }
  for (const [bit, count] of setCounts.entries()) // standard deviation 50: eight of them
    assert.ok(Math.abs(count - DRAWS / 2) < 400, `bit ${bit} was set ${count} times of ${DRAWS}`);
}

async function floatIsInRange({ random }: RandomSubject): Promise<void> {
  let sum = 0;
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const value = random.float();
    assert.ok(value >= 0 && value < 1, `got ${value}`);
    sum += value;
  }
  assert.ok(Math.abs(sum / DRAWS - 0.5) < 0.03, `mean ${sum / DRAWS}`); // ten standard deviations
}

async function floatUses53Bits({ random }: RandomSubject): Promise<void> {
  let lowBitSet = 0;
  for (let draw = 0; draw < 64; draw += 1) {
    const scaled = random.float() * 2 ** 53;
    assert.ok(Number.isInteger(scaled));
    if (scaled % 2 === 1) lowBitSet += 1;
  }
  assert.ok(lowBitSet > 0 && lowBitSet < 64, 'the lowest of the 53 bits never changed');
}

async function bytesHaveLength({ random }: RandomSubject): Promise<void> {
  for (const count of [0, 1, 3, 4, 16, 1_000, 100_000]) {
    const bytes = random.bytes(count);
    assert.ok(bytes instanceof Uint8Array);
    assert.equal(bytes.length, count);
  }
}

async function bytesDiffer({ random }: RandomSubject): Promise<void> {
  const seen = new Set<string>();
  for (let draw = 0; draw < 100; draw += 1) seen.add(Buffer.from(random.bytes(16)).toString('hex'));
  assert.equal(seen.size, 100);
  assert.equal(new Set(random.bytes(DRAWS)).size, 256);
}

async function streamsDiffer({ random, other }: RandomSubject): Promise<void> {
  const drawn = (source: Random) => [source.u32(), source.float(), ...source.bytes(16)];
  for (let draw = 0; draw < 10; draw += 1) assert.notDeepEqual(drawn(random), drawn(other));
}

async function belowReachesEachValue({ random }: RandomSubject): Promise<void> {
  for (const bound of [1, 2, 7, 10]) {
    const seen = new Set<number>();
    for (let draw = 0; draw < 1_000; draw += 1) seen.add(randomBelow(random, bound));
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      Array.from({ length: bound }, (_, value) => value),
    );
  }
  assert.ok(randomBelow(random, 2 ** 32) < 2 ** 32);
}
