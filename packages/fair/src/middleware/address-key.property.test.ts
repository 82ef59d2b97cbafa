import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressKey } from './address-key.js';

/** As the URL standard writes it. */
function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

test('however an IPv6 address is written, its key is the same', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const key = addressKey(canonical(address));
      expect(addressKey(address)).toBe(key);
      expect(addressKey(address.toUpperCase())).toBe(key);
      expect(key).toMatch(/::\/56$|^\d+\.\d+\.\d+\.\d+$/);
    }),
  );
});

test('the first 56 bits are the key, and the other 72 are not', () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  const groups = fc.array(group, { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, fc.integer({ min: 0, max: 127 }), (parts, bit) => {
      fc.pre(parts[0] !== 0); // else it may be an IPv4 peer
      const write = (values: readonly number[]) =>
        values.map((part) => part.toString(16)).join(':');
      const flipped = parts.map((part, at) =>
        at === Math.floor(bit / 16) ? part ^ (1 << (15 - (bit % 16))) : part,
      );
      fc.pre(flipped[0] !== 0);
      expect(addressKey(write(parts)) === addressKey(write(flipped))).toBe(bit >= 56);
    }),
  );
});

test('an IPv4 peer has one key, whatever the kind of socket', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(addressKey(`::ffff:${address}`)).toBe(address);
      expect(addressKey(canonical(`::ffff:${address}`))).toBe(address);
    }),
  );
});

test('input that is not an address never throws', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(typeof addressKey(text)).toBe('string');
    }),
  );
});
