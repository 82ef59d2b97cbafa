// Random bytes that look like protobuf: most decode, in forms that no encoder would choose. Fields come
// in any order and twice, members of the oneof alternate, numbers take more bytes than they need, fields
// are unknown or of the wrong type, and lengths lie now and then. `mutated` then damages
// such a message, or any other.
import { type Random, randomBelow } from '@syncline/kernel';

/** The type of each field by its number, as far as the wire knows types. */
type Shape = { readonly [number: number]: 'varint' | 'fixed64' | 'text' | Shape };

const bucket: Shape = { 1: 'varint', 2: 'varint', 3: 'fixed64', 4: 'varint' };
const delta: Shape = { ...bucket, 5: 'fixed64', 6: 'fixed64' };
const config: Shape = {
  1: 'varint',
  2: 'varint',
  3: 'varint',
  4: 'fixed64',
  5: 'varint',
  6: 'varint',
  7: 'fixed64',
  8: 'fixed64',
  9: 'fixed64',
};
const welcome: Shape = { 1: 'varint', 2: 'varint', 3: 'varint', 4: 'varint', 5: 'varint' };
const hello: Shape = { 1: 'text', 2: 'text', 3: config, 4: 'varint' };

export const SOUP_SHAPES: Readonly<Record<'request' | 'response', Shape>> = {
  request: {
    1: { 1: 'varint', 2: delta, 3: 'varint', 4: 'varint' },
    2: { 1: 'varint' },
    3: hello,
    4: { 1: 'varint', 2: bucket },
  },
  response: {
    1: 'varint',
    2: bucket,
    3: 'varint',
    4: 'varint',
    5: 'varint',
    6: 'varint',
    8: welcome,
    9: 'varint',
  },
};

const fieldsMax = 6;
const strangeWireTypes = [0, 1, 2, 5];

export function wireSoup(random: Random, shape: Shape): number[] {
  const fieldsCount = randomBelow(random, fieldsMax + 1);
  return Array.from({ length: fieldsCount }, () =>
    randomBelow(random, 12) === 0 ? strangeField(random) : knownField(random, shape),
  ).flat();
}

/** The same bytes with one to three changes. */
export function mutated(random: Random, bytes: Uint8Array): Uint8Array {
  const result = [...bytes];
  for (let left = 1 + randomBelow(random, 3); left > 0; left -= 1) {
    const at = randomBelow(random, result.length + 1);
    const length = randomBelow(random, 4);
    switch (randomBelow(random, 6)) {
      case 0:
        result[at] = (result[at] ?? 0) ^ (1 << randomBelow(random, 8));
        break;
      case 1:
        result[at] = randomBelow(random, 256);
        break;
      case 2:
        result.splice(at, length);
        break;
      case 3:
        result.splice(at, 0, ...random.bytes(length));
        break;
      case 4:
        result.splice(at, 0, ...result.slice(randomBelow(random, result.length + 1)));
        break;
      default:
        result.length = at;
    }
  }
  return Uint8Array.from(result);
}

function knownField(random: Random, shape: Shape): number[] {
  const known = Object.entries(shape);
  const [number, type] = known[randomBelow(random, known.length)] ?? ['1', 'varint'];
  switch (type) {
    case 'varint':
      return [...tag(random, Number(number), 0), ...varint(random, soupNumber(random), 10)];
    case 'fixed64':
      return [...tag(random, Number(number), 1), ...soupDouble(random)];
    case 'text':
      return [...tag(random, Number(number), 2), ...delimited(random, soupText(random))];
    default:
      return [...tag(random, Number(number), 2), ...delimited(random, wireSoup(random, type))];
  }
}

/** A field that the contract does not know, or knows otherwise. */
function strangeField(random: Random): number[] {
  const wireType = strangeWireTypes[randomBelow(random, strangeWireTypes.length)] ?? 0;
  const number = 1 + randomBelow(random, randomBelow(random, 4) === 0 ? 2 ** 29 - 1 : 15);
  const head = tag(random, number, wireType);
  switch (wireType) {
    case 0:
      return [...head, ...varint(random, soupNumber(random), 10)];
    case 1:
      return [...head, ...soupDouble(random)];
    case 2:
      return [...head, ...delimited(random, soupText(random))];
    default:
      return [...head, ...random.bytes(4)];
  }
}

function tag(random: Random, number: number, wireType: number): number[] {
  return varint(random, BigInt(number) * 8n + BigInt(wireType), 5);
}

/** The length lies now and then. */
function delimited(random: Random, body: readonly number[]): number[] {
  const lie = randomBelow(random, 60) === 0 ? randomBelow(random, 9) - 4 : 0;
  return [...varint(random, BigInt(Math.max(0, body.length + lie)), 10), ...body];
}

function soupNumber(random: Random): bigint {
  const bits = BigInt(randomBelow(random, 65));
  return ((BigInt(random.u32()) << 35n) | BigInt(random.u32())) & ((1n << bits) - 1n);
}

const texts = ['', 'api', 'naïve', '💧']; // Protobuf-ES drops a byte order mark
const doubles = [0, -0, 1, 0.5, -0.04, Number.NaN, Number.POSITIVE_INFINITY, -1e308];

function soupDouble(random: Random): number[] {
  const known = doubles[randomBelow(random, 2 * doubles.length)];
  if (known === undefined) return [...random.bytes(8)];
  return [...new Uint8Array(Float64Array.of(known).buffer)];
}

function soupText(random: Random): number[] {
  if (randomBelow(random, 20) === 0) return [...random.bytes(3)];
  const text = texts[randomBelow(random, texts.length)];
  return [...new TextEncoder().encode(text)];
}

/** Sometimes with more bytes than it needs, up to `bytesMax`, and rarely one more. */
function varint(random: Random, value: bigint, bytesMax: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  } while (rest > 0n);
  const room = bytesMax - bytes.length + (randomBelow(random, 200) === 0 ? 1 : 0);
  if (room > 0 && randomBelow(random, 10) === 0) {
    for (let left = 1 + randomBelow(random, room); left > 0; left -= 1) bytes.push(0x80);
  }
  return bytes.map((byte, index) => (index === bytes.length - 1 ? byte & 0x7f : byte));
}
