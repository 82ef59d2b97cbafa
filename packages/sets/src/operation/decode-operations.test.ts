import { actorId, type Dot, dot, VersionVector } from '@syncline/kernel';
import { encodeMeshOperations, encodeSetsChange } from '@syncline/protocol/operations';
import { describe, expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { decodeOperations } from './decode-operations.js';
import { OperationWriter } from './operation-writer.js';

const actor = actorId(1, 7);
const other = actorId(2, 0);

interface Fields {
  readonly dot?: Uint8Array;
  readonly count?: number;
  readonly dependencies?: Uint8Array;
  readonly sets?: readonly SetFields[];
  readonly dropped?: Uint8Array;
}

interface SetFields {
  readonly set?: Uint8Array;
  readonly add?: Uint8Array[];
  readonly remove?: Uint8Array[];
}

/** One operation by Protobuf-ES: `SADD s a` as dot 1.7:10, with other fields where they are given. */
function encoded(fields: Fields): Uint8Array {
  const sets = (fields.sets ?? [{ add: [bytes('a')] }]).map((set) => ({ set: bytes('s'), ...set }));
  const dropped = fields.dropped ?? new Uint8Array(0);
  const operation = {
    dot: fields.dot ?? dots(dot(actor, 10)),
    count: fields.count ?? Math.max(1, sets.flatMap(({ add }) => add ?? []).length),
    dependencies: fields.dependencies ?? new Uint8Array(0),
    body: encodeSetsChange({ sets, dropped }),
  };
  return encodeMeshOperations({ operations: [operation] });
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

function dots(...list: readonly Dot[]): Uint8Array {
  return Buffer.concat(list.map((one) => VersionVector.of(one).toBytes()));
}

/** 12 bytes of any values. */
function rawDot(node: number, high: number, low: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(12));
  view.setUint16(0, node);
  view.setUint32(4, high);
  view.setUint32(8, low);
  return new Uint8Array(view.buffer);
}

/** `count` members that differ. */
function many(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => bytes(`member:${index}`));
}

function elementsOf(record: Uint8Array): number {
  let count = 0;
  for (const operation of decodeOperations(record)) count += operation.members.length;
  return count;
}

const keyMax = setsLimits.keyBytesMax.value;
const memberMax = setsLimits.memberBytesMax.value;
const elementsMax = setsLimits.operationElementsMax.value;
const bytesMax = setsLimits.operationBytesMax.value;
const wholeMembers = Array.from({ length: 63 }, (_, index) =>
  new Uint8Array(memberMax).fill(index),
);
/** An operation of exactly `size` bytes. */
function sized(size: number): Uint8Array {
  const withRest = (rest: number) =>
    encoded({ sets: [{ add: [...wholeMembers, new Uint8Array(rest).fill(99)] }] });
  const headBytes = withRest(0x8000).length - 0x8000;
  return withRest(size + 5 - headBytes); // tag and length of the operation take 5
}

test('an operation shows what was written, and more may follow', () => {
  const writer = new OperationWriter();
  writer.begin(actor, 10);
  writer.set(bytes('s'), 0, 1);
  writer.add(bytes('xab'), 1, 2);
  writer.set(bytes('t'), 0, 1);
  writer.remove(bytes('b'), 0, 1);
  writer.dropped(other, 0, 4);
  writer.set(bytes('s'), 0, 1);
  writer.add(bytes('c'), 0, 1);
  expect(writer.end(VersionVector.of(dot(other, 4)).toBytes())).toBe(2);
  writer.begin(actor, 12);
  writer.set(bytes('s'), 0, 1);
  writer.remove(bytes('c'), 0, 1);
  writer.dropped(actor, 0, 11);
  expect(writer.end()).toBe(1);

  const shown: unknown[] = [];
  for (const operation of decodeOperations(writer.bytes().slice())) {
    const { base, count, sets, members, dropped } = operation;
    for (let member = 0; member < members.length; member += 1) {
      const set = sets.text(operation.setOf(member));
      shown.push([set, members.text(member), operation.counterOf(member)]);
    }
    shown.push([
      base,
      count,
      operation.dependencies.toString(),
      dropped.has(actor, 11),
      dropped.has(other, 4),
    ]);
  }
  expect(shown).toEqual([
    ['s', 'a', 10],
    ['t', 'b', 0],
    ['s', 'c', 11],
    [10, 2, '2.0:4', false, true],
    ['s', 'c', 0],
    [12, 1, '-', true, false],
  ]);
});

test.each([
  ['the longest member', encoded({ sets: [{ add: [new Uint8Array(memberMax)] }] }), 1],
  [
    'the longest name of a set',
    encoded({ sets: [{ set: new Uint8Array(keyMax), add: [bytes('a')] }] }),
    1,
  ],
  [
    'a set without a name and a member without bytes',
    encoded({ sets: [{ set: bytes(''), add: [bytes('')] }] }),
    1,
  ],
  ['the most elements', encoded({ sets: [{ add: many(elementsMax) }] }), elementsMax],
  ['the most bytes', sized(bytesMax), 64],
  ['the highest counter', encoded({ dot: dots(dot(actor, 2 ** 53 - 1)) }), 1],
])('takes %s', (_, record, elements) => {
  expect(elementsOf(record)).toBe(elements);
});

describe('S23 refuses', () => {
  const two = { sets: [{ add: [bytes('a'), bytes('b')] }] };
  const refusals: readonly (readonly [string, Uint8Array, RegExp])[] = [
    [
      'a member that is too long',
      encoded({ sets: [{ add: [new Uint8Array(memberMax + 1)] }] }),
      /member has 65537/,
    ],
    [
      'a name that is too long',
      encoded({ sets: [{ set: new Uint8Array(keyMax + 1), add: [bytes('a')] }] }),
      /has 4097 bytes/,
    ],
    [
      'too many elements',
      encoded({ sets: [{ add: many(elementsMax + 1) }] }),
      /more than 65536 elements/,
    ],
    ['too many bytes', sized(bytesMax + 1), /has 4194305 bytes/],
    ['no change', encoded({ sets: [] }), /no body/],
    [
      'a set without a change',
      encoded({ sets: [{ add: [bytes('a')] }, {}] }),
      /without a changed member/,
    ],
    [
      'an element twice',
      encoded({ sets: [{ add: [bytes('a')] }, { add: [bytes('a')] }] }),
      /element 1 appears twice/,
    ],
    [
      'an element twice among many',
      encoded({ sets: [{ add: [...many(99), bytes('member:7')] }] }),
      /element 99 appears twice/,
    ],
    [
      'an element that comes and goes',
      encoded({
        sets: [{ add: [bytes('a')], remove: [bytes('a')] }],
        dropped: dots(dot(actor, 1)),
      }),
      /element 1 appears twice/,
    ],
    ['too few counters', encoded({ ...two, count: 1 }), /takes 1 counters .* need 2/],
    ['too many counters', encoded({ ...two, count: 3 }), /takes 3 counters .* need 2/],
    ['no counter', encoded({ count: 0 }), /takes 0 counters/],
    ['no dot', encoded({ dot: bytes('') }), /dot/],
    ['half a dot', encoded({ dot: rawDot(1, 0, 1).subarray(0, 6) }), /dot has 6 bytes/],
    ['two dots', encoded({ dot: dots(dot(actor, 1), dot(actor, 2)) }), /dot has 24 bytes/],
    ['node 0', encoded({ dot: rawDot(0, 0, 1) }), /node 0/],
    ['counter 0', encoded({ dot: rawDot(1, 0, 0) }), /counter 0/],
    ['counter 2^53', encoded({ dot: rawDot(1, 2 ** 21, 0) }), /counter 9007199254740992/],
    [
      'counters that end above 2^53 - 1',
      encoded({ ...two, dot: dots(dot(actor, 2 ** 53 - 1)) }),
      /beyond 2\^53 - 1/,
    ],
    [
      'dependencies that are not sorted',
      encoded({ dependencies: dots(dot(actorId(3, 0), 1), dot(other, 1)) }),
      /out of order/,
    ],
    [
      'a dependency on its own actor',
      encoded({ dependencies: dots(dot(actor, 9)) }),
      /own actor 1\.7/,
    ],
    [
      'dropped dots that are not sorted',
      encoded({ dropped: dots(dot(other, 2), dot(other, 1)) }),
      /not sorted/,
    ],
    [
      'a dot dropped twice',
      encoded({ dropped: dots(dot(other, 2), dot(other, 2)) }),
      /appears twice/,
    ],
    ['half a dropped dot', encoded({ dropped: rawDot(1, 0, 1).subarray(0, 8) }), /8 bytes of dots/],
    ['its own new dot as dropped', encoded({ dropped: dots(dot(actor, 10)) }), /drops 1\.7:10/],
    [
      'a member that leaves without a dot',
      encoded({ sets: [{ remove: [bytes('a')] }] }),
      /1 members are removed with 0 dots/,
    ],
    ['an unknown field', Uint8Array.of(0x12, 0), /field tag 18 is unknown/],
    ['an endless number', new Uint8Array(20).fill(0xff), /more than (10 bytes|32 bits)/],
    [
      'a number above 32 bits',
      Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f),
      /more than 32 bits/,
    ],
    ['a length beyond the end', Uint8Array.of(0x0a, 5, 0), /beyond the end/],
  ];
  test.each(refusals)('%s', (_, record, message) => {
    for (const code of ['corrupt', 'invalid-argument'] as const) {
      const read = () => [...decodeOperations(record, code)];
      expect(read).toThrow(message);
      expect(read).toThrow(expect.objectContaining({ name: 'SynclineError', code }));
    }
  });
});

test('members that were chosen to collide are told apart all the same', () => {
  const members = collidingMembers('s', 8);
  expect(elementsOf(encoded({ sets: [{ add: members }] }))).toBe(256);
  const repeated = encoded({ sets: [{ add: [...members, ...members.slice(-1)] }] });
  expect(() => elementsOf(repeated)).toThrow(/element 256 appears twice/);
});

/** 2^stages members of one FNV-1a hash: at each stage two blocks of four bytes lead to the same state. */
function collidingMembers(set: string, stages: number): Uint8Array[] {
  let members: Uint8Array[] = [bytes('')];
  const setHash = fnv(bytes(set), 0x811c9dc5);
  let state = setHash ^ (setHash >>> 15);
  for (let stage = 0; stage < stages; stage += 1) {
    const [left, right] = collidingBlocks(state);
    members = members.flatMap((member) => [left, right].map((end) => Buffer.concat([member, end])));
    state = fnv(left, state);
  }
  return members;
}

function collidingBlocks(state: number): readonly [Uint8Array, Uint8Array] {
  const seen = new Map<number, number>();
  for (let number = 0; ; number += 1) {
    const mixed = Math.imul(number, 0x9e3779b1); // neighbors would hardly ever collide
    const hash = fnv(block(mixed), state);
    const earlier = seen.get(hash);
    if (earlier !== undefined) return [block(earlier), block(mixed)];
    seen.set(hash, mixed);
  }
}

function block(word: number): Uint8Array {
  return Uint8Array.of(word >>> 24, word >>> 16, word >>> 8, word);
}

function fnv(input: Uint8Array, state: number): number {
  return input.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), state);
}
