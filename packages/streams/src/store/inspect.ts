// Inspects a checkpoint directory without changing it, for `syncline streams`.
//
// While a run holds the store, only its STATUS.json can be read. Problems are listed rather than thrown: a damaged
// directory is exactly what people want to inspect.
import {
  type Clock,
  type Files,
  type Logger,
  type Storage,
  type StorageReads,
  SynclineError,
} from '@syncline/kernel';
import { type DamagedLog, findDamagedLogs, openLevelStorage } from '@syncline/kernel/level';
import { checkGroup } from '../embedded/embedded-snapshot.js';
import { openEntry, StoredKeys } from '../embedded/stored-layout.js';
import type { Json } from '../ends/source.js';
import type { PipelineProgress } from '../run/progress.js';
import { mergeSegments, readSegment } from '../snapshot/segment.js';
import { bigintCodec, numberCodec } from '../state/codec.js';
import { groupOf, type Key } from '../state/key.js';
import type { StoredSchema } from '../state/state-schema.js';
import { checkFormat } from './directory.js';
import {
  type Head,
  type HistoryLine,
  keyText,
  type Meta,
  readFrame,
  storeKeys,
  unseal,
} from './layout.js';
import { readStored, type StoredGroups } from './memory-states.js';
import { readTable } from './pipeline-states.js';
import { listSavepoints, rawSchema } from './savepoint.js';

export interface InspectDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: LevelDB in the directory. */
  readonly openStorage?: (path: string) => Promise<Storage>;
}

export interface InspectOptions {
  /** Verifies the checksums of everything that is stored. */
  readonly verify?: boolean;
  /** A key whose values to show. */
  readonly key?: Key;
}

export interface InspectedState extends StoredSchema {
  readonly operator: string;
  readonly state: string;
  readonly keys: number;
  /** Stored size; null if unknown, because all of an embedded state would have to be read. */
  readonly bytes: number | null;
  /** Value of the requested key, as hex and as text. */
  readonly value?: { readonly hex: string; readonly text: string } | null;
}

export interface Inspection {
  readonly path: string;
  readonly name: string;
  /** How the last run ended; `in-use` if a run holds the store; `new` before its first epoch; `damaged`. */
  readonly state: 'stopped' | 'finished' | 'failed' | 'in-use' | 'new' | 'damaged';
  /** The run that holds the store. */
  readonly holder?: { readonly pid: number; readonly host: string; readonly startedAt: string };
  /** The last report of the run that holds the store or, if none does, of the last run. */
  readonly status?: PipelineProgress & { readonly atMs: number };
  readonly pipeline?: string;
  readonly epoch: number;
  readonly generation: number;
  readonly atMs: number | null;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly partitions: Head['partitions'];
  readonly sinks: Readonly<
    Record<
      string,
      { readonly owed: boolean; readonly committedEpoch: number; readonly handle: Json }
    >
  >;
  readonly states: readonly InspectedState[];
  readonly history: readonly HistoryLine[];
  readonly savepoints: readonly string[];
  readonly problems: readonly string[];
  /** What may be harmless: a write that was interrupted. The next opening of the store forgets it. */
  readonly notes: readonly string[];
}

const TORN =
  'This is normal if a process was killed or the power failed while it wrote; otherwise, what it wrote is lost.';

/** Throws `not-found` if there is no pipeline at the path. */
export async function inspectDirectory(
  path: string,
  options: InspectOptions,
  deps: InspectDeps,
): Promise<Inspection> {
  const { files } = deps;
  if ((await files.stat(path)) === undefined) {
    throw new SynclineError('not-found', `/${path} does not exist.`, { details: { path } });
  }
  if ((await files.stat(`${path}/FORMAT`)) === undefined) {
    throw new SynclineError(
      'not-found',
      `/${path} is not a checkpoint directory: it has no FORMAT file. ` +
        `"syncline streams ls /${path}" lists the pipelines below it.`,
      { details: { path } },
    );
  }
  await checkFormat(files, path, `/${path}`);
  const names = await listSavepoints(files, path);
  const savepoints = names.map((name) => `${path}/savepoints/${name}`);
  const empty = {
    path,
    name: path.split('/').at(-1) ?? path,
    epoch: 0,
    generation: 0,
    atMs: null,
    recordsIn: 0,
    recordsOut: 0,
    partitions: {},
    sinks: {},
    states: [],
    history: [],
    savepoints,
    problems: [],
    notes: [],
  };
  const status = (await readJson(files, `${path}/STATUS.json`)) as Inspection['status'];
  const damagedLogs = deps.openStorage === undefined ? await findDamagedLogs(`/${path}/db`) : [];
  const open = deps.openStorage ?? ((place) => openLevelStorage(deps, { directory: `/${place}` }));
  let storage: Storage;
  try {
    storage = await open(`${path}/db`);
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    if (thrown.code === 'locked') return { ...empty, ...inUse(status, thrown) };
    if (thrown.code !== 'corrupt') throw thrown;
    return { ...empty, state: 'damaged', problems: [thrown.message] };
  }
  try {
    const placeOf = ({ file, offset }: DamagedLog) => `byte ${offset} of db/${file}`;
    const lost = damagedLogs
      .filter(({ isEnd }) => !isEnd)
      .map((log) => `the log is damaged at ${placeOf(log)}: what was written there is lost`);
    const notes = damagedLogs
      .filter(({ isEnd }) => isEnd)
      .map((log) => `the last write, at ${placeOf(log)}, is incomplete or damaged. ${TORN}`);
    const found = await look(storage, lost, status?.epoch ?? 0, options);
    return { ...empty, ...found, ...reportOf(status, found), notes };
  } finally {
    await storage.close();
  }
}

function inUse(
  status: Inspection['status'],
  error: SynclineError,
): Partial<Inspection> & Pick<Inspection, 'state'> {
  const holder = error.details['holder'] as Inspection['holder'];
  // What an earlier run reported says nothing about this one.
  const isCurrent = status !== undefined && !(status.atMs < Date.parse(holder?.startedAt ?? ''));
  return {
    state: 'in-use',
    ...(status !== undefined && { name: status.pipeline }),
    ...(isCurrent && {
      status,
      epoch: status.epoch,
      generation: status.generation,
      atMs: status.atMs,
      recordsIn: status.recordsIn,
      recordsOut: status.recordsOut,
    }),
    ...(holder !== undefined && { holder }),
  };
}

/** What the last run reported about its end. One that was killed could not report it. */
function reportOf(status: Inspection['status'], found: Partial<Inspection>): Partial<Inspection> {
  if (status === undefined || status.generation !== found.generation) return {};
  const isFailed = status.state === 'failed' && found.state !== 'damaged';
  return { status, ...(isFailed && { state: 'failed' }) };
}

async function readJson(files: Files, path: string): Promise<unknown> {
  if ((await files.stat(path)) === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(await files.readAt(path, 0, 1024 * 1024)).toString('utf8'));
  } catch {
    return undefined; // a run is replacing it right now
  }
}

async function look(
  storage: Storage,
  lost: readonly string[],
  reportedEpoch: number,
  { verify = false, key }: InspectOptions,
): Promise<Partial<Inspection> & Pick<Inspection, 'state'>> {
  using view = storage.snapshot();
  const problems = [...lost];
  let frame: {
    meta: Meta | undefined;
    head: Head | undefined;
    generation: { generation: number } | undefined;
  };
  try {
    frame = readFrame(view);
  } catch (thrown) {
    return { state: 'damaged', problems: [...lost, messageOf(thrown)] };
  }
  const { meta, head, generation } = frame;
  if ((head?.epoch ?? 0) < reportedEpoch) {
    const found = head === undefined ? 'has no epoch' : `ends at epoch ${head.epoch}`;
    problems.push(`the store ${found}, but STATUS.json names epoch ${reportedEpoch}`);
  }
  const states: InspectedState[] = [];
  for (const uid of Object.keys(head?.tables ?? {})) {
    try {
      states.push(await inspectState(view, uid, head as Head, verify, key));
    } catch (thrown) {
      problems.push(messageOf(thrown));
    }
  }
  const history = await readHistory(view, problems);
  if (verify) await checkOutboxes(view, problems);
  const sound = head === undefined ? 'new' : head.isFinished ? 'finished' : 'stopped';
  return {
    state: problems.length > 0 ? 'damaged' : sound,
    ...(meta !== undefined && { name: meta.name, pipeline: meta.pipeline }),
    generation: generation?.generation ?? 0,
    ...(head !== undefined && {
      epoch: head.epoch,
      atMs: head.atMs,
      recordsIn: head.recordsIn,
      recordsOut: head.recordsOut,
      partitions: head.partitions,
      sinks: Object.fromEntries(
        Object.entries(head.sinks).map(([uid, { handle, committedEpoch }]) => [
          uid,
          { owed: handle !== null, committedEpoch, handle },
        ]),
      ),
    }),
    states,
    history,
    problems,
  };
}

/** The history of consecutive epochs. Gaps and damage are added to `problems`. */
async function readHistory(
  view: StorageReads,
  problems: string[],
): Promise<readonly HistoryLine[]> {
  const history: HistoryLine[] = [];
  for await (const { value } of view.range(storeKeys.under('hist'))) {
    try {
      const line = unseal('a line of history', value) as HistoryLine;
      const last = history.at(-1)?.epoch ?? line.epoch - 1;
      if (line.epoch !== last + 1) problems.push(`epoch ${line.epoch} follows epoch ${last}`);
      history.push(line);
    } catch (thrown) {
      problems.push(messageOf(thrown));
    }
  }
  return history;
}

/** Checks the rows that wait in the store or are retained. Damage is added to `problems`. */
async function checkOutboxes(view: StorageReads, problems: string[]): Promise<void> {
  for await (const { key, value } of view.range(storeKeys.under('box'))) {
    try {
      unseal(`${keyText(key)} of the checkpoint store`, value);
    } catch (thrown) {
      problems.push(messageOf(thrown));
    }
  }
}

async function inspectState(
  view: StorageReads,
  uid: string,
  head: Head,
  verify: boolean,
  key: Key | undefined,
): Promise<InspectedState> {
  const table = readTable(view, uid, head) as StoredSchema & Record<string, unknown>;
  const { kind, versionKind, codec, keyGroups, hash } = table;
  const schema = rawSchema({ uid, kind, versionKind, codec, keyGroups, hash });
  const [operator = '', state = ''] = uid.split('/');
  const groups = table['groups'] as StoredGroups | undefined;
  let keys = 0;
  let bytes = 0;
  let value: Uint8Array | undefined;
  if (groups === undefined) {
    const stored = new StoredKeys(uid, keyGroups);
    for (const count of table['counts'] as readonly number[]) keys += count;
    if (verify) {
      for (let group = 0; group < keyGroups; group += 1)
        await checkGroup(schema, stored, view, group);
    }
    if (key !== undefined) {
      const { storageKey } = stored.entry(key);
      const sealed = view.get(storageKey);
      if (sealed !== undefined) value = openEntry(schema, stored, storageKey, sealed).entry.value;
    }
  } else {
    if (verify) await checkSegments(view, uid, groups);
    for (const [group, segments] of Object.entries(groups)) {
      const name = `key group ${group} of state "${uid}"`;
      const found = segments.map((each) => readStored(view, uid, Number(group), each));
      for (const segment of found) bytes += segment.length;
      for (const _ of mergeSegments(name, found, schema.versions)) keys += 1;
      if (key === undefined || groupOf(key, keyGroups) !== Number(group)) continue;
      for (const segment of found) {
        const take = (entry: { key: Key; value: Uint8Array | undefined }) => {
          if (entry.key === key) value = entry.value;
        };
        readSegment(name, segment, schema, take, (removed) => {
          if (removed === key) value = undefined;
        });
      }
    }
  }
  const shown = value && {
    hex: Buffer.from(value).toString('hex'),
    text: textOf(value, codec),
  };
  return {
    operator,
    state,
    kind,
    versionKind,
    codec,
    keyGroups,
    hash,
    keys,
    bytes: groups === undefined ? null : bytes,
    ...(key !== undefined && { value: shown ?? null }),
  };
}

/** Every stored segment must be listed in its table: a checkpoint removes those that it replaces. */
async function checkSegments(view: StorageReads, uid: string, groups: StoredGroups): Promise<void> {
  const named = new Set<string>();
  for (const [group, segments] of Object.entries(groups)) {
    for (const [epoch] of segments) {
      named.add(keyText(storeKeys.segment(uid, Number(group), epoch)));
    }
  }
  for await (const { key } of view.range(storeKeys.under(`seg/${uid}`))) {
    if (named.has(keyText(key))) continue;
    throw new SynclineError('corrupt', `${keyText(key)} is stored, but its table does not list it`);
  }
}

/** Decodes numbers. For other codecs, shows the bytes as text, which they usually are. */
function textOf(value: Uint8Array, { id, version }: StoredSchema['codec']): string {
  const known = [numberCodec, bigintCodec].find((codec) => codec.id === id);
  return known === undefined
    ? Buffer.from(value).toString('utf8')
    : `${known.decode(value, version)}`;
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof SynclineError) return thrown.message;
  throw thrown;
}

/** Paths of all pipelines at or below a directory. */
export async function findPipelines(files: Files, path: string): Promise<readonly string[]> {
  if ((await files.stat(`${path}/FORMAT`)) !== undefined) return [path];
  const found: string[] = [];
  for (const name of await files.list(path)) {
    const below = `${path}/${name}`;
    const stat = await files.stat(below);
    if (stat?.kind === 'directory' && !name.startsWith('.'))
      found.push(...(await findPipelines(files, below)));
  }
  return found;
}
