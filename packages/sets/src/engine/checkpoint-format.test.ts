// Checkpoints as bytes: whatever is encoded is decoded again, however it is split; whatever is damaged is refused.
import {
  actorId,
  type Dot,
  formatDot,
  kernelLimits,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import {
  BlockKind,
  CheckpointDecoder,
  CheckpointEncoder,
  type CheckpointHeader,
} from './checkpoint-format.js';

const { elements: E, dropped: D } = BlockKind;

interface Element {
  readonly kind: typeof E | typeof D;
  readonly set: string;
  readonly member: string;
  readonly dots: readonly Dot[];
}

interface Checkpoint {
  readonly header: CheckpointHeader;
  readonly elements: readonly Element[];
  readonly liveDots: number;
  readonly xor: readonly [number, number];
}

/** Header, blocks and end, each by itself. A block holds at most `blockElements`. */
function encode(
  { header, elements, liveDots, xor }: Checkpoint,
  blockElements = Number.POSITIVE_INFINITY,
): Uint8Array[] {
  const encoder = new CheckpointEncoder(header);
  const parts = [encoder.take()];
  const names = new Map<string, Uint8Array>();
  let kind: Element['kind'] = E;
  const takeBlock = () => {
    if (encoder.readyBytes > 0) parts.push(encoder.take());
  };
  for (const [index, element] of elements.entries()) {
    if (element.kind !== kind || index % blockElements === 0) encoder.closeBlock();
    takeBlock();
    kind = element.kind;
    const name = names.get(element.set) ?? Buffer.from(element.set, 'latin1');
    names.set(element.set, name);
    encoder.add(kind, name, element.dots, Buffer.from(element.member, 'latin1'));
  }
  encoder.closeBlock();
  takeBlock();
  encoder.end({ liveDots, xor });
  takeBlock();
  return parts;
}

/** Everything that the decoder showed, one line each, until it threw `corrupt`. */
function decode(chunks: Iterable<Uint8Array>): {
  readonly lines: string[];
  readonly error: SynclineError | undefined;
} {
  const lines: string[] = [];
  let set = '';
  let bytes: Uint8Array = new Uint8Array(0);
  const text = (start: number, end: number) =>
    Buffer.from(bytes.subarray(start, end)).toString('latin1');
  const decoder = new CheckpointDecoder('checkpoint/1.ckpt', {
    header: (header) => lines.push(headerLine(header)),
    set: (buffer, start, end) => {
      bytes = buffer;
      set = text(start, end);
    },
    element: (start, end, dots, isNew) =>
      lines.push(elementLine({ kind: isNew ? E : D, set, member: text(start, end), dots })),
    end: ({ elements, liveDots, xor }) =>
      lines.push(`end ${elements} ${liveDots} ${xor.join(' ')}`),
  });
  try {
    for (const chunk of chunks) for (const _ of decoder.push(chunk));
    decoder.finish();
  } catch (thrown) {
    if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') throw thrown;
    return { lines, error: thrown };
  }
  return { lines, error: undefined };
}

function linesOf({ header, elements, liveDots, xor }: Checkpoint): string[] {
  const count = elements.filter(({ kind }) => kind === E).length;
  return [
    headerLine(header),
    ...elements.map(elementLine),
    `end ${count} ${liveDots} ${xor.join(' ')}`,
  ];
}

function headerLine({ clusterId, nodeId, takenMs, logNumber, version }: CheckpointHeader): string {
  return `${nodeId} of ${clusterId} at ${takenMs}, log ${logNumber}, ${version.toString()}`;
}

function elementLine({ kind, set, member, dots }: Element): string {
  return `${kind} ${set} / ${member} ${dots.map(formatDot).join(' ')}`;
}

/** It is refused, and nothing is shown that the checkpoint does not contain. */
function expectRefused(checkpoint: Checkpoint, chunks: Iterable<Uint8Array>, why: string): void {
  const { lines, error } = decode(chunks);
  expect(error?.code, why).toBe('corrupt');
  expect(lines, why).toEqual(linesOf(checkpoint).slice(0, lines.length));
}

const first = actorId(1, 0xffff);
const second = actorId(0xffff, 3);

const sample: Checkpoint = {
  header: {
    clusterId: 'dev',
    nodeId: 1,
    takenMs: 1_735_689_600_123,
    logNumber: 77,
    version: VersionVector.of({ actor: first, counter: 300 }, { actor: second, counter: 2 ** 40 }),
  },
  elements: [
    { kind: E, set: 'a', member: '', dots: [{ actor: first, counter: 1 }] },
    { kind: E, set: 'a', member: 'x', dots: [{ actor: first, counter: 300 }] },
    { kind: E, set: '', member: '\xff\x00', dots: [{ actor: second, counter: 2 ** 40 }] },
    {
      kind: E,
      set: 'a',
      member: 'y',
      dots: [
        { actor: first, counter: 7 },
        { actor: second, counter: 8 },
      ],
    },
    { kind: D, set: 'a', member: 'y', dots: [{ actor: second, counter: 9 }] },
    { kind: D, set: 'gone', member: 'z', dots: [{ actor: first, counter: 10 }] },
    { kind: D, set: 'gone', member: 'y', dots: [{ actor: first, counter: 11 }] },
  ],
  liveDots: 8,
  xor: [0xffff_ffff, 1],
};

const dotsOf = (version: readonly Dot[]) =>
  fc.uniqueArray(fc.nat(version.length - 1), { minLength: 1, maxLength: 3 }).chain((indices) =>
    fc.tuple(
      ...indices.map((index) => {
        const { actor, counter } = version[index] as Dot;
        return fc.integer({ min: 1, max: counter }).map((chosen) => ({ actor, counter: chosen }));
      }),
    ),
  );

const checkpoints: fc.Arbitrary<Checkpoint> = fc
  .uniqueArray(
    fc.record({
      actor: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(3)).map(([n, e]) => actorId(n, e)),
      counter: fc.oneof(
        fc.integer({ min: 1, max: 300 }),
        fc.maxSafeInteger().map((n) => Math.abs(n) || 1),
      ),
    }),
    { minLength: 1, maxLength: 4, selector: ({ actor }) => actor },
  )
  .chain((version) => {
    const element = (kind: Element['kind']) =>
      fc.record<Element>({
        kind: fc.constant(kind),
        set: fc.constantFrom('a', '', 'b'.repeat(200)),
        member: fc.oneof(
          fc.string({ unit: 'binary-ascii', maxLength: 20 }),
          fc.constant('m'.repeat(30_000)),
        ),
        dots: dotsOf(version),
      });
    return fc.record<Checkpoint>({
      header: fc.record<CheckpointHeader>({
        clusterId: fc.string({ minLength: 1, maxLength: 40 }),
        nodeId: fc.integer({ min: 1, max: 0xffff }),
        takenMs: fc.nat(),
        logNumber: fc.maxSafeInteger().map(Math.abs),
        version: fc.constant(VersionVector.of(...version)),
      }),
      elements: fc
        .tuple(fc.array(element(E), { maxLength: 12 }), fc.array(element(D), { maxLength: 6 }))
        .map((lists) => lists.flat()),
      liveDots: fc.nat(),
      xor: fc.tuple(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff)),
    });
  });

test('S21 a checkpoint is decoded as it was encoded, wherever its bytes are cut', () => {
  fc.assert(
    fc.property(
      checkpoints,
      fc.nat(3),
      fc.array(fc.nat(), { maxLength: 5 }),
      (checkpoint, block, cuts) => {
        const bytes = Buffer.concat(encode(checkpoint, 1 + block));
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
        places.sort((left, right) => left - right);
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        expect(decode(chunks)).toEqual({ lines: linesOf(checkpoint), error: undefined });
      },
    ),
    { numRuns: 100 },
  );
});

test('S21 a checkpoint is decoded byte by byte', () => {
  const bytes = Buffer.concat(encode(sample));
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  expect(decode(single)).toEqual({ lines: linesOf(sample), error: undefined });
});

test('S21 a checkpoint without elements is decoded', () => {
  const empty = {
    ...sample,
    elements: [],
    header: { ...sample.header, version: new VersionVector() },
  };
  const parts = encode(empty);
  expect(parts.length).toBe(2);
  expect(decode(parts)).toEqual({ lines: linesOf(empty), error: undefined });
});

describe('S21 a damaged checkpoint is refused', () => {
  const parts = encode(sample, 2);
  const bytes = Buffer.concat(parts);

  test('with any bit flipped, or any byte replaced', () => {
    for (const at of bytes.keys()) {
      for (const mask of [1, 2, 4, 8, 16, 32, 64, 128, 0xff]) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (bytes[at] ?? 0) ^ mask;
        expectRefused(sample, [damaged], `byte ${at} xor ${mask}`);
      }
    }
  });

  test('with a stretch of zeros, as a lost page leaves it', () => {
    for (let start = 0; start < bytes.length; start += 3) {
      for (let end = start + 1; end <= bytes.length; end += 5) {
        const damaged = Buffer.from(bytes).fill(0, start, end);
        if (damaged.equals(bytes)) continue;
        expectRefused(sample, [damaged], `zeros from ${start} to ${end}`);
      }
    }
  });

  test('when it ends early', () => {
    for (let end = 0; end < bytes.length; end += 1)
      expectRefused(sample, [bytes.subarray(0, end)], `cut at ${end}`);
  });

  test('when anything follows its end', () => {
    for (const more of [[0], [BlockKind.end], [BlockKind.elements, 0, 0, 0, 0]])
      expectRefused(sample, [bytes, Uint8Array.from(more)], `followed by ${more.join(' ')}`);
    expectRefused(sample, [bytes, bytes], 'twice');
  });

  test('when a part of it is lost, repeated or elsewhere', () => {
    for (const [index, part] of parts.entries()) {
      expectRefused(sample, parts.toSpliced(index, 1), `without part ${index}`);
      for (const place of [...parts.keys(), parts.length])
        expectRefused(sample, parts.toSpliced(place, 0, part), `part ${index} again at ${place}`);
      for (let other = index + 1; other < parts.length; other += 1) {
        const swapped = parts.with(index, parts[other] as Uint8Array).with(other, part);
        expectRefused(sample, swapped, `parts ${index} and ${other} swapped`);
      }
    }
  });

  test('when a block is that of another checkpoint', () => {
    const later = { ...sample, header: { ...sample.header, logNumber: 78 } };
    for (const [index, part] of encode(later, 2).entries()) {
      expect(part.length).toBe(parts[index]?.length);
      const found = index === 0 ? later : sample; // its header is good, the next block is not
      expectRefused(found, parts.with(index, part), `part ${index} of a later one`);
    }
  });

  test('with a length that would take all memory', () => {
    const version = Buffer.from(bytes);
    version.writeUInt32BE(0xffff_ffff, 14 + 3 + 16);
    expectRefused(sample, [version], 'the version vector');
    const block = Buffer.from(bytes);
    block.writeUInt32BE(0x7fff_ffff, (parts[0]?.length ?? 0) + 1);
    expectRefused(sample, [block], 'a block');
  });
});

test('names, members and dots may be as large as their limits allow', () => {
  const entries = kernelLimits.versionVectorEntriesMax.value;
  const counter = Number.MAX_SAFE_INTEGER;
  const dots = Array.from({ length: entries }, (_, index) => ({
    actor: actorId(1 + index, 0),
    counter,
  }));
  const largest = {
    set: 's'.repeat(setsLimits.keyBytesMax.value),
    member: 'm'.repeat(setsLimits.memberBytesMax.value),
    dots,
  };
  const almostFull = { member: 'f'.repeat(65_000), dots: dots.slice(0, 1) };
  const checkpoint: Checkpoint = {
    ...sample,
    header: { ...sample.header, clusterId: 'c'.repeat(255), version: VersionVector.of(...dots) },
    elements: [
      { kind: E, set: 'other', ...almostFull },
      { kind: E, ...largest },
      { kind: E, ...largest, member: '' },
      { kind: D, ...largest, dots: dots.slice(7, 8) },
    ],
  };
  expect(decode(encode(checkpoint))).toEqual({ lines: linesOf(checkpoint), error: undefined });
});

test('a block is closed once it is full', () => {
  const elements = Array.from({ length: 3_000 }, (_, index): Element => {
    const member = String(index).padStart(100, '.');
    return { kind: E, set: 'a', member, dots: [{ actor: first, counter: 1 + (index % 300) }] };
  });
  const checkpoint = { ...sample, elements };
  const parts = encode(checkpoint);
  const blockBytesMax = setsLimits.checkpointBlockBytesMax.value;
  expect(parts.length).toBeGreaterThan(6);
  for (const part of parts) expect(part.length).toBeLessThan(blockBytesMax + 200);
  expect(decode(parts)).toEqual({ lines: linesOf(checkpoint), error: undefined });
});

test('a member of 20 bytes takes less than 40 bytes', () => {
  const random = createSeededRandom(1);
  const count = 10_000;
  for (const counterMax of [1e6, Number.MAX_SAFE_INTEGER]) {
    const version = VersionVector.of({ actor: first, counter: counterMax });
    const elements = Array.from({ length: count }, (_, index): Element => {
      const counter = 1 + Math.floor(random.float() * (counterMax - 1));
      const member = String(index).padStart(20, '.');
      return { kind: E, set: 'a', member, dots: [{ actor: first, counter }] };
    });
    const parts = encode({ ...sample, header: { ...sample.header, version }, elements });
    expect(Buffer.concat(parts).length / count).toBeLessThan(40);
  }
});
