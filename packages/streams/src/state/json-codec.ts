// The JSON codec: canonical text for each value, and only values that survive a round trip.
//
// Object members are sorted, so equal values give equal bytes whatever order they were built in. Values that
// `JSON.stringify` would silently change are rejected: NaN (null), a Date (a string), a Map ({}). Undefined members are
// omitted, as usual; -0 is kept, because JSON can represent it.
import { streamsLimits } from '../limits.js';
import { type Codec, checkLength } from './codec.js';
import { kindOf } from './key.js';
import { badRecord, corrupt } from './state-error.js';

/** Values made of null, booleans, finite numbers, strings, arrays and plain objects. */
export function jsonCodec<V>(): Codec<V> {
  return {
    id: 'json',
    version: 1,
    encode(value) {
      checkJson(value);
      return Buffer.from(textOf(value), 'utf8');
    },
    decode(bytes) {
      try {
        return JSON.parse(Buffer.from(bytes).toString('utf8')) as V;
      } catch (thrown) {
        const damage = { offset: 0, expected: 'JSON', found: `${bytes.length} other bytes` };
        throw corrupt('json', damage, thrown);
      }
    },
    normalise(value) {
      checkJson(value);
      return sorted(value) as V;
    },
  };
}

/** Also bounds the work: a value that contains the same object very often is rejected while its size is counted. */
function checkJson(value: unknown): void {
  checkInside(value, { bytes: 0, depth: 0 });
}

interface Walk {
  /** Lower bound of the JSON size of everything visited so far. */
  bytes: number;
  depth: number;
}

function checkInside(value: unknown, walk: Walk): void {
  walk.bytes += typeof value === 'string' ? value.length + 2 : 1;
  checkLength(walk.bytes);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw badRecord(`JSON cannot hold ${value}`);
      return;
    case 'object':
      if (value !== null) checkMembers(value, walk);
      return;
    default:
      throw badRecord(`JSON cannot hold ${kindOf(value)}`);
  }
}

function checkMembers(value: object, walk: Walk): void {
  const { value: depthMax } = streamsLimits.jsonDepthMax;
  if (walk.depth === depthMax) {
    throw badRecord(`the value is nested more than ${depthMax} levels deep, or contains itself`);
  }
  walk.depth += 1;
  if (Array.isArray(value)) {
    // By index, since iteration methods skip holes, which JSON would turn into null.
    for (let index = 0; index < value.length; index += 1) checkInside(value[index], walk);
  } else if (isPlain(value)) {
    for (const name of Object.keys(value)) {
      const member: unknown = Reflect.get(value, name);
      if (member === undefined) continue;
      walk.bytes += name.length + 3;
      checkInside(member, walk);
    }
  } else {
    throw badRecord(`JSON cannot hold ${describe(value)}`);
  }
  walk.depth -= 1;
}

/** The value must have been checked. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${textOf(member)}`);
  }
  return `{${members.join(',')}}`;
}

/** The checked value with its members in the order of `textOf`; the same object if they already are. */
function sorted(value: unknown): unknown {
  if (isSorted(value)) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const object = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(object).filter((name) => object[name] !== undefined);
  return Object.fromEntries(names.sort().map((name) => [name, sorted(object[name])]));
}

/** Most values are sorted, so the check allocates nothing. */
function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let before: string | undefined;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined || (before !== undefined && name < before)) return false;
    if (!isSorted(member)) return false;
    before = name;
  }
  return true;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function describe(value: object): string {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? 'an instance of a class' : `a ${tag}`;
}
