// Bugs that the runtime of the streams can be given, one at a time, to prove that its tests find them. None
// is in the code under test: each is an edit of the text of a module, which is loaded beside the real one.
// Their names begin with the defect or trap that they bring back.
import * as streams from '@syncline/streams';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

export type StreamsCode = typeof streams;

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
  'D3 reading begins anew after a restart': [
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
      file: 'memory/memory-cells',
      find: 'this.#changed.push(slot);',
      replace: 'if (slot % 2 === 0) this.#changed.push(slot);',
    },
  ],
  'D8 sinks commit before the epoch is durable': [
    {
      file: 'run/checkpoint',
      find: 'this.isIssued = true;',
      replace:
        'for (const [i, { sink }] of this.#cuts.entries()) if (handles[i]) await sink.commit(handles[i]); this.isIssued = true;',
    },
  ],
  'T1 owed output is forgotten': [
    {
      file: 'run/recovery',
      find: 'if (noted !== undefined && noted.handle !== null) owed.push(noted.handle);',
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
      find: 'this.isIssued = true;',
      replace:
        'for (const r of session.readers.all) await r.source.ack?.(new Map([[r.partition, r.position]])); this.isIssued = true;',
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
      find: '.sort((left, right) => left.group - right.group || compareKeys(left.key, right.key))',
      replace: '',
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

/** Found by the checks in streams.sim.test.ts. */
export const CHECKED_BUGS = {
  'T3 orphans of older generations stay': [
    { file: 'ends/file-sink', find: 'if (STAGED.test(name)) await', replace: 'if (false) await' },
  ],
  'T9 state of a missing operator is ignored': [
    { file: 'run/recovery', find: 'else unclaimed.add(uid);', replace: '' },
  ],
  'T10 a newer codec is not noticed': [
    {
      file: 'store/pipeline-states',
      find: 'if (stored.codec.version > reader.codec.version)',
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
    { file: 'run/run', find: 'if (this.#inFlight !== undefined) return false;', replace: '' },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

export async function loadStreams(bug: string, edits: readonly SourceEdit[]): Promise<StreamsCode> {
  const name = bug.replaceAll(/[^a-zA-Z0-9]+/g, '-');
  return (await loadEdited({ folder: 'streams', entry: 'index', bug: name, edits })) as StreamsCode;
}
