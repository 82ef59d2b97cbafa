import { actorId, createMemoryStorage, dot, StorageBatch, VersionVector } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { identityKey } from '../state/storage-keys.js';
import { chooseEpoch, readIdentity } from './claim-identity.js';
import { decodeIdentity, encodeIdentity, type IdentityRecord } from './identity-record.js';

const record: IdentityRecord = { nodeId: 7, clusterId: 'dév', epoch: 65_535, state: 'open' };

async function storeWith(value: Uint8Array) {
  const storage = createMemoryStorage();
  await storage.write(new StorageBatch().put(identityKey, value), { durability: 'synced' });
  return storage;
}

test('a record reads as it was written', () => {
  for (const state of ['open', 'clean', 'loading'] as const) {
    expect(decodeIdentity(encodeIdentity({ ...record, state }))).toEqual({ ...record, state });
  }
});

test.each([[[]], [[1, 0, 7, 0, 1]], [[9, 0, 7, 0, 1, 65]]])('bytes %j are no record', (bytes) => {
  expect(() => decodeIdentity(Uint8Array.from(bytes))).toThrow('cannot be read');
});

test('data of another node or cluster is refused with the way out', async () => {
  const storage = await storeWith(encodeIdentity(record));
  expect(readIdentity(storage, record)).toEqual(record);
  expect(() => readIdentity(storage, { ...record, nodeId: 8 })).toThrow(
    'belongs to node 7, not to node 8. Give each node its own data directory',
  );
  expect(() => readIdentity(storage, { ...record, clusterId: 'x' })).toThrow(
    'belongs to cluster "dév", not to "x"',
  );
  expect(() => readIdentity(storage, { ...record, clusterId: '' })).toThrow('1 to 255');
  expect(() => readIdentity(storage, { ...record, nodeId: 0 })).toThrow('node id 0');
});

test('S3 a clean stop keeps the epoch; any other end takes the next one that nobody knows', () => {
  const random = createSeededRandom(1);
  const known = VersionVector.of(
    dot(actorId(7, 0), 5),
    dot(actorId(7, 1), 5),
    dot(actorId(8, 2), 5),
  );
  const choose = (state: IdentityRecord['state']) =>
    chooseEpoch({ ...record, state }, 7, known, random);
  expect(choose('clean')).toBe(65_535);
  expect(choose('open')).toBe(2);
  expect(choose('loading')).toBe(2);
});

test('S3 a new store draws its first epoch at random', () => {
  const random = createSeededRandom(1);
  const epochs = Array.from({ length: 50 }, () =>
    chooseEpoch(undefined, 7, new VersionVector(), random),
  );
  expect(new Set(epochs).size).toBeGreaterThan(45);
});
