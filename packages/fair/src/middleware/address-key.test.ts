import { expect, test } from 'vitest';
import { addressKey } from './address-key.js';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:12ff:aaaa:bbbb:cccc:dddd', '2001:db8:1:1200::/56'],
  ['2001:DB8:1:1234::1', '2001:db8:1:1200::/56'],
  ['2001:db8::', '2001:db8:0:0::/56'],
  ['::1', '0:0:0:0::/56'],
  ['::', '0:0:0:0::/56'],
  ['fe80::1%eth0', 'fe80:0:0:0::/56'],
  ['1:2:3:4:5:6:7::', '1:2:3:0::/56'],
])('%s counts as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each(['::ffff:192.0.2.7', '::FFFF:192.0.2.7', '::ffff:c000:207', '0:0:0:0:0:ffff:192.0.2.7'])(
  '%s is an IPv4 peer on a dual-stack socket',
  (address) => {
    expect(addressKey(address)).toBe('192.0.2.7');
  },
);

test('two lines of one provider are two flows; two addresses of one line are one', () => {
  expect(addressKey('2001:db8:1:1200::1')).toBe(addressKey('2001:db8:1:12ff::2'));
  expect(addressKey('2001:db8:1:1200::1')).not.toBe(addressKey('2001:db8:1:1300::1'));
});

test.each([
  '1:2:3',
  '1:2:3:4:5:6:7:8:9',
  '1::2::3',
  '1:2:3:4:5:6:7:8::',
  'g::',
  '::ffff:1.2.3.256',
  'tenant:7',
])('input that is not an address stays unchanged: %s', (text) => {
  expect(addressKey(text)).toBe(text);
});

test('without an address there is no key', () => {
  expect(addressKey(undefined)).toBeUndefined();
});

test('a value that is not text is not an address', () => {
  expect(addressKey(5 as unknown as string)).toBeUndefined();
});
