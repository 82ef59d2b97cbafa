// One text for equal JSON values, whatever the order of their members: what digests are made from.
import type { JsonValue } from '../state.js';

/** The value has passed `checkPayload`: no cycles, bounded depth. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
}

/** `Array.isArray` does not narrow a readonly list away. */
function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
