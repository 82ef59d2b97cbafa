// Bugs that the node can be given, one at a time, to prove that the simulation finds them. None is in the
// code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { SourceEdit } from '../../simulation/load-edited.js';

const OPERATION = 'state/running-operation';

export const SOURCE_EDITS = {
  /** All elements of an operation get its first dot. */
  'sets-one-dot': [
    {
      file: OPERATION,
      find: 'const counter = this.#base + this.#added;',
      replace: 'const counter = this.#base;',
    },
  ],
  /** A command that changes nothing takes a counter all the same. */
  'sets-no-op-counter': [
    {
      file: OPERATION,
      find: 'if (elementsEnd === changes.operationStart) return 0;',
      replace: 'if (elementsEnd === changes.operationStart) { version.advanceOwn(1); return 0; }',
    },
  ],
  /** Adding a member that is there makes no dot. */
  'sets-no-new-dot': [
    {
      file: OPERATION,
      find: 'const isTouched = this.#touch(set, row, page, start);',
      replace:
        'if (page[start + ROW_ACTOR] !== NO_DOT) return false; const isTouched = this.#touch(set, row, page, start);',
    },
  ],
  /** A member that is named twice in one SADD takes two dots. */
  'sets-repeats-kept': [
    {
      file: OPERATION,
      find: 'if (isTouched) {',
      replace: 'if (isTouched && before === NO_DOT) {',
    },
    {
      file: OPERATION,
      find: 'version.ownCounter === before + Math.max(1, this.#added)',
      replace: 'this.#added > 0 || count === 1',
    },
  ],
  /** The epoch stays the same after a crash. */
  'sets-epoch-kept': [
    {
      file: 'commit/claim-identity',
      find: "if (previous?.state === 'clean') return previous.epoch;",
      replace: 'if (previous !== undefined) return previous.epoch;',
    },
  ],
  /** DEL of several sets is several operations. */
  'sets-del-in-two': [
    {
      file: 'commands/generic/delete-commands',
      find: 'inOneOperation(keyspace, () => {',
      replace: '((change) => change())(() => {',
    },
  ],
  /** SMOVE takes away first, and gives in a second operation. */
  'sets-smove-in-two': [
    {
      file: 'commands/set/member-commands',
      find: 'inOneOperation(keyspace, () => {',
      replace: '((change) => change())(() => {',
    },
  ],
  /** A STORE form empties its destination first, and fills it in a second operation. */
  'sets-store-in-two': [
    {
      file: 'commands/set/algebra-commands',
      find: 'inOneOperation(keyspace, () => {',
      replace: '((change) => change())(() => {',
    },
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
  /** A start applies the records behind a hole of the journal, too. */
  'sets-journal-hole': [
    {
      file: 'commit/replay-journal',
      find: 'if (journalNumberOf(key) === nextNumber) {',
      replace: 'if (journalNumberOf(key) >= nextNumber) {',
    },
    {
      file: 'state/replay',
      find: 'if (applied !== base - 1) {',
      replace: 'if (applied > base - 1) {',
    },
  ],
  /** Replies leave when their commit is handed to the disk. */
  'sets-early-reply': [
    {
      file: 'commit/commits',
      find: 'this.#waitingInFlight = this.#waitingOpen;',
      replace: 'for (const listener of this.#waitingOpen) listener(undefined);',
    },
  ],
  /** What a failed write had changed stays in memory. */
  'sets-undo-skipped': [
    { file: 'state/unsettled-commits', find: 'changes.undo(commit);', replace: '' },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

export type PlantedSetsBug = keyof typeof SOURCE_EDITS;

export const PLANTED_SETS_BUGS: readonly PlantedSetsBug[] = Object.keys(
  SOURCE_EDITS,
) as PlantedSetsBug[];

export function isPlantedSetsBug(name: string): name is PlantedSetsBug {
  return (PLANTED_SETS_BUGS as readonly string[]).includes(name);
}
