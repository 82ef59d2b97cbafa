// At the start: applies the journal from the fold up to the first number that is missing.
//
// A loss of power may take any record that was not synced and leave later ones. Operations behind such a
// hole rest on what is lost, so they are not applied: what is left is always a prefix (S6). They are
// deleted, synced, before anything new is written; else a new record would close the hole, and the next
// start would take the old ones for its successors.
import { type Logger, type Metrics, type Storage, StorageBatch } from '@syncline/kernel';
import type { SetsState } from '../state/sets-state.js';
import { journalKey, journalNumberOf, KeyKind, kindRange } from '../state/storage-keys.js';
import type { TurnShare } from '../turn-share.js';

const DELETES_PER_BATCH = 4_096;

export interface ReplayDeps {
  readonly state: Pick<SetsState, 'foldedNumber' | 'replay'>;
  readonly storage: Storage;
  readonly turns: TurnShare;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export async function replayJournal(deps: ReplayDeps): Promise<void> {
  const { state, storage, turns, logger, metrics } = deps;
  const firstNumber = state.foldedNumber + 1;
  let nextNumber = firstNumber;
  let operations = 0;
  const cut: Uint8Array[] = [];
  const range = { from: journalKey(firstNumber), to: kindRange(KeyKind.journal).to };
  for await (const batch of storage.range(range).batches()) {
    for (const { key, value } of batch) {
      if (journalNumberOf(key) === nextNumber) {
        const steps = state.replay(nextNumber, value);
        let step = steps.next();
        for (; step.done !== true; step = steps.next()) await turns.breathe();
        operations += step.value;
        nextNumber += 1;
      } else cut.push(key);
      await turns.breathe();
    }
  }
  if (nextNumber > firstNumber) {
    logger.info('replayed the journal', { records: nextNumber - firstNumber, operations });
    metrics.add('syncline_sets_operations_total', operations, { origin: 'journal' });
  }
  if (cut.length === 0) return;
  logger.warn('the journal has a hole: dropped what lies behind it', {
    missingRecord: nextNumber,
    records: cut.length,
  });
  metrics.add('syncline_sets_journal_cut_total', cut.length);
  await deleteAll(storage, cut);
}

async function deleteAll(storage: Storage, keys: readonly Uint8Array[]): Promise<void> {
  for (let first = 0; first < keys.length; first += DELETES_PER_BATCH) {
    const batch = new StorageBatch();
    for (const key of keys.slice(first, first + DELETES_PER_BATCH)) batch.delete(key);
    await storage.write(batch, { durability: 'synced' });
  }
}
