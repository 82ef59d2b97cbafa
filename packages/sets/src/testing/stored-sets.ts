// Reads what a node of sets has stored, by plain means, and compares it with what the engine makes of it.
//
// Opening a log cuts it behind the last good record, so tests hand in a copy of the directory.
import {
  createSystemClock,
  type Dot,
  type Files,
  formatDot,
  SegmentLog,
  silentLogger,
  VersionVector,
} from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import { CheckpointDecoder } from '../engine/checkpoint-format.js';
import { checkpointPath, listCheckpoints } from '../engine/checkpoints.js';
import { type Identity, readIdentity } from '../engine/identity.js';
import { load } from '../engine/load.js';
import { SetsState } from '../engine/sets-state.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import type { Operation } from '../operation/operation.js';

export interface StoredSets {
  readonly identity: Identity;
  /** `node.epoch:counter` to its element, of every dot that the checkpoint or the log names. */
  readonly bindings: ReadonlyMap<string, string>;
  readonly version: VersionVector;
  /** Records of the log behind the checkpoint. */
  readonly logRecords: number;
  readonly checkpointNumber: number;
  /** Elements as `[set, member]` in JSON, each with its dots, sorted. */
  readonly elements: ReadonlyMap<string, readonly string[]>;
  /** What is not as it should be, in words. */
  readonly flaws: readonly string[];
}

export async function readStoredSets(
  files: Files,
  owner: { readonly nodeId: number; readonly clusterId: string },
): Promise<StoredSets> {
  const identity = await readIdentity(files, owner);
  if (identity === undefined) throw new Error('no sets are stored here');
  const found = new Found();
  const number = (await listCheckpoints(files)).at(-1) ?? 0;
  if (number > 0) await readCheckpoint(files, number, found);
  let logRecords = 0;
  const log = await SegmentLog.open(
    { files, logger: silentLogger, clock: createSystemClock() },
    {
      directory: 'log',
      owner: Buffer.from(`sets/${identity.nodeId}/${identity.clusterId}`),
      segmentBytesMax: 2 ** 26,
      reserveBytes: 0,
      replayFrom: number + 1,
      mustBeWhole: false,
      onRecord: (_number, _kind, body) => {
        logRecords += 1;
        for (const operation of decodeOperations(body)) found.apply(operation);
      },
    },
  );
  await log.close();
  await found.compare(files, identity);
  const { bindings, version, flaws } = found;
  const elements = found.elements();
  return { identity, bindings, version, logRecords, checkpointNumber: number, elements, flaws };
}

class Found {
  readonly bindings = new Map<string, string>();
  readonly flaws: string[] = [];
  version = new VersionVector();
  readonly #dots = new Map<string, Dot[]>();

  bind(element: string, dot: Dot): void {
    const name = formatDot(dot);
    const known = this.bindings.get(name);
    if (known !== undefined && known !== element) this.flaws.push(`${name} names two elements`);
    this.bindings.set(name, element);
  }

  add(element: string, dot: Dot): void {
    this.bind(element, dot);
    this.#dots.set(element, [...(this.#dots.get(element) ?? []), dot]);
  }

  apply(operation: Operation): void {
    const { actor, base, count, members, sets, dropped } = operation;
    if (this.version.counterOf(actor) !== base - 1) this.flaws.push(`a gap before counter ${base}`);
    this.version.advance(actor, base + count - 1);
    for (let index = 0; index < members.length; index += 1) {
      const element = nameOf(sets.bytes(operation.setOf(index)), members.bytes(index));
      const before = this.#dots.get(element) ?? [];
      const after = before.filter((dot) => !dropped.has(dot.actor, dot.counter));
      if (after.length === 0) this.#dots.delete(element);
      else this.#dots.set(element, after);
      const counter = operation.counterOf(index);
      if (counter > 0) this.add(element, { actor, counter });
    }
  }

  elements(): ReadonlyMap<string, readonly string[]> {
    const entries = [...this.#dots].map(
      ([element, dots]) => [element, dots.map(formatDot).toSorted()] as const,
    );
    return new Map(entries);
  }

  /** The engine must come to the same version and digest. */
  async compare(files: Files, identity: Identity): Promise<void> {
    const keys = createOrderKeys(identity.clusterId);
    const state = new SetsState(keys);
    const clock = createSystemClock();
    const deps = { state, files, clock, logger: silentLogger, onProgress: () => undefined };
    const { log } = await load(deps, identity);
    await log.close();
    const hash = new Uint32Array(2);
    const sum = new Uint32Array(2);
    let liveDots = 0;
    for (const dot of [...this.#dots.values()].flat()) {
      liveDots += 1;
      if (!this.version.covers(dot)) this.flaws.push(`${formatDot(dot)} is not covered`);
      ribltHash(keys.riblt, [dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter], hash);
      sum[0] = (sum[0] ?? 0) ^ (hash[0] ?? 0);
      sum[1] = (sum[1] ?? 0) ^ (hash[1] ?? 0);
    }
    const { xor } = state.digest;
    const plain = `${this.version} ${liveDots} ${sum.join()}`;
    const loaded = `${state.version.toVector()} ${state.digest.liveDots} ${xor.join()}`;
    if (plain !== loaded) this.flaws.push(`the engine loads ${loaded}, stored is ${plain}`);
  }
}

async function readCheckpoint(files: Files, number: number, found: Found): Promise<void> {
  const path = checkpointPath(number);
  let payload: Uint8Array = new Uint8Array(0);
  let set: Uint8Array = new Uint8Array(0);
  const decoder = new CheckpointDecoder(path, {
    header: ({ version }) => {
      found.version = version.copy();
    },
    set: (buffer, start, end) => {
      payload = buffer;
      set = buffer.subarray(start, end);
    },
    element: (start, end, dots) => {
      const element = nameOf(set, payload.subarray(start, end));
      for (const dot of dots) found.add(element, dot);
    },
    end: () => undefined,
  });
  const { bytes = 0 } = (await files.stat(path)) ?? {};
  decoder.push(await files.readAt(path, 0, bytes));
  decoder.finish();
}

function nameOf(set: Uint8Array, member: Uint8Array): string {
  return JSON.stringify([Buffer.from(set).toString('latin1'), Buffer.from(member).toString('latin1')]);
}
