import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { CHANGE_BYTES_MAX, ChangeBuffer } from './change-buffer.js';

const set = Buffer.from('set');

test('what fits into one operation is one, over several sets and in both directions', async () => {
  const { keyspace, changes } = await createBuffer();
  await changes.push('add', set, Buffer.from('a'));
  await changes.push('add', set, Buffer.from('b'));
  await changes.push('remove', set, Buffer.from('a'));
  await changes.push('add', Buffer.from('other'), Buffer.from('a'));
  expect(keyspace.operations).toBe(0);
  await changes.finish();
  expect(keyspace.operations).toBe(1);
  expect(changes.added).toBe(3);
  expect(keyspace.cardinality(ByteList.of(set), 0)).toBe(1);
});

test('what does not fit is several operations, and nothing is lost between them', async () => {
  const { keyspace, changes } = await createBuffer();
  const count = 60;
  const filling = Buffer.alloc(CHANGE_BYTES_MAX / (count / 2), 'x');
  for (let number = 0; number < count; number += 1)
    await changes.push('add', set, Buffer.concat([filling, Buffer.from(String(number))]));
  await changes.finish();
  expect(keyspace.operations).toBeGreaterThan(1);
  expect(changes.added).toBe(count);
  expect(keyspace.cardinality(ByteList.of(set), 0)).toBe(count);
});

async function createBuffer() {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  return { keyspace, changes: new ChangeBuffer({ keyspace, hold: await keyspace.closeGate() }) };
}
