// What the commands of a transaction look at, all together, and why that is too much for one turn.
//
// Each command is counted right before it runs, since those before it may have changed its sets. What is
// removed counts as changes, of which an operation holds so many; all else counts as reads.
//
// S19  A transaction holds the event loop for no longer than its limits allow.
import { assert } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import type { Keyspace } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, PartWalk, QueuedCommand, SetNames } from '../command.js';
import { errorTexts } from '../errors.js';

const readsMax = setsLimits.transactionMembersMax.value;
const bytesMax = setsLimits.transactionReadBytesMax.value;
const changesMax = setsLimits.operationElementsMax.value;

export class TransactionLoad {
  readonly #keyspace: Keyspace;
  readonly #setNames: SetNames | undefined;
  #reads = 0;
  #bytes = 0;
  #changes = 0;

  constructor({ keyspace, setNames }: Pick<CommandContext, 'keyspace' | 'setNames'>) {
    this.#keyspace = keyspace;
    this.#setNames = setNames;
  }

  /** Gives the reason for which the transaction must be refused. */
  add({ known, args }: QueuedCommand): string | undefined {
    const walk = known.command.walks?.(args) ?? { kind: 'none' };
    switch (walk.kind) {
      case 'none':
        return undefined;
      case 'long':
        return errorTexts.transactionTooLarge;
      case 'names':
        return this.#read(walk.count, 0);
      case 'part':
        return this.#addPart(args, walk);
      case 'sets': {
        let refusal: string | undefined;
        for (let key = walk.from; key < walk.to && refusal === undefined; key += 1)
          refusal = this.#addSet(args, key, walk.removes);
        return refusal;
      }
      case 'keyspace':
        return this.#addKeyspace(walk.removes);
    }
  }

  #addKeyspace(removes: boolean): string | undefined {
    const names = this.#setNames;
    assert(names !== undefined, 'the names of all sets were read for this command');
    if (!removes) return this.#read(names.lasting.length + names.changing.length, 0);
    for (const name of names.changing) {
      const refusal = this.#addSet(ByteList.of(name), 0, true);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #addSet(args: ByteList, key: number, removes: boolean): string | undefined {
    const keyspace = this.#keyspace;
    if (!keyspace.isWhole(args, key)) return errorTexts.transactionSetsNotInMemory;
    const members = keyspace.cardinality(args, key);
    return removes ? this.#change(members) : this.#read(members, keyspace.memberBytes(args, key));
  }

  #addPart(args: ByteList, { key, members, repeats, removes }: PartWalk): string | undefined {
    const keyspace = this.#keyspace;
    if (!keyspace.isWhole(args, key)) return errorTexts.transactionSetsNotInMemory;
    const all = keyspace.cardinality(args, key);
    if (all === 0) return undefined;
    const looked = repeats ? members : Math.min(members, all);
    if (removes) return this.#change(looked);
    // Nobody knows which they will be, so they are taken to be of the usual size.
    return this.#read(looked, (looked / all) * keyspace.memberBytes(args, key));
  }

  #read(count: number, bytes: number): string | undefined {
    this.#reads += count;
    this.#bytes += bytes;
    const isTooMuch = this.#reads > readsMax || this.#bytes > bytesMax;
    return isTooMuch ? errorTexts.transactionReadsTooMuch : undefined;
  }

  #change(count: number): string | undefined {
    this.#changes += count;
    return this.#changes > changesMax ? errorTexts.transactionTooLarge : undefined;
  }
}
