// GET /api/sets returns nothing that might still be rolled back.
import { SynclineError, VersionVector } from '@syncline/kernel';
import type { Sets } from '@syncline/sets';
import { expect, test } from 'vitest';
import type { HttpRequest } from '../../http/http-route.js';
import { setsRoutes } from './sets-routes.js';

function ask(settled: Promise<void>) {
  const sets: Partial<Sets> = {
    digest: () => ({ version: new VersionVector(), liveDots: 0, xor: [0, 0xabc] }),
    status: () => ({}) as ReturnType<Sets['status']>,
    settled: () => settled,
  };
  const request: Partial<HttpRequest> = {};
  return setsRoutes(sets as Sets)[0]?.handle(request as HttpRequest);
}

test('a response is sent only when its content is stored', async () => {
  let isShown = false;
  let store = () => {};
  const stored = new Promise<void>((resolve) => {
    store = resolve;
  });
  const shown = Promise.resolve(ask(stored)).finally(() => {
    isShown = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isShown).toBe(false);
  store();
  expect(await shown).toEqual({
    kind: 'json',
    body: { version: '-', liveDots: 0, xor: '0000000000000abc' },
  });
});

test('writes that were rolled back are not reported', async () => {
  const full = new SynclineError('storage-full', 'no room on the disk');
  await expect(ask(Promise.reject(full))).rejects.toBe(full);
});
