// Replication bugs that can be planted in the nodes, one at a time, to prove that the simulation finds them.
import type { openSets } from '@syncline/sets';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

interface Bug {
  /** The expected failure. A run that failed for another reason would prove nothing. */
  readonly symptom: RegExp;
  readonly edits: readonly SourceEdit[];
}

const bug = (symptom: RegExp, ...edits: readonly SourceEdit[]): Bug => ({ symptom, edits });
const edit = (file: string, find: string, replace: string): SourceEdit => ({ file, find, replace });

const SERVER = 'replication/pull-server';
const PULLER = 'replication/puller';
const REMOVES = 'replication/missed-removes';
const REPAIR = 'replication/repair';
const REPAIRS = 'replication/repairs';
const REPLICA = 'replication/replica';
const COMMITTED = 'replication/committed-turns';
const WRONG = /S([1-7]|20|3[0-6]): /;

const BUGS = {
  /** R1: payload and symbols come from the live state. */
  'sets-pull-from-live-state': bug(
    WRONG,
    edit(
      'engine/pins',
      'return this.walkDropped(count, ({ name }, bytes, dot) => visit([dot], name, () => bytes));',
      'return false;',
    ),
  ),
  /** R2: additions made after the pin are ignored. */
  'sets-pull-ignores-added': bug(
    WRONG,
    edit(
      PULLER,
      'if (!this.#unseen.has(dot.actor, dot.counter)) this.#drop(set, member, dot);',
      'void [set, member, dot];',
    ),
  ),
  /** R2: additions count from the offer on. */
  'sets-pull-added-too-late': bug(
    WRONG,
    edit('engine/pins', 'if (version.covers(before.dotAt(index)))', 'if (index < 0)'),
  ),
  /** R3: coverage is not checked again when a repair is applied. */
  'sets-pull-coverage-unchecked': bug(
    /S[12345]: |S3: a dot is added once|S1: a dot/,
    edit(REPAIR, 'if (counter > state.version.counterOf(actor)) {', 'if (counter > 0) {'),
  ),
  /** T2: a repair adds, and drops nothing. */
  'sets-repair-is-a-union': bug(
    WRONG,
    edit(REPAIR, 'dropped += dropDots(state, set, row, isOther);', 'dropped += 0;'),
  ),
  /** T4: a repair covers one set only, but merges the version of all of them. */
  'sets-repair-of-one-set': bug(
    WRONG,
    ...[SERVER, PULLER].map((file) =>
      edit(
        file,
        'this.#pin.step(this.#deps.limits.stepRows, (dots) => {',
        'this.#pin.step(this.#deps.limits.stepRows, (dots, set) => { if (set[0] !== 97) return;',
      ),
    ),
    edit(
      SERVER,
      'this.#pin.step(limits.stepRows, (dots, set, member) => {',
      'this.#pin.step(limits.stepRows, (dots, set, member) => { if (set[0] !== 97) return;',
    ),
    edit(
      REMOVES,
      'pin.step(limits.stepRows, (dots) => {',
      'pin.step(limits.stepRows, (dots, set) => { if (set[0] !== 97) return;',
    ),
  ),
  /** T7: operations are published before they are stored. */
  'sets-publish-too-early': bug(
    /S[1-6]: |published out of order|an operation that is not stored says why/,
    edit(
      'engine/turns',
      'if (this.fullBy === undefined && !isLarge) {',
      'this.#follower?.appended(this.#deps.state.record, 0); if (this.fullBy === undefined && !isLarge) {',
    ),
  ),
  /** T8: the version is what memory holds. */
  'sets-version-too-early': bug(
    /S5: /,
    edit(
      COMMITTED,
      ': this.#deps.state.settledVersion();',
      ': this.#deps.state.version.toVector();',
    ),
  ),
  /** T8: in class synced the version does not wait for the sync. */
  'sets-version-not-synced': bug(
    /S5: /,
    edit(COMMITTED, '? this.#durable.copy()', '? this.#deps.state.settledVersion()'),
  ),
  /** T8: the version of a repair is merged before all of it is applied. */
  'sets-repair-merged-early': bug(
    WRONG,
    edit(
      REPAIRS,
      'await this.#seal(version);',
      'mergeVersion(state, version); await this.#seal(version);',
    ),
  ),
  /** T9: a node that dropped an operation does not pull. */
  'sets-no-pull': bug(
    /S36: /,
    edit(REPLICA, 'this.#pulls.request(peer, reason);', 'void [peer, reason];'),
    edit('replication/pull-schedule', "this.requestAny('interval');", ''),
  ),
  /** T13: a peer runs a remove as a command on its own state, instead of dropping the dots that were seen. */
  'sets-remove-as-command': bug(
    WRONG,
    edit(
      'engine/operations',
      'before.filter(({ actor, counter: c }) => !operation.dropped.has(actor, c))',
      'before.filter(({ actor, counter: c }) => counter > 0 && !operation.dropped.has(actor, c))',
    ),
  ),
  /** An incomplete repair is replayed. */
  'sets-repair-without-end': bug(
    WRONG,
    edit(REPAIR, 'run(dropUncovered(this.#state));', 'void dropUncovered;'),
  ),
  /** Reads continue while a repair is applied. */
  'sets-half-a-repair': bug(
    /S[12]: /,
    edit('engine/write-gate', 'return this.#whole;', 'return undefined;'),
  ),
  /** A peer is served while a repair is being applied. */
  'sets-serves-half-a-repair': bug(
    WRONG,
    edit(REPLICA, 'whenWhole: () => gate.whenWhole(),', 'whenWhole: () => undefined,'),
  ),
  /** A checkpoint is taken in the middle of a repair. */
  'sets-checkpoint-in-repair': bug(WRONG, edit('engine/checkpoints', '|| this.#deps.isHeld()', '')),
  /** Operations of peers pass the closed gate. */
  'sets-gate-ignored': bug(
    /S\d+: |K4: /,
    edit(REPLICA, '(gate.isClosed && !this.#isAdmitted)', 'false'),
  ),
  /** Symbols of the server count all dots, not those that both have seen. */
  'sets-symbols-of-all': bug(
    /S36: |S[12]: /,
    edit(
      SERVER,
      'if (version.covers(dot)) this.#listed?.add(dot.actor, dot.counter);',
      'this.#listed?.add(dot.actor, dot.counter);',
    ),
    edit(REMOVES, 'if (from + length - 1 > version.counterOf(actor))', 'if (length < 0)'),
    edit(
      REMOVES,
      'this.#mine.deleteRun(actor, from, length);',
      'this.#mine.deleteRun(actor, from + 1, length);',
    ),
  ),
} as const satisfies Readonly<Record<string, Bug>>;

export type PlantedClusterBug = keyof typeof BUGS;

export const PLANTED_CLUSTER_BUGS = Object.keys(BUGS) as readonly PlantedClusterBug[];

export function isPlantedClusterBug(name: string): name is PlantedClusterBug {
  return Object.hasOwn(BUGS, name);
}

export function symptomOf(name: PlantedClusterBug): RegExp {
  return BUGS[name].symptom;
}

const loaded = new Map<PlantedClusterBug, Promise<unknown>>();

/** Loads the sets with a bug in them, once per bug. */
export async function loadPlanted(name: PlantedClusterBug): Promise<typeof openSets> {
  const { edits } = BUGS[name];
  const loading =
    loaded.get(name) ?? loadEdited({ folder: 'sets', entry: 'local-sets', bug: name, edits });
  loaded.set(name, loading);
  return ((await loading) as { readonly openSets: typeof openSets }).openSets;
}
