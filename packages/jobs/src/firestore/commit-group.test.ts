// What a group does with an operation that throws.
import { Firestore, Timestamp, type Transaction } from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { type CommitGroupDeps, commitGroup } from './commit-group.js';
import { JobDocuments } from './document-refs.js';
import type { JobOperation } from './job-operation.js';

const documents = new JobDocuments(new Firestore({ projectId: 'test' }), 'job');
const readTime = Timestamp.fromMillis(1);

/** Transactions over an empty database. */
const transaction = {
  getAll: async () => [{ ref: documents.job, readTime, data: () => undefined }],
} as unknown as Transaction;
const calls = {
  transact: (_: string, body: (given: Transaction) => unknown) => body(transaction),
} as unknown as CommitGroupDeps['calls'];

const throwing = (thrown: Error): JobOperation<never> => ({
  bytes: 1,
  documents: () => [],
  decide() {
    throw thrown;
  },
});

test('a refusal is the answer of one operation, a mistake of ours ends the transaction', async () => {
  const refusal = new SynclineError('not-found', 'no such job');
  const { answers } = await commitGroup({ calls, documents }, [throwing(refusal)]);
  expect(answers).toEqual([{ kind: 'refused', error: refusal }]);
  const mistake = new TypeError('a mistake');
  const group = commitGroup({ calls, documents }, [throwing(refusal), throwing(mistake)]);
  await expect(group).rejects.toBe(mistake);
});
