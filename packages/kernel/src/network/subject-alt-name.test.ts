import { expect, it } from 'vitest';
import { uriNames } from './subject-alt-name.js';

it('only URI names are taken, in their order', () => {
  const names = 'DNS:localhost, IP Address:127.0.0.1, URI:syncline://dev/node/1, URI:urn:x?a=b';
  expect(uriNames(names)).toEqual(['syncline://dev/node/1', 'urn:x?a=b']);
});

it('a certificate without names, or without URI names, has none', () => {
  expect(uriNames(undefined)).toEqual([]);
  expect(uriNames('')).toEqual([]);
  expect(uriNames('DNS:localhost')).toEqual([]);
});

it('K69 a name cannot pretend to be two', () => {
  // As Node writes a DNS name that holds ", URI:syncline://dev/node/9", and a URI with a comma.
  const names = 'DNS:"a\\u002c URI:syncline://dev/node/9", URI:"syncline://dev/node/2\\u002cx"';
  expect(uriNames(names)).toEqual(['syncline://dev/node/2,x']);
});
