// Bugs that can be planted in the node, one at a time, to prove that the simulation finds them. None is in the
// code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { openSets } from '@syncline/sets';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

interface Bug {
  /** The expected failure. A run that failed for another reason would prove nothing. */
  readonly symptom: RegExp;
  readonly edits: readonly SourceEdit[];
}

const bug = (symptom: RegExp, ...edits: readonly SourceEdit[]): Bug => ({ symptom, edits });
const edit = (file: string, find: string, replace: string): SourceEdit => ({ file, find, replace });
const inKernel = (file: string, find: string, replace: string): SourceEdit => ({
  folder: 'kernel',
  ...edit(file, find, replace),
});

const CHANGES = 'engine/local-changes';
const MEMBERS = 'commands/set/member-commands';
const IN_ONE = 'inOneOperation(keyspace, () => {';
const IN_SEVERAL = '((change) => change())(() => {';

const BUGS = {
  /** All elements of an operation get its first dot. */
  'sets-one-dot': bug(
    /S[1237]: |no dot is dropped twice/,
    edit(CHANGES, 'const counter = this.#base + this.#added;', 'const counter = this.#base;'),
  ),
  /** A command that changes nothing still takes a counter. */
  'sets-no-op-counter': bug(
    /S4: the operation .* follows/,
    edit(
      CHANGES,
      'if (undoLength === operationStart) return false;',
      'if (undoLength === operationStart) { state.advance(state.version.own, this.#base); return false; }',
    ),
  ),
  /** Adding an existing member creates no dot. */
  'sets-no-new-dot': bug(
    /S2: no serial order/,
    edit(
      CHANGES,
      'const isTouched = this.#touch(set, row, page, start);',
      'if (page[start + ROW_ACTOR] !== NO_DOT) return false; const isTouched = this.#touch(set, row, page, start);',
    ),
  ),
  /** A member that is named twice in one SADD takes two dots. */
  'sets-repeats-kept': bug(
    /S2: (a record cannot be read|.* drops)|S[13]: /,
    edit(CHANGES, 'if (isTouched) {', 'if (isTouched && before === NO_DOT) {'),
    edit(CHANGES, 'count === Math.max(1, this.#added)', 'count > 0'),
  ),
  /** The epoch stays the same after a crash. */
  'sets-epoch-kept': bug(
    /S3: the dot .* was already/,
    edit(
      'engine/identity',
      "if (previous?.state === 'clean') return previous.epoch;",
      'if (previous !== undefined) return previous.epoch;',
    ),
  ),
  /** The counters of a rolled-back turn stay used. */
  'sets-version-ahead': bug(
    /S4: the operation .* follows|S2: no serial order/,
    edit(
      'engine/sets-state',
      'this.version.restore(this.version.own, this.#ownCounterBefore);',
      ';',
    ),
  ),
  /** The digest depends on the order of the changes. */
  'sets-digest-by-order': bug(
    /S1: |S2: no serial order .*DIGEST|S6: (a start shows|what was written .* digest)/,
    edit('engine/live-digest', 'this.#xor0 ^= this', 'this.#xor0 = (this.#xor0 >>> 1) ^ this'),
  ),
  /** DEL of several sets is several operations. */
  'sets-del-in-two': bug(
    /S2: no serial order .*(DEL|FLUSHALL)/,
    edit('commands/generic/delete-commands', IN_ONE, IN_SEVERAL),
  ),
  /** SMOVE removes first, and adds in a second operation. */
  'sets-smove-in-two': bug(/S2: no serial order .*SMOVE/, edit(MEMBERS, IN_ONE, IN_SEVERAL)),
  /** A STORE form empties its destination first, and fills it in a second operation. */
  'sets-store-in-two': bug(
    /S2: no serial order .*STORE/,
    edit('commands/set/algebra-commands', IN_ONE, IN_SEVERAL),
  ),
  /** SMOVE from a set onto itself removes the member. */
  'sets-smove-onto-itself': bug(
    /S2: no serial order/,
    edit(MEMBERS, 'if (isPresent && !isSame) {', 'if (isPresent) {'),
    edit(
      MEMBERS,
      'keyspace.add(args, DESTINATION, MEMBER);',
      'if (!isSame) keyspace.add(args, DESTINATION, MEMBER);',
    ),
  ),
  /** Changes of a turn that did not fit on the disk stay in memory. */
  'sets-undo-skipped': bug(
    /S2: no serial order|S2: .* drops|S4: /,
    edit(
      'engine/turns',
      'this.#deps.state.undoTurn();',
      'this.#deps.state.record.clear(); this.#deps.state.settleTurn();',
    ),
  ),
  /** Replies are sent immediately. */
  'sets-early-reply': bug(
    /S5: an answer left before|S2: no serial order/,
    edit('engine/turns', 'this.#members.push(member);', 'member.turnEnded(undefined, 0);'),
  ),
  /** A sync resolves without syncing. */
  'sets-sync-skipped': bug(
    /S5: an answer left before|S6: record/,
    inKernel(
      'log/unsynced-files',
      'await Promise.all(handles.map((handle) => handle.sync()));',
      '',
    ),
  ),
  /** A start replays records whatever their checksum is. */
  'sets-chain-unchecked': bug(
    /S6: (what was written cannot be read|a start shows)/,
    inKernel('log/log-replay', 'if (crc !== view.getUint32(at + 4)) return false;', ''),
  ),
  /** A pin keeps what a rolled-back turn has dropped. */
  'sets-pin-ignores-undo': bug(
    /S20: |S2: no serial order .*(SMEMBERS|SUNION|SINTER|SDIFF)/,
    edit('engine/open-pins', 'for (const pin of this.#open) pin.turnUndone();', ''),
  ),
  /** A checkpoint contains the state at the time of the walk. */
  'sets-checkpoint-not-pinned': bug(
    /S20: |S21: |S4: a dot of a checkpoint|S6: what was written cannot be read back: the checkpoint/,
    edit(
      'engine/pins',
      'return counter <= (this.#counters.get(actor >>> 0) ?? 0);',
      'return true;',
    ),
    edit('engine/checkpoints', 'pin.walkDropped(', '((_rows, _add) => false)('),
  ),
  /** The log before a checkpoint is removed while the checkpoint may still be lost. */
  'sets-dropped-too-early': bug(
    /S6: what was written cannot be read back: (records|the log)|S6: record/,
    edit(
      'engine/checkpoints',
      'await files.sync(temporary);',
      'await log.dropBefore(number + 1); await files.sync(temporary);',
    ),
  ),
} as const satisfies Readonly<Record<string, Bug>>;

export type PlantedSetsBug = keyof typeof BUGS;

export const PLANTED_SETS_BUGS = Object.keys(BUGS) as readonly PlantedSetsBug[];

export function isPlantedSetsBug(name: string): name is PlantedSetsBug {
  return Object.hasOwn(BUGS, name);
}

export function symptomOf(name: PlantedSetsBug): RegExp {
  return BUGS[name].symptom;
}

const loaded = new Map<PlantedSetsBug, Promise<unknown>>();

/** Loads the sets with a bug in them, once per bug. */
export async function loadPlanted(name: PlantedSetsBug): Promise<typeof openSets> {
  const { edits } = BUGS[name];
  const loading =
    loaded.get(name) ?? loadEdited({ folder: 'sets', entry: 'local-sets', bug: name, edits });
  loaded.set(name, loading);
  return ((await loading) as { readonly openSets: typeof openSets }).openSets;
}
