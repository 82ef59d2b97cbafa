// Bugs that can be planted in the runtime of the streams, one at a time, to prove that its tests find them. None is
// in the code under test: each is an edit of the text of a module, which is loaded beside the real one. Their names
// begin with the number of the defect or trap that they reintroduce.
import * as streams from '@syncline/streams';
import type * as testing from '@syncline/streams/testing';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

export type StreamsCode = typeof streams;
export type WorkersCode = Pick<typeof testing, 'SimulatedWorkers'>;

export const REAL_STREAMS: StreamsCode = streams;

/** Found by crashing the reference pipeline. */
export const CRASH_BUGS = {
  'D2 records are numbered from 0 after a restart': [
    {
      file: 'run/source-reader',
      find: 'this.count = mark?.count ?? 0;',
      replace: 'this.count = 0;',
    },
  ],
  'D3 reading starts over after a restart': [
    {
      file: 'run/source-reader',
      find: 'this.position = mark?.position ?? null;',
      replace: 'this.position = null;',
    },
  ],
  'D5 the commit point is only buffered': [
    {
      file: 'run/checkpoint',
      find: "await storage.write(batch, { durability: 'synced' });",
      replace: "await storage.write(batch, { durability: 'buffered' });",
    },
  ],
  'D7 changes of state are not captured': [
    {
      file: 'memory/memory-capture',
      find: 'if (this.#isCaptured(slot))',
      replace: 'if (slot % 2 === 0 && this.#isCaptured(slot))',
    },
  ],
  'D7 changes are captured again, in the memory of an earlier capture': [
    { file: 'memory/memory-capture', find: 'this.#slotCounts.fill(0);', replace: '' },
  ],
  'D8 sinks commit before the epoch is durable': [
    {
      file: 'run/checkpoint',
      find: 'this.isIssued = true;',
      replace:
        'for (const [uid, list] of Object.entries(handles)) for (const h of list) await session.sinks.get(uid)?.commit(h); this.isIssued = true;',
    },
  ],
  'T1 owed output is forgotten': [
    {
      file: 'run/recovery',
      find: 'if (noted !== undefined) owed.push(...handlesOf(noted));',
      replace: '',
    },
  ],
  'T2 a commit that was done already is an error': [
    {
      file: 'ends/file-sink',
      find: 'await this.#checkSame(final, handle);',
      replace: 'throw this.#lost(name, handle);',
    },
  ],
  'T4 sources are acknowledged before the epoch is durable': [
    {
      file: 'run/checkpoint',
      find: 'const cut = await Promise.race([this.#cutting, this.#givenUp]);',
      replace:
        "const cut = await Promise.race([this.#cutting, this.#givenUp]); const { position = 0 } = cut.partitions['in']?.['a'] ?? {}; for (const { source } of this.#deps.graph.sources) await source.ack?.(new Map([['a', position]]));",
    },
  ],
  'T5 a part file appears when it is prepared': [
    {
      file: 'ends/file-sink',
      find: 'return { epoch, slot, staging, bytes, crc };',
      replace:
        "await this.#disk.rename(this.#path + '/.staging/' + staging, this.#path + '/part-' + padded(epoch) + '-' + slot + '.jsonl'); return { epoch, slot, staging, bytes, crc };",
    },
  ],
  'T7 a restart counts as another incarnation, so replayed versions differ': [
    {
      file: 'run/source-reader',
      find: 'this.incarnation = mark?.incarnation ?? 0;',
      replace: 'this.incarnation = (mark?.incarnation ?? -1) + 1;',
    },
  ],
  'T12 the directory of a renamed part file is not synced': [
    {
      file: 'ends/file-sink',
      find: 'await files.syncDir(this.#path); await files.syncDir(',
      replace: 'await files.syncDir(',
    },
  ],
  'T14 the base of a key group is dropped with its first change': [
    {
      file: 'store/memory-states',
      find: 'groups.set(group, [...live, stored]);',
      replace: 'groups.set(group, [stored]);',
    },
  ],
  'T14 segments that were rewritten stay in the store': [
    {
      file: 'store/memory-states',
      find: 'for (const [old] of live) batch.delete(storeKeys.segment(uid, group, old));',
      replace: '',
    },
  ],
  'T21 a timer stays set when it fires': [
    {
      file: 'pipeline/timers',
      find: 'this.delete(kind, top.key, top.atMs); return top;',
      replace: 'return top;',
    },
  ],
  'T22 windows emit in the order in which their keys came': [
    {
      file: 'pipeline/window',
      find: 'for (const place of keyOrder(keys)) {',
      replace: 'for (const place of keys.keys()) {',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by the checks in streams.sim.test.ts. */
export const CHECKED_BUGS = {
  'D1 descendants of one record share its time': [
    {
      file: 'pipeline/batch',
      find: 'if (child === 0) return',
      replace: 'return index; if (child === 0) return',
    },
  ],
  'D4 no checkpoint comes by timer': [
    {
      file: 'run/checkpoint-pace',
      find: 'return nowMs >= this.#nextMs && this.hasUnsavedWork(session);',
      replace: 'return false;',
    },
  ],
  'D6 uids are not checked': [
    { file: 'pipeline/graph', find: 'if (!isUid(uid))', replace: 'if (false)' },
  ],
  'D10 event time overtakes items that are held back': [
    {
      file: 'pipeline/reorder',
      find: 'this.forward(Math.min(this.#inputMs, heldMs - 1));',
      replace: 'this.forward(this.#inputMs);',
    },
  ],
  'D11 sealed items leave in the order of their arrival': [
    {
      file: 'pipeline/held-items',
      find: 'versions.compare(left.version, right.version) ||',
      replace: '',
    },
  ],
  'T6 an older version is applied': [
    {
      file: 'state/versioned-state',
      find: "return order > 0 ? 'applied' : 'older';",
      replace: "return 'applied';",
    },
  ],
  'T19 idle partitions hold event time back': [
    {
      file: 'run/topology',
      find: 'if (source.uid !== uid || isIdle) continue;',
      replace: 'if (source.uid !== uid) continue;',
    },
  ],
  'T19 a partition that holds event time back is not named': [
    {
      file: 'run/local-engine',
      find: 'heldBackBy: stale?.origin ?? null',
      replace: 'heldBackBy: null',
    },
  ],
  'T25 a full disk ends the run': [
    {
      file: 'run/source-reader',
      find: 'if (!(thrown instanceof SynclineError) || !thrown.retryable) return false;',
      replace: 'return false;',
    },
  ],
  'T28 numbers above 2^53 are taken for versions': [
    {
      file: 'state/version',
      find: 'if (!Number.isSafeInteger(value)) throw',
      replace: 'if (false) throw',
    },
  ],
  'T3 orphans of older generations stay': [
    { file: 'ends/file-sink', find: 'if (STAGED.test(name)) await', replace: 'if (false) await' },
  ],
  'T9 state of a missing operator is ignored': [
    { file: 'run/recovery', find: 'else unclaimed.add(uid);', replace: '' },
  ],
  'T10 a newer codec is not noticed': [
    {
      file: 'state/state-schema',
      find: 'if (stored.codec.version > version)',
      replace: 'if (false)',
    },
  ],
  'T11 checksums of segments are not compared': [
    {
      file: 'store/memory-states',
      find: 'if (stored?.length === bytes && crc32(stored) === crc) return stored;',
      replace: 'if (stored !== undefined) return stored;',
    },
  ],
  'T14 no key group is ever rewritten': [
    {
      file: 'store/memory-states',
      find: 'const [base, ...deltas] = live;',
      replace: 'return false; const [base, ...deltas] = live;',
    },
  ],
  'T14 the oldest entry of a key stays when its group is rewritten': [
    { file: 'snapshot/segment', find: 'lowest.at(-1)', replace: 'lowest[0]' },
  ],
  'T16 a fence is not compared': [
    { file: 'ends/end-error', find: 'if (isOlder || isCopy) throw', replace: 'if (false) throw' },
  ],
  'T17 an output that cannot be delivered is dropped': [
    { file: 'run/checkpoint', find: 'onStall(sink.uid, thrown);', replace: 'return;' },
  ],
  'T20 another file in the place of the one that was read is taken for it': [
    {
      file: 'ends/jsonl-source',
      find: "if (!isSame) throw lost('another file is in its place');",
      replace: '',
    },
  ],
  'T23 state of a poison record is not undone': [
    { file: 'pipeline/process', find: 'this.#journal?.undo();', replace: '' },
  ],
  'T26 a checkpoint starts while another is in flight': [
    {
      file: 'run/run',
      find: 'if (this.#inFlight === undefined && this.#pace.isDue(session))',
      replace: 'if (this.#pace.isDue(session))',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by failing every sync of a pipeline once. */
export const SYNC_BUGS = {
  'T13 output is given up although its epoch may be durable': [
    {
      file: 'run/run',
      find: 'if (inFlight?.checkpoint.isIssued === false)',
      replace: 'if (inFlight !== undefined)',
    },
  ],
  'T13 a run goes on after a failed sync': [
    {
      file: 'run/source-reader',
      find: 'if (!(thrown instanceof SynclineError) || !thrown.retryable) return false;',
      replace: 'if (!(thrown instanceof SynclineError)) return false;',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by ending a run at every step, by its signal and by `stop()`. */
export const STOP_BUGS = {
  'T27 an aborted run keeps its directory': [
    { file: 'run/run', find: 'await this.#deps.close();', replace: '' },
  ],
  'T27 an aborted run neither gives up nor awaits a checkpoint in flight': [
    {
      file: 'run/run',
      find: 'await this.#inFlight?.done; this.#throwFailure(); return false;',
      replace: 'this.#throwFailure(); return false;',
    },
    {
      file: 'run/checkpoint',
      find: 'if (!this.isIssued) this.#giveUp(error);',
      replace: "if (!this.isIssued && error.code === 'timeout') this.#giveUp(error);",
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by the checks in faults.sim.test.ts. */
export const FAULT_BUGS = {
  'T15 a process that lost its store to another one commits': [
    {
      file: 'run/checkpoint',
      find: "throw new SynclineError('fenced',",
      replace: "new SynclineError('fenced',",
    },
  ],
  'T24 clock timers follow a clock that goes back': [
    {
      file: 'run/topology',
      find: 'this.clockMs = Math.max(this.clockMs, nowMs);',
      replace: 'this.clockMs = nowMs;',
    },
  ],
  'T24 the highest time seen is not stored': [
    { file: 'run/topology', find: 'this.clockMs = deps.clockMs;', replace: 'this.clockMs = 0;' },
  ],
  'T24 intervals are measured with the wall clock': [
    {
      file: 'run/checkpoint-pace',
      find: 'this.#clock.monotonicMs()',
      replace: 'this.#clock.nowMs()',
    },
  ],
  'T27 stop forgets what was read': [
    {
      file: 'run/run',
      find: 'if (this.#pace.hasUnsavedWork(session)) await this.#lastCheckpointOf(false);',
      replace: '',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by the reference pipeline of the workers, under lost workers, slow channels and crashes. */
export const WORKER_BUGS = {
  'X60 a channel that has delivered its barrier is not held back': [
    {
      file: 'workers/exchange',
      find: 'if (channel === undefined || channel.barrier !== undefined) continue;',
      replace: 'if (channel === undefined) continue;',
    },
  ],
  'T18 credit is never given back': [
    {
      file: 'workers/exchange',
      find: 'channel.credit += batches;',
      replace: '',
    },
  ],
  'T18 sources do not wait for those that fall behind': [
    {
      file: 'workers/exchange',
      find: "channel.waiting.length > 0 || (frame.kind === 'items' && channel.credit === 0)",
      replace: 'false',
    },
  ],
  'T8 keys have another owner after the number of workers changed': [
    {
      file: 'workers/workers-engine',
      find: 'each.share((group) => ownerOf(group, workers, keyGroups) === worker)',
      replace: 'each.share((group) => ownerOf(group, 2, keyGroups) === worker)',
    },
  ],
  'D8 a checkpoint is taken before every worker has answered': [
    {
      file: 'workers/coordinator',
      find: 'if (wait.answers.size < this.#deps.workers) return;',
      replace:
        'if (wait.answers.size < this.#deps.workers - 1) return; for (let w = 0; w < this.#deps.workers; w += 1) if (!wait.answers.has(w)) wait.answers.set(w, wait.answers.values().next().value);',
    },
  ],
  'D9 the keys of a lost worker are forgotten': [
    {
      file: 'workers/workers-engine',
      find: 'groups: each.share(',
      replace: 'groups: worker === 1 ? new Map() : each.share(',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

export async function loadStreams(bug: string, edits: readonly SourceEdit[]): Promise<StreamsCode> {
  return (await load('index', bug, edits)) as StreamsCode;
}

/** Runs workers in a simulation. */
export async function loadWorkers(bug: string, edits: readonly SourceEdit[]): Promise<WorkersCode> {
  return (await load('testing', bug, edits)) as WorkersCode;
}

async function load(entry: string, bug: string, edits: readonly SourceEdit[]): Promise<unknown> {
  const name = bug.replaceAll(/[^a-zA-Z0-9]+/g, '-');
  return await loadEdited({ folder: 'streams', entry, bug: name, edits });
}
