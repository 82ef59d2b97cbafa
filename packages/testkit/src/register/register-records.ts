// How a register node keeps its state and its log in the store.
import type { RangeOptions } from '@syncline/kernel';
import type { RegisterState, Update } from './register-core.js';

export const STATE_KEY = bytes('state');

interface StateRecord {
  readonly total: number;
  readonly applied: readonly (readonly [string, number])[];
  readonly answered: readonly (readonly [string, number])[];
}

export function encodeState({ total, applied, answered }: RegisterState): Uint8Array {
  const record: StateRecord = { total, applied: [...applied], answered: [...answered] };
  return bytes(JSON.stringify(record));
}

export function decodeState(value: Uint8Array | undefined): RegisterState | undefined {
  if (value === undefined) return undefined;
  const { total, applied, answered } = parse(value) as StateRecord;
  return { total, applied: new Map(applied), answered: new Map(answered) };
}

export function encodeUpdate(update: Update): Uint8Array {
  return bytes(JSON.stringify(update));
}

export function decodeUpdate(value: Uint8Array): Update {
  return parse(value) as Update;
}

/** Counters have a fixed width, so that the log is sorted by node and counter. */
export function logKey({ node, counter }: { node: string; counter: number }): Uint8Array {
  return bytes(`log/${node}/${String(counter).padStart(12, '0')}`);
}

/** The updates of one node after `counter`. */
export function logRange(node: string, counter: number): RangeOptions {
  return { from: logKey({ node, counter: counter + 1 }), to: bytes(`log/${node}0`) }; // '0' follows '/'
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

function parse(value: Uint8Array): unknown {
  return JSON.parse(Buffer.from(value).toString());
}
