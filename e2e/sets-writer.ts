// A client that changes sets without waiting for replies, and knows what each reply must be.
//
// Each writer has its own sets, and its own members in the shared set, so no one else changes what it expects.
// Commands of one connection run in order. So after a crash the elements of a writer are the result of all answered
// commands, plus the first few of those that were not answered, each of them complete.
import { connect as connectTcp, type Socket } from 'node:net';
import { type Random, randomBelow } from '@syncline/kernel';

/** `set member` → added or removed. */
type Changes = ReadonlyMap<string, boolean>;

/** Commands that happen together: one, or a transaction. */
interface Step {
  readonly commands: readonly (readonly string[])[];
  /** The lines of the answers. */
  readonly lines: readonly string[];
  readonly changes: Changes;
}

interface PlannedCommand {
  readonly words: readonly string[];
  readonly answer: string;
}

/** Steps that were sent and not answered. */
const STEPS_AHEAD_MAX = 300;
const STEPS_PER_WRITE_MAX = 40;
/** Members that come and go, and the number of members that are only added once. */
const ALPHABET = 30;
const ELEMENTS_MAX = 1_500;
const OWN_SETS = ['one', 'two', 'stored'] as const;
const SETS = [...OWN_SETS, 'shared'] as const;
const STORE_COMMANDS = ['SUNIONSTORE', 'SINTERSTORE', 'SDIFFSTORE'] as const;

export class SetsWriter {
  readonly name: string;
  readonly #random: Random;
  #socket: Socket | undefined;
  /** The state after all planned steps, and after those that were answered. */
  #planned = new Set<string>();
  #known = new Set<string>();
  /** Elements touched by the step being planned, and whether they existed before it. */
  readonly #touched = new Map<string, boolean>();
  #waiting: Step[] = [];
  #linesSeen = 0;
  #rest = '';
  #uniqueCount = 0;
  #answeredCount = 0;
  #wrong: string | undefined;

  constructor(name: string, random: Random) {
    this.name = name;
    this.#random = random;
  }

  get answeredCount(): number {
    return this.#answeredCount;
  }

  /** A reply that was not the expected one. */
  get wrong(): string | undefined {
    return this.#wrong;
  }

  setName(set: string): string {
    return set === 'shared' ? set : `${this.name}-${set}`;
  }

  /** Names of all sets that it writes to. */
  get sets(): readonly string[] {
    return SETS.map((set) => this.setName(set));
  }

  /** Writes until the connection breaks. */
  start(port: number): void {
    this.#waiting = [];
    this.#linesSeen = 0;
    this.#rest = '';
    this.#planned = new Set(this.#known);
    const socket = connectTcp(port, '127.0.0.1', () => this.#write());
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('error', () => undefined); // the server is killed
    socket.on('data', (text: string) => this.#read(text));
  }

  /** Resolves once no more replies can come. */
  async ended(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.closed) return;
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  }

  /**
   * Checks the elements of this writer that were found, and continues from them. Returns how many steps have happened
   * without a reply, or what is wrong.
   */
  compare(found: ReadonlySet<string>): number | string {
    const unequal = new Set([...this.#known, ...found]);
    for (const element of this.#known) if (found.has(element)) unequal.delete(element);
    const lost = [...unequal];
    let happened = 0;
    for (const { changes } of this.#waiting) {
      if (unequal.size === 0) break;
      for (const [element, isAdded] of changes) {
        if (found.has(element) === isAdded) unequal.delete(element);
        else unequal.add(element);
      }
      happened += 1;
    }
    if (unequal.size > 0) {
      return `${this.name}: after ${this.#answeredCount} answered steps and any of ${this.#waiting.length} more, unexpected: ${lost.slice(0, 5).join(', ')}`;
    }
    this.#known = new Set(found);
    this.#waiting = [];
    return happened;
  }

  #write(): void {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed || this.#wrong !== undefined) return;
    const room = STEPS_AHEAD_MAX - this.#waiting.length;
    const count = Math.min(room, 1 + randomBelow(this.#random, STEPS_PER_WRITE_MAX));
    const steps = Array.from({ length: count }, () => this.#planStep());
    this.#waiting.push(...steps);
    const bytes = steps.flatMap(({ commands }) => commands.map(encode)).join('');
    if (bytes !== '') socket.write(bytes, 'latin1');
    // Sometimes it pauses, so that some turns of the server are small.
    if (randomBelow(this.#random, 200) === 0) setTimeout(() => this.#write(), 20);
    else setImmediate(() => this.#write());
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\r\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const step = this.#waiting[0];
      const expected = step?.lines[this.#linesSeen];
      if (step === undefined || line !== expected) {
        this.#wrong ??= `${this.name}: ${line} where ${expected} was expected, to ${step?.commands.join(' ')}`;
        this.#socket?.destroy();
        return;
      }
      this.#linesSeen += 1;
      if (this.#linesSeen === step.lines.length) this.#answer(step);
    }
  }

  #answer(step: Step): void {
    this.#waiting.shift();
    this.#linesSeen = 0;
    this.#answeredCount += 1;
    applyChanges(this.#known, step.changes);
  }

  #planStep(): Step {
    const isTransaction = randomBelow(this.#random, 10) === 0;
    const count = isTransaction ? 2 + randomBelow(this.#random, 4) : 1;
    this.#touched.clear();
    const planned = Array.from({ length: count }, () => this.#planCommand());
    const changes = new Map<string, boolean>();
    for (const [element, wasThere] of this.#touched) {
      if (this.#planned.has(element) !== wasThere) changes.set(element, !wasThere);
    }
    const commands = planned.map(({ words }) => words);
    const answers = planned.map(({ answer }) => answer);
    if (!isTransaction) return { commands, lines: answers, changes };
    const queued = planned.map(() => '+QUEUED');
    return {
      commands: [['MULTI'], ...commands, ['EXEC']],
      lines: ['+OK', ...queued, `*${count}`, ...answers],
      changes,
    };
  }

  #planCommand(): PlannedCommand {
    const kind = randomBelow(this.#random, 40);
    const set = this.#anySet();
    if (kind === 0) return this.#planStore();
    if (kind === 1) return this.#planDelete(this.#anyOwnSet());
    if (kind < 20 && this.#planned.size < ELEMENTS_MAX) return this.#planAdd(set);
    if (kind > 35) return this.#planMove(set, this.#anySet());
    return this.#planRemove(set);
  }

  #planStore(): PlannedCommand {
    const name = STORE_COMMANDS[randomBelow(this.#random, STORE_COMMANDS.length)] ?? 'SUNIONSTORE';
    const [target, left, right] = [this.#anyOwnSet(), this.#anyOwnSet(), this.#anyOwnSet()];
    const [ofLeft, ofRight] = [this.#membersOf(left), this.#membersOf(right)];
    const kept = [...ofLeft].filter((member) => {
      if (name === 'SUNIONSTORE') return true;
      return ofRight.has(member) === (name === 'SINTERSTORE');
    });
    const result = new Set(name === 'SUNIONSTORE' ? [...kept, ...ofRight] : kept);
    for (const member of this.#membersOf(target)) this.#put(`${target} ${member}`, false);
    for (const member of result) this.#put(`${target} ${member}`, true);
    return { words: [name, target, left, right], answer: `:${result.size}` };
  }

  #planDelete(set: string): PlannedCommand {
    const members = this.#membersOf(set);
    for (const member of members) this.#put(`${set} ${member}`, false);
    return { words: ['DEL', set], answer: members.size > 0 ? ':1' : ':0' };
  }

  #planAdd(set: string): PlannedCommand {
    const members = this.#anyMembers(() => this.#newMember());
    let added = 0;
    for (const member of members) if (this.#put(`${set} ${member}`, true)) added += 1;
    return { words: ['SADD', set, ...members], answer: `:${added}` };
  }

  #planRemove(set: string): PlannedCommand {
    const members = this.#anyMembers(() => this.#oldMember(set));
    let removed = 0;
    for (const member of members) if (this.#put(`${set} ${member}`, false)) removed += 1;
    return { words: ['SREM', set, ...members], answer: `:${removed}` };
  }

  #planMove(from: string, to: string): PlannedCommand {
    const [member = ''] = this.#anyMembers(() => this.#oldMember(from));
    const isThere = this.#planned.has(`${from} ${member}`);
    if (isThere && from !== to) {
      this.#put(`${from} ${member}`, false);
      this.#put(`${to} ${member}`, true);
    }
    return { words: ['SMOVE', from, to, member], answer: isThere ? ':1' : ':0' };
  }

  /** True if that was a change. */
  #put(element: string, isThere: boolean): boolean {
    const wasThere = this.#planned.has(element);
    if (!this.#touched.has(element)) this.#touched.set(element, wasThere);
    if (isThere) this.#planned.add(element);
    else this.#planned.delete(element);
    return wasThere !== isThere;
  }

  #anySet(): string {
    return this.setName(SETS[randomBelow(this.#random, SETS.length)] ?? 'shared');
  }

  #anyOwnSet(): string {
    return this.setName(OWN_SETS[randomBelow(this.#random, OWN_SETS.length)] ?? 'one');
  }

  #membersOf(set: string): ReadonlySet<string> {
    const start = `${set} `;
    const members = new Set<string>();
    for (const element of this.#planned)
      if (element.startsWith(start)) members.add(element.slice(start.length));
    return members;
  }

  /** One to three, of the few that come and go or by `other`. */
  #anyMembers(other: () => string): readonly string[] {
    return Array.from({ length: 1 + randomBelow(this.#random, 3) }, () =>
      randomBelow(this.#random, 2) === 0
        ? `${this.name}:${randomBelow(this.#random, ALPHABET)}`
        : other(),
    );
  }

  #newMember(): string {
    this.#uniqueCount += 1;
    return `${this.name}:unique:${this.#uniqueCount}`;
  }

  /** A member that was added long ago, if the first one found belongs to this set. */
  #oldMember(set: string): string {
    for (const element of this.#planned) {
      const [from, member = ''] = element.split(' ');
      return from === set ? member : this.#newMember();
    }
    return this.#newMember();
  }
}

function applyChanges(elements: Set<string>, changes: Changes): void {
  for (const [element, isAdded] of changes) {
    if (isAdded) elements.add(element);
    else elements.delete(element);
  }
}

/** Members and names are plain text without line ends. */
function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}
