// The keyspace as a model: plain maps, everything in memory, no storage and no commits. Commands are tried on
// it both ways, as if their sets were at hand and as if they were not.
//
// Positions have few bits, so that some members share one, and views give small batches.
import { assert, type Random, randomBelow } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type {
  GateHold,
  Keyspace,
  KeyspacePage,
  KeyspaceView,
  ScanPage,
  VisitBytes,
} from '../keyspace.js';

type PlainSets = ReadonlyMap<string, ReadonlySet<string>>;

const BATCH = 3;
const POSITIONS = 16;

export class PlainKeyspace implements Keyspace {
  readonly #random: Random;
  #sets: PlainSets = new Map();
  /** The sets before each `begin` that is not ended yet. */
  readonly #before: PlainSets[] = [];
  /** Operations that changed something. */
  operations = 0;
  gateHolds = 0;
  openViews = 0;

  constructor(deps: { readonly random: Random }) {
    this.#random = deps.random;
  }

  cardinality(args: ByteList, key: number): number {
    return this.#membersOf(args.text(key)).size;
  }

  has(args: ByteList, key: number, member: number): boolean {
    return this.#membersOf(args.text(key)).has(args.text(member));
  }

  setsCount(): number {
    return this.#sets.size;
  }

  add(args: ByteList, key: number, from: number, to = args.length): number {
    return this.#change(args.text(key), (members) => {
      for (let index = from; index < to; index += 1) members.add(args.text(index));
    });
  }

  remove(args: ByteList, key: number, from: number, to = args.length): number {
    return this.#shrink(args.text(key), (members) => {
      for (let index = from; index < to; index += 1) members.delete(args.text(index));
    });
  }

  clear(args: ByteList, key: number): number {
    return this.#shrink(args.text(key), (members) => members.clear());
  }

  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number {
    const picked = this.#shuffled(args, key).slice(0, count);
    show(picked, visit);
    return this.#shrink(args.text(key), (members) => {
      for (const member of picked) members.delete(member);
    });
  }

  begin(): void {
    this.#before.push(this.#sets);
  }

  end(): number {
    const before = this.#before.pop();
    assert(before !== undefined, 'an operation was begun');
    if (before !== this.#sets && this.#before.length === 0) this.operations += 1;
    return before === this.#sets ? 0 : 1;
  }

  abandon(): void {
    const before = this.#before.pop();
    assert(before !== undefined, 'an operation was begun');
    if (this.#before.length === 0) this.#sets = before;
  }

  isWhole(): boolean {
    return true;
  }

  isAtHand(args: ByteList, key: number, membersMax: number): boolean {
    return this.cardinality(args, key) <= membersMax;
  }

  memberBytes(args: ByteList, key: number): number {
    return [...this.#membersOf(args.text(key))].join('').length;
  }

  async bringIn(): Promise<void> {}

  forEach(args: ByteList, key: number, visit: VisitBytes): void {
    show(inOrder(this.#membersOf(args.text(key))), visit);
  }

  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    show(this.#shuffled(args, key).slice(0, count), visit);
  }

  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    for (let drawn = 0; drawn < count; drawn += 1)
      show(this.#shuffled(args, key).slice(0, 1), visit);
  }

  scan(args: ByteList, key: number, { position, count }: ScanPage, visit: VisitBytes): number {
    const rest = inOrder(this.#membersOf(args.text(key))).filter((one) => placeOf(one) >= position);
    const last = rest[count - 1];
    const page = last === undefined ? rest : rest.filter((one) => placeOf(one) <= placeOf(last));
    show(page, visit);
    const next = rest[page.length];
    return next === undefined ? 0 : placeOf(next);
  }

  admit(): undefined {
    return undefined;
  }

  async closeGate(): Promise<GateHold> {
    assert(this.gateHolds === 0, 'the gate is held once');
    this.gateHolds += 1;
    return {
      room: () => undefined,
      settled: async () => {},
      release: () => {
        this.gateHolds -= 1;
      },
    };
  }

  openNames(from: ScanPage): Promise<KeyspacePage> {
    return this.#openPage((view) => view.sets(from.position));
  }

  openMembers(args: ByteList, key: number, from: ScanPage): Promise<KeyspacePage> {
    return this.#openPage((view) => view.members(args.bytes(key), from.position));
  }

  async openView(): Promise<KeyspaceView> {
    this.openViews += 1;
    return plainView(this.#sets, {
      random: this.#random,
      closed: () => {
        this.openViews -= 1;
      },
    });
  }

  breathe(): Promise<void> | undefined {
    return randomBelow(this.#random, 4) === 0 ? Promise.resolve() : undefined;
  }

  takeCommitSeen(): number {
    return 0;
  }

  lastCounter(): number {
    return this.operations;
  }

  watch(): void {}

  isWatched(): boolean {
    return false;
  }

  unwatch(): void {}

  version(): never {
    throw new Error('the model has no versions');
  }

  digest(): never {
    throw new Error('the model has no digest');
  }

  nextVersion(): never {
    throw new Error('the model has no versions');
  }

  async #openPage(batchesOf: (view: KeyspaceView) => KeyspacePage['batches']) {
    const view = await this.openView();
    return { ...view, batches: batchesOf(view), next: 0 };
  }

  #membersOf(set: string): ReadonlySet<string> {
    return this.#sets.get(set) ?? new Set();
  }

  #shuffled(args: ByteList, key: number): readonly string[] {
    return shuffled([...this.#membersOf(args.text(key))], this.#random);
  }

  #shrink(set: string, change: (members: Set<string>) => void): number {
    return 0 - this.#change(set, change);
  }

  /** Gives by how many members the set has grown. */
  #change(set: string, change: (members: Set<string>) => void): number {
    const before = this.#membersOf(set);
    const members = new Set(before);
    change(members);
    if (members.size === before.size) return 0;
    const sets = new Map(this.#sets);
    if (members.size === 0) sets.delete(set);
    else sets.set(set, members);
    this.#sets = sets;
    if (this.#before.length === 0) this.operations += 1;
    return members.size - before.size;
  }
}

interface PlainViewDeps {
  readonly random: Random;
  readonly closed: () => void;
}

function plainView(sets: PlainSets, { random, closed }: PlainViewDeps): KeyspaceView {
  const membersOf = (set: Uint8Array) => sets.get(textOf(set)) ?? new Set<string>();
  return {
    cardinality: (set) => membersOf(set).size,
    has: (set, member) => membersOf(set).has(textOf(member)),
    members: (set, position = 0) => batches(inOrder(membersOf(set)), position),
    sets: (position = 0) => batches(inOrder(sets.keys()), position),
    async randomMember(set) {
      const [member] = shuffled([...membersOf(set)], random);
      assert(member !== undefined, 'the set is not empty');
      return bytesOf(member);
    },
    async randomSet() {
      const [name] = shuffled([...sets.keys()], random);
      return name === undefined ? undefined : bytesOf(name);
    },
    positionOf: (bytes) => placeOf(textOf(bytes)),
    close: closed,
    [Symbol.dispose]: closed,
  };
}

async function* batches(ordered: readonly string[], position: number) {
  const rest = ordered.filter((one) => placeOf(one) >= position);
  for (let from = 0; from < rest.length; from += BATCH)
    yield rest.slice(from, from + BATCH).map(bytesOf);
}

function inOrder(texts: Iterable<string>): readonly string[] {
  return [...texts].sort(
    (one, other) => placeOf(one) - placeOf(other) || Buffer.compare(bytesOf(one), bytesOf(other)),
  );
}

function placeOf(text: string): number {
  let hash = text.length;
  for (let at = 0; at < text.length; at += 1) hash = (hash * 31 + text.charCodeAt(at)) >>> 0;
  return hash % POSITIONS;
}

function shuffled(items: string[], random: Random): readonly string[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = randomBelow(random, last + 1);
    [items[last], items[other]] = [items[other] ?? '', items[last] ?? ''];
  }
  return items;
}

function show(texts: readonly string[], visit: VisitBytes): void {
  for (const text of texts) {
    const bytes = bytesOf(text);
    visit(bytes, 0, bytes.length);
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
