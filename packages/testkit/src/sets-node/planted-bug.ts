// Bugs that the node can be given, one at a time, to prove that the simulation finds them. None is in the
// code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { openSets } from '@syncline/sets';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

const IN_ONE = 'inOneOperation(keyspace, () => {';
const IN_SEVERAL = '((change) => change())(() => {';

const SOURCE_EDITS = {
  /** All elements of an operation get its first dot. */
  'sets-one-dot': [
    {
      file: 'engine/operations',
      find: 'const counter = this.#base + this.#added;',
      replace: 'const counter = this.#base;',
    },
  ],
  /** A command that changes nothing takes a counter all the same. */
  'sets-no-op-counter': [
    {
      file: 'engine/operations',
      find: 'if (undoLength === operationStart) return false;',
      replace:
        'if (undoLength === operationStart) { state.advance(state.version.own, this.#base); return false; }',
    },
  ],
  /** Adding a member that is there makes no dot. */
  'sets-no-new-dot': [
    {
      file: 'engine/operations',
      find: 'const isTouched = this.#touch(set, row, page, start);',
      replace:
        'if (page[start + ROW_ACTOR] !== NO_DOT) return false; const isTouched = this.#touch(set, row, page, start);',
    },
  ],
  /** A member that is named twice in one SADD takes two dots. */
  'sets-repeats-kept': [
    {
      file: 'engine/operations',
      find: 'if (isTouched) {',
      replace: 'if (isTouched && before === NO_DOT) {',
    },
    {
      file: 'engine/operations',
      find: 'count === Math.max(1, this.#added)',
      replace: 'count > 0',
    },
  ],
  /** The epoch stays the same after a crash. */
  'sets-epoch-kept': [
    {
      file: 'engine/identity',
      find: "if (previous?.state === 'clean') return previous.epoch;",
      replace: 'if (previous !== undefined) return previous.epoch;',
    },
  ],
  /** The counters of a turn that was undone stay taken. */
  'sets-version-ahead': [
    {
      file: 'engine/sets-state',
      find: 'this.version.restore(actor, counter);',
      replace: 'void [actor, counter];',
    },
  ],
  /** The digest depends on the order of the changes. */
  'sets-digest-by-order': [
    {
      file: 'engine/live-digest',
      find: 'this.#xor0 ^= this.#hash[0] as number;',
      replace: 'this.#xor0 = (this.#xor0 >>> 1) ^ (this.#hash[0] as number);',
    },
  ],
  /** DEL of several sets is several operations. */
  'sets-del-in-two': [
    { file: 'commands/generic/delete-commands', find: IN_ONE, replace: IN_SEVERAL },
  ],
  /** SMOVE takes away first, and gives in a second operation. */
  'sets-smove-in-two': [
    { file: 'commands/set/member-commands', find: IN_ONE, replace: IN_SEVERAL },
  ],
  /** A STORE form empties its destination first, and fills it in a second operation. */
  'sets-store-in-two': [
    { file: 'commands/set/algebra-commands', find: IN_ONE, replace: IN_SEVERAL },
  ],
  /** SMOVE from a set onto itself removes the member. */
  'sets-smove-onto-itself': [
    {
      file: 'commands/set/member-commands',
      find: 'if (isPresent && !isSame) {',
      replace: 'if (isPresent) {',
    },
    {
      file: 'commands/set/member-commands',
      find: 'keyspace.add(args, DESTINATION, MEMBER);',
      replace: 'if (!isSame) keyspace.add(args, DESTINATION, MEMBER);',
    },
  ],
  /** What a turn without room had changed stays in memory. */
  'sets-undo-skipped': [
    {
      file: 'engine/turns',
      find: 'this.#deps.state.undoTurn();',
      replace: 'this.#deps.state.record.clear(); this.#deps.state.settleTurn();',
    },
  ],
  /** A pin keeps what a turn has dropped that was undone. */
  'sets-pin-ignores-undo': [
    {
      file: 'engine/open-pins',
      find: 'for (const pin of this.#open) pin.turnUndone();',
      replace: '',
    },
  ],
  /** A start replays records whatever their checksum is. */
  'sets-chain-unchecked': [
    {
      folder: 'kernel',
      file: 'log/record-scanner',
      find: 'if (crc !== view.getUint32(at + 4)) return false;',
      replace: '',
    },
  ],
  /** Replies leave at once. */
  'sets-early-reply': [
    {
      file: 'engine/turns',
      find: 'this.#members.push(member);',
      replace: 'member.turnEnded(undefined, 0);',
    },
  ],
  /** A sync resolves without any. */
  'sets-sync-skipped': [
    {
      folder: 'kernel',
      file: 'log/segment-files',
      find: 'await Promise.all(changed.map((handle) => handle.sync()));',
      replace: '',
    },
  ],
  /** A checkpoint holds what is there when it is walked. */
  'sets-checkpoint-not-pinned': [
    {
      file: 'engine/pins',
      find: 'return counter <= (this.#counters.get(actor >>> 0) ?? 0);',
      replace: 'return true;',
    },
    {
      file: 'engine/checkpoints',
      find: 'pin.walkDropped(stepRows, (set, member, dot) => {',
      replace: '((_rows, _add) => false)(stepRows, (set, member, dot) => {',
    },
  ],
  /** The log before a checkpoint goes while that may still get lost. */
  'sets-dropped-too-early': [
    {
      file: 'engine/checkpoints',
      find: 'await files.sync(temporary);',
      replace: 'await log.dropBefore(number + 1); await files.sync(temporary);',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

export type PlantedSetsBug = keyof typeof SOURCE_EDITS;

export const PLANTED_SETS_BUGS: readonly PlantedSetsBug[] = Object.keys(
  SOURCE_EDITS,
) as PlantedSetsBug[];

export function isPlantedSetsBug(name: string): name is PlantedSetsBug {
  return (PLANTED_SETS_BUGS as readonly string[]).includes(name);
}

const loaded = new Map<PlantedSetsBug, Promise<typeof openSets>>();

/** Loads the sets with a bug in them, once per bug. */
export function loadPlanted(bug: PlantedSetsBug): Promise<typeof openSets> {
  const loading = loaded.get(bug) ?? load(bug);
  loaded.set(bug, loading);
  return loading;
}

async function load(bug: PlantedSetsBug): Promise<typeof openSets> {
  const edits = SOURCE_EDITS[bug];
  const module = await loadEdited({ folder: 'sets', entry: 'local-sets', bug, edits });
  return (module as { openSets: typeof openSets }).openSets;
}
