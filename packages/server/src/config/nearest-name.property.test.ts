// A name with one typo is matched to the intended name.
import { nearestName } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SETTING_LIST } from './setting-list.js';

const keys = SETTING_LIST.map(({ key }) => key);

type Slip = (name: string, at: number) => string;

const slips: Record<string, Slip> = {
  'a letter too many': (name, at) => `${name.slice(0, at)}#${name.slice(at)}`,
  'a letter missing': (name, at) => name.slice(0, at) + name.slice(at + 1),
  'a wrong letter': (name, at) => `${name.slice(0, at)}#${name.slice(at + 1)}`,
  'two letters swapped': (name, at) =>
    name.slice(0, at) + (name[at + 1] ?? '') + (name[at] ?? '') + name.slice(at + 2),
  'another case': (name) => name.toUpperCase(),
};

test.each(Object.entries(slips))('%s: the intended name is found', (_, slip) => {
  fc.assert(
    fc.property(fc.constantFrom(...keys), fc.nat(), (key, seed) => {
      const nearest = nearestName(slip(key, seed % key.length), keys);
      // A typo can produce a name that is just as close to another key: `grpc.port` is as close to `rpc.port` as any.
      expect(nearest).toBeDefined();
      const isOneStepOff = nearest === key || keys.includes(slip(key, seed % key.length));
      expect(isOneStepOff).toBe(true);
    }),
  );
});

test('names with whole words missing are matched', () => {
  expect(nearestName('tls.cert', keys)).toBe('tls.cert_file');
  expect(nearestName('port', keys)).toBe('http.port');
  expect(nearestName('--port', ['--help', '--http-port'])).toBe('--http-port');
});

test('a common prefix does not make names similar', () => {
  expect(nearestName('SYNCLINE_FOO', ['SYNCLINE_URL', 'SYNCLINE_MEMORY'])).toBeUndefined();
  expect(nearestName('--memory', ['--help', '--http-port'])).toBeUndefined();
  expect(nearestName('help', ['serve', 'dev', 'status'])).toBeUndefined();
});

test('a name unlike all others gets no suggestion', () => {
  expect(nearestName('completely.different', keys)).toBeUndefined();
  expect(nearestName('', keys)).toBeUndefined();
});
