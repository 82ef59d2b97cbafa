// The storage of the process, as it is, with a history that sees every write and what became of it.
import {
  assert,
  type Durability,
  type Storage,
  type StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { OuterStorage } from '../simulation/outer-storage.js';
import type { JournalWrite, SetsHistory } from './sets-history.js';

const JOURNAL = 'j'.charCodeAt(0);
const FOLD = 'f'.charCodeAt(0);

export interface WatchedStorageDeps {
  readonly inner: Storage;
  readonly history: SetsHistory;
  /** What clients were told; undefined while it may be either. */
  readonly durability: () => Durability | undefined;
  readonly onFailed: (isFull: boolean) => void;
}

export class WatchedStorage extends OuterStorage {
  readonly #deps: WatchedStorageDeps;

  constructor(deps: WatchedStorageDeps) {
    super(deps.inner);
    this.#deps = deps;
  }

  override async write(
    batch: StorageBatch,
    { durability }: { readonly durability: Durability },
  ): Promise<void> {
    const { history, onFailed } = this.#deps;
    const records = recordsOf(batch);
    const fold = foldNumberOf(batch);
    if (records.length > 0) {
      const told = this.#deps.durability();
      const isEnough = told !== 'synced' || durability === 'synced';
      assert(isEnough, `S5: in class ${told} a record of the journal is only ${durability}`);
      history.writing(records);
    }
    if (fold !== undefined) history.folding(fold);
    try {
      await super.write(batch, { durability });
    } catch (thrown) {
      const isFull = !(thrown instanceof SynclineError) || thrown.code !== 'storage-failed';
      onFailed(isFull);
      if (records.length > 0) history.failed(records, isFull);
      throw thrown;
    }
    if (records.length > 0) history.stored(records, durability);
    if (fold !== undefined && durability === 'synced') history.folded(fold);
  }
}

function recordsOf({ operations }: StorageBatch): readonly JournalWrite[] {
  return operations.flatMap((operation) => {
    if (operation.kind !== 'put' || operation.key[0] !== JOURNAL) return [];
    return [{ number: numberAt(operation.key, 1), bytes: operation.value }];
  });
}

function foldNumberOf({ operations }: StorageBatch): number | undefined {
  const fold = operations.find(({ key }) => key[0] === FOLD);
  return fold?.kind === 'put' ? numberAt(fold.value, 0) : undefined;
}

function numberAt(bytes: Uint8Array, offset: number): number {
  return Number(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readBigUInt64BE(offset));
}
