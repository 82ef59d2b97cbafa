// A client that adds members to a set and pops some of them, without waiting for replies.
//
// Only the server knows which members a pop takes. So after a crash the number is checked: of the unanswered commands
// the first few have happened, each pop took exactly as many members as it asked for, and no member that was
// certainly popped is back.
import { connect as connectTcp, type Socket } from 'node:net';

export const POPPED_SET = 'popped';
const ADDED = 6;
const POPPED = 3;
const STEPS_IN_FLIGHT = 30;

type Step =
  | { readonly kind: 'add'; readonly members: readonly string[] }
  | { readonly kind: 'pop'; readonly taken: string[] };

export class SetsPopper {
  wrong: string | undefined;
  poppedCount = 0;
  #socket: Socket | undefined;
  /** Present after all answered steps. */
  #known = new Set<string>();
  readonly #popped = new Set<string>();
  #waiting: Step[] = [];
  #memberCount = 0;
  #stepCount = 0;
  #rest = '';

  start(port: number): void {
    this.#waiting = [];
    this.#rest = '';
    this.#stepCount = 0;
    const socket = connectTcp(port, '127.0.0.1', () => this.#write());
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('error', () => undefined); // the server is killed
    socket.on('data', (text: string) => this.#read(text));
  }

  async ended(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.closed) return;
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  }

  /** Checks the members that were found, and continues from them. Returns what is wrong. */
  compare(found: ReadonlySet<string>): string | undefined {
    const back = [...found].find((member) => this.#popped.has(member));
    if (back !== undefined) return `${back} was popped and is back`;
    const possible = new Set(this.#known);
    let popped = 0;
    let step = 0;
    while (!isSubset(found, possible) || possible.size - found.size !== popped) {
      const next = this.#waiting[step];
      if (next === undefined)
        return `${found.size} members, of ${this.#known.size} known and ${this.#waiting.length} steps`;
      step += 1;
      if (next.kind === 'add') for (const member of next.members) possible.add(member);
      else popped += POPPED - next.taken.length;
    }
    for (const member of possible) if (!found.has(member)) this.#popped.add(member);
    this.#known = new Set(found);
    this.#waiting = [];
    return undefined;
  }

  /** Two adds before the first pop, then as many adds as pops: there are always enough members. */
  #write(): void {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed || this.wrong !== undefined) return;
    let commands = '';
    while (this.#waiting.length < STEPS_IN_FLIGHT) {
      const isAdd = this.#stepCount < 2 || this.#stepCount % 3 === 0;
      this.#stepCount += 1;
      const members = Array.from({ length: isAdd ? ADDED : 0 }, () => this.#newMember());
      this.#waiting.push(isAdd ? { kind: 'add', members } : { kind: 'pop', taken: [] });
      const words = isAdd ? ['SADD', POPPED_SET, ...members] : ['SPOP', POPPED_SET, POPPED];
      commands += `${words.join(' ')}\r\n`;
    }
    socket.write(commands);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\r\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
    this.#write();
  }

  #take(line: string): void {
    const step = this.#waiting[0];
    if (step?.kind === 'add' && line === `:${ADDED}`) {
      for (const member of step.members) this.#known.add(member);
      this.#waiting.shift();
    } else if (step?.kind === 'pop' && line.startsWith('pop:')) {
      if (!this.#known.delete(line)) this.wrong ??= `${line} was popped but is not there`;
      this.#popped.add(line);
      this.poppedCount += 1;
      if (step.taken.push(line) === POPPED) this.#waiting.shift();
    } else if (step?.kind !== 'pop' || !/^[*$]\d+$/.test(line)) {
      this.wrong ??= `${step?.kind} was answered ${line}`;
    }
  }

  #newMember(): string {
    this.#memberCount += 1;
    return `pop:${this.#memberCount}`;
  }
}

function isSubset(part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean {
  for (const member of part) if (!whole.has(member)) return false;
  return true;
}
