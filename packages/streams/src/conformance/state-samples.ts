// States, codecs and entries that the cases of the state suite share.
import type { Codec } from '../state/codec.js';
import { numberCodec, stringCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import { aggregate, versioned } from '../state/state-backend.js';

export const counts = aggregate(numberCodec);
export const texts = versioned(stringCodec, 'number');

/** One more. */
export function increment(count: number | undefined): number {
  return (count ?? 0) + 1;
}

/** Keys of every kind that are easily confused, and some in many key groups. */
export const mixedKeys: readonly Key[] = [
  ...[0, 1, -1, 42, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  ...[0n, 1n, -1n, 255n, 256n, -256n, 2n ** 255n, 1n - 2n ** 256n],
  ...['', '0', '1', '1n', '-1', 'é', '\u{1f600}', '\uffff', '\0', 'user-1'],
  ...Array.from({ length: 300 }, (_, index) => `key-${index}`),
];

/** Texts as a codec of a given version writes them: its own number, a colon, the text. */
export function labelledCodec(version: number, id = 'labelled'): Codec<string> {
  return {
    id,
    version,
    encode: (text) => Buffer.from(`${version}:${text}`),
    decode(bytes, writtenBy) {
      const text = Buffer.from(bytes).toString();
      if (!text.startsWith(`${writtenBy}:`))
        throw new Error(`${text} is not of version ${writtenBy}`);
      return text.slice(text.indexOf(':') + 1);
    },
  };
}
