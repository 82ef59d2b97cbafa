import { describe, expect, it } from 'vitest';
import { SynclineError } from '../error.js';
import { CHECKSUM_BYTES, sealValue, unsealValue } from './sealed-value.js';

const key = Buffer.from('key');

function seal(value: Uint8Array, withKey: Uint8Array = key): Uint8Array {
  const sealed = new Uint8Array(value.length + CHECKSUM_BYTES);
  const content = Buffer.concat([Buffer.from('before'), withKey, value, Buffer.from('behind')]);
  sealValue(sealed, content, 6, 6 + withKey.length);
  return sealed;
}

describe('sealed values', () => {
  it('return the value, from empty to large', () => {
    for (const length of [0, 1, 60, 61, 62, 63, 64, 65, 100, 65_532, 200_000]) {
      const value = new Uint8Array(length).fill(length);
      expect(unsealValue(key, seal(value), '/d').length).toBe(length);
      expect(Buffer.compare(unsealValue(key, seal(value), '/d'), value)).toBe(0);
    }
  });

  it('K18 any flipped bit, any cut and any other key is corrupt', () => {
    const sealed = seal(Buffer.from('some value'));
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const damaged = sealed.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => unsealValue(key, damaged, '/d')).toThrow(SynclineError);
    }
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => unsealValue(key, sealed.subarray(0, length), '/d')).toThrow(SynclineError);
    }
    expect(() => unsealValue(Buffer.from('kez'), sealed, '/d')).toThrow(SynclineError);
  });

  it('K18 bytes cannot move from the key into the value', () => {
    const sealed = seal(Buffer.from('c'), Buffer.from('ab'));
    const moved = Buffer.concat([Buffer.from('b'), sealed]);
    expect(() => unsealValue(Buffer.from('a'), moved, '/d')).toThrow(SynclineError);
  });

  it('name the key in hex, cut, and the directory', () => {
    const longKey = new Uint8Array(100).fill(0xab);
    const error = (() => {
      try {
        return unsealValue(longKey, new Uint8Array(8), '/data/jobs');
      } catch (thrown) {
        return thrown as SynclineError;
      }
    })();
    expect(error).toMatchObject({
      code: 'corrupt',
      details: { directory: '/data/jobs', keyHex: `${'ab'.repeat(32)}…`, keyBytes: 100 },
    });
    expect((error as SynclineError).message).toContain('0xabab');
  });
});
