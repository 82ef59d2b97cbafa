// The keyspace as a model: plain maps, no log and no turns. Commands are tested on it, within a turn and in slices.
//
// Sets are replaced and never changed, so a pin is just a reference to the state at its moment. Positions have few
// bits, so that some members share one, and pins return small batches. Every few pauses others run: see
// `betweenSlices`.
import {
  abortedError,
  actorId,
  assert,
  dot,
  type Random,
  randomBelow,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type {
  Digest,
  Keyspace,
  Pin,
  ScanFrom,
  VisitBytes,
  Watcher,
  WriteHold,
} from '../keyspace.js';
import { setsLimits } from '../limits.js';

type PlainSets = ReadonlyMap<string, ReadonlySet<string>>;

const BATCH = 3;
const POSITIONS = 16;
const ACTOR = actorId(1, 0);

export class PlainKeyspace implements Keyspace {
  readonly #random: Random;
  #sets: PlainSets = new Map();
  /** The sets before each `begin` that has not ended yet. */
  readonly #before: PlainSets[] = [];
  readonly #watchers = new Map<string, Set<Watcher>>();
  /** Changed elements of each operation. */
  readonly operations: number[] = [];
  #elements = 0;
  #bytes = 0;
  readonly #versionWaits: (() => void)[] = [];
  gateHolds = 0;
  openPins = 0;
  /** How many pauses there are until others run, on average. */
  pauseEvery = 4;
  /** What other clients do whenever a long command lets them run. */
  betweenSlices: () => void = () => {};

  constructor(deps: { readonly random: Random }) {
    this.#random = deps.random;
  }

  cardinality(args: ByteList, key: number): number {
    return this.#membersOf(args.text(key)).size;
  }

  has(args: ByteList, key: number, member: number): boolean {
    return this.#membersOf(args.text(key)).has(args.text(member));
  }

  fetch(): void {}

  endFetch(): void {}

  setsCount(): number {
    return this.#sets.size;
  }

  memberBytes(args: ByteList, key: number): number {
    let bytes = 0;
    for (const member of this.#membersOf(args.text(key))) bytes += member.length;
    return bytes;
  }

  forEach(args: ByteList, key: number, visit: VisitBytes): void {
    show([...this.#membersOf(args.text(key))], visit);
  }

  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    show(this.#shuffled(args, key).slice(0, count), visit);
  }

  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    const members = [...this.#membersOf(args.text(key))];
    for (let drawn = 0; drawn < count; drawn += 1) show([this.#oneOf(members)], visit);
  }

  scan(args: ByteList, key: number, from: ScanFrom, visit: VisitBytes): number {
    return showPage(this.#membersOf(args.text(key)), from, visit);
  }

  scanNames(from: ScanFrom, visit: VisitBytes): number {
    return showPage(this.#sets.keys(), from, visit);
  }

  randomName(visit: VisitBytes): boolean {
    if (this.#sets.size === 0) return false;
    show([this.#oneOf([...this.#sets.keys()])], visit);
    return true;
  }

  add(args: ByteList, key: number, from: number, to = args.length): number {
    return this.#change(args.text(key), (members) => {
      const added = textsOf(args, from, to);
      for (const member of added) members.add(member);
      return added;
    });
  }

  remove(args: ByteList, key: number, from: number, to = args.length): number {
    return 0 - this.#removeAll(args, key, textsOf(args, from, to));
  }

  clear(args: ByteList, key: number): number {
    return 0 - this.#removeAll(args, key, [...this.#membersOf(args.text(key))]);
  }

  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number {
    const picked = this.#shuffled(args, key).slice(0, count);
    this.#removeAll(args, key, picked);
    show(picked, visit);
    return picked.length;
  }

  begin(): void {
    if (this.#before.length === 0) this.#elements = this.#bytes = 0;
    this.#before.push(this.#sets);
  }

  end(): void {
    assert(this.#before.pop() !== undefined, 'an operation was begun');
    if (this.#before.length === 0 && this.#elements > 0) this.#endOperation();
  }

  abandon(): void {
    const before = this.#before.pop();
    assert(before !== undefined, 'an operation was begun');
    if (this.#before.length === 0) this.#sets = before;
  }

  whenWhole(): Promise<void> | undefined {
    return undefined;
  }

  admitWrite(): Promise<void> | undefined {
    return undefined;
  }

  async closeGate(signal: AbortSignal): Promise<WriteHold> {
    if (signal.aborted) throw abortedError('closing the write gate', signal);
    assert(this.gateHolds === 0, 'the gate is held once');
    this.gateHolds += 1;
    return {
      nextPart: () => this.#pause(),
      commit: () => undefined,
      pause: () => this.#pause(),
      release: () => {
        this.gateHolds -= 1;
      },
    };
  }

  openPin(sets: readonly Uint8Array[]): Pin {
    this.openPins += 1;
    const pinned = new Map(sets.map((set) => [textOf(set), this.#membersOf(textOf(set))]));
    const close = () => {
      this.openPins -= 1;
    };
    return {
      cardinality: (set) => pinned.get(textOf(set))?.size ?? 0,
      has: (set, member) => pinned.get(textOf(set))?.has(textOf(member)) ?? false,
      members: (set) => this.#batches([...(pinned.get(textOf(set)) ?? [])]),
      randomMember: (set) => bytesOf(this.#oneOf([...(pinned.get(textOf(set)) ?? [])])),
      close,
      [Symbol.dispose]: close,
    };
  }

  commit(): undefined {
    return undefined;
  }

  yieldIfOverBudget(): Promise<void> | undefined {
    // A holder of the gate only lets others run between parts.
    return this.gateHolds > 0 ? undefined : this.#pause();
  }

  version(): VersionVector {
    return this.operations.length === 0
      ? new VersionVector()
      : VersionVector.of(dot(ACTOR, this.operations.length));
  }

  digest(): Digest {
    return { version: this.version(), liveDots: 0, xor: [0, 0] };
  }

  lastCounter(): number {
    return this.operations.length;
  }

  async whenApplied(version: VersionVector, signal: AbortSignal): Promise<void> {
    while (!this.version().dominates(version)) {
      if (signal.aborted) throw abortedError('waiting for a version', signal);
      await new Promise<void>((resolve) => {
        this.#versionWaits.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  watch(args: ByteList, key: number, watcher: Watcher): void {
    const watchers = this.#watchers.get(args.text(key)) ?? new Set();
    this.#watchers.set(args.text(key), watchers.add(watcher));
  }

  isWatched(args: ByteList, key: number, watcher: Watcher): boolean {
    return this.#watchers.get(args.text(key))?.has(watcher) ?? false;
  }

  unwatch(watcher: Watcher): void {
    for (const watchers of this.#watchers.values()) watchers.delete(watcher);
  }

  #pause(): Promise<void> | undefined {
    if (randomBelow(this.#random, this.pauseEvery) > 0) return undefined;
    return Promise.resolve().then(() => this.betweenSlices());
  }

  async *#batches(texts: readonly string[]) {
    for (let from = 0; from < texts.length; from += BATCH) {
      yield texts.slice(from, from + BATCH).map(bytesOf);
      await this.yieldIfOverBudget();
    }
  }

  #membersOf(set: string): ReadonlySet<string> {
    return this.#sets.get(set) ?? new Set();
  }

  #oneOf(texts: readonly string[]): string {
    const text = texts[randomBelow(this.#random, texts.length)];
    assert(text !== undefined, 'there is one to choose');
    return text;
  }

  #shuffled(args: ByteList, key: number): readonly string[] {
    const members = [...this.#membersOf(args.text(key))];
    for (let last = members.length - 1; last > 0; last -= 1) {
      const other = randomBelow(this.#random, last + 1);
      [members[last], members[other]] = [members[other] ?? '', members[last] ?? ''];
    }
    return members;
  }

  #removeAll(args: ByteList, key: number, removed: readonly string[]): number {
    return this.#change(args.text(key), (members) =>
      removed.filter((member) => members.delete(member)),
    );
  }

  /** `change` returns the elements that it touched. Returns by how many members the set has grown. */
  #change(set: string, change: (members: Set<string>) => readonly string[]): number {
    const before = this.#membersOf(set);
    const members = new Set(before);
    const touched = change(members);
    if (this.#before.length === 0) this.#elements = this.#bytes = 0;
    const bytes = touched.reduce((sum, member) => sum + member.length, 0);
    const isTooLarge =
      this.#elements + touched.length > setsLimits.operationElementsMax.value ||
      this.#bytes + bytes > setsLimits.operationBytesMax.value;
    if (isTooLarge) throw new SynclineError('limit-exceeded', 'an operation would be too large');
    this.#elements += touched.length;
    this.#bytes += bytes;
    const sets = new Map(this.#sets);
    if (members.size === 0) sets.delete(set);
    else sets.set(set, members);
    this.#sets = sets;
    if (this.#before.length === 0 && touched.length > 0) this.#endOperation();
    const grown = members.size - before.size;
    if (grown !== 0) for (const watcher of this.#watchers.get(set) ?? []) watcher.isTouched = true;
    return grown;
  }

  #endOperation(): void {
    this.operations.push(this.#elements);
    for (const resolve of this.#versionWaits.splice(0)) resolve();
  }
}

function showPage(texts: Iterable<string>, { position, count }: ScanFrom, visit: VisitBytes) {
  const rest = [...texts]
    .filter((text) => positionOf(text) >= position)
    .sort(
      (one, other) =>
        positionOf(one) - positionOf(other) || Buffer.compare(bytesOf(one), bytesOf(other)),
    );
  const last = rest[count - 1];
  const page =
    last === undefined ? rest : rest.filter((text) => positionOf(text) <= positionOf(last));
  show(page, visit);
  const next = rest[page.length];
  return next === undefined ? 0 : positionOf(next);
}

function positionOf(text: string): number {
  let hash = text.length;
  for (let at = 0; at < text.length; at += 1) hash = (hash * 31 + text.charCodeAt(at)) >>> 0;
  return hash % POSITIONS;
}

function show(texts: readonly string[], visit: VisitBytes): void {
  for (const text of texts) {
    const bytes = bytesOf(text);
    visit(bytes, 0, bytes.length);
  }
}

/** Without repeats. */
function textsOf(args: ByteList, from: number, to: number): readonly string[] {
  const texts = new Set<string>();
  for (let index = from; index < to; index += 1) texts.add(args.text(index));
  return [...texts];
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
