// The JSON codec: canonical text for each value, and only values that survive a round trip.
//
// Object members are sorted, so equal values give equal bytes whatever order they were built in. Values that
// `JSON.stringify` would silently change are rejected: NaN (null), a Date (a string), a Map ({}). Undefined members are
// omitted, as usual; -0 is kept, because JSON can represent it.
import { findJsonProblem, withSortedMembers } from '@syncline/kernel/checks';
import { streamsLimits } from '../limits.js';
import { type Codec, checkLength } from './codec.js';
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
      return withSortedMembers(value) as V;
    },
  };
}

/** Characters: names of members may be long. */
const SHOWN_PATH_MAX = 128;

function checkJson(value: unknown): void {
  const { jsonDepthMax, valueBytesMax } = streamsLimits;
  const bounds = { bytesMax: valueBytesMax.value, depthMax: jsonDepthMax.value };
  const problem = findJsonProblem(value, bounds);
  if (problem?.bytes !== undefined) checkLength(problem.bytes);
  if (!problem) return;
  const { path, message } = problem;
  const where = path.length === 0 ? 'the value' : path.join('.').slice(0, SHOWN_PATH_MAX);
  throw badRecord(`${where} ${message}`);
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
