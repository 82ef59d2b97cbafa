// What commands do, in the plainest way: the reply to each, and the change that all of them together make.
//
// The net effect is per element: what was touched and is there in the end is added under a new dot, what was
// there before and is not any more is removed.
import type { JournalOperation } from './journal-operation.js';
import type { RespReply } from './resp-replies.js';

/** What is known of a command besides its words: its reply, or else what was written. */
export interface Known {
  readonly reply: RespReply | undefined;
  readonly operation: JournalOperation | undefined;
}

export interface NetEffect {
  readonly adds: readonly string[];
  readonly removes: readonly string[];
}

/** A reply that cannot be: what a random command shows is not in the set. */
const IMPOSSIBLE = '(impossible)';

export class PlainSets {
  readonly #before: ReadonlySet<string>;
  readonly #now: Set<string>;
  readonly #touched = new Set<string>();

  constructor(elements: Iterable<string>) {
    this.#before = new Set(elements);
    this.#now = new Set(this.#before);
  }

  get effect(): NetEffect {
    const touched = [...this.#touched];
    return {
      adds: touched.filter((element) => this.#now.has(element)),
      removes: touched.filter((each) => this.#before.has(each) && !this.#now.has(each)),
    };
  }

  /** The reply as `replyText` writes it; lists without an order are sorted. */
  run([name = '', ...args]: readonly string[], known: Known): string {
    const [key = '', ...rest] = args;
    switch (name) {
      case 'SADD':
        return integer(rest.filter((member) => this.#add(`${key}/${member}`)).length);
      case 'SREM':
        return integer(rest.filter((member) => this.#remove(`${key}/${member}`)).length);
      case 'SMOVE':
        return this.#move(key, rest[0] ?? '', rest[1] ?? '');
      case 'SPOP':
        return this.#pop(key, rest[0], known);
      case 'DEL':
        return integer(args.filter((set) => this.#clear(set) > 0).length);
      case 'FLUSHALL':
        for (const set of this.#names()) this.#clear(set);
        return '+OK';
      case 'SUNIONSTORE':
      case 'SINTERSTORE':
      case 'SDIFFSTORE':
        return this.#store(key, this.#combine(name.slice(0, -'STORE'.length), rest));
      default:
        return this.#read(name, args, known);
    }
  }

  #read(name: string, args: readonly string[], known: Known): string {
    const [key = '', ...rest] = args;
    switch (name) {
      case 'SMEMBERS':
        return list(this.#members(key));
      case 'SSCAN':
        return `[$0 ${list(this.#members(key))}]`;
      case 'SCARD':
        return integer(this.#members(key).length);
      case 'SISMEMBER':
        return integer(this.#has(key, rest[0] ?? ''));
      case 'SMISMEMBER':
        return `[${rest.map((member) => integer(this.#has(key, member))).join(' ')}]`;
      case 'SUNION':
      case 'SINTER':
      case 'SDIFF':
        return list(this.#combine(name, args));
      case 'SRANDMEMBER':
        return this.#shown(key, Number(rest[0]), membersIn(known.reply));
      case 'EXISTS':
        return integer(args.filter((set) => this.#members(set).length > 0).length);
      case 'DBSIZE':
        return integer(this.#names().length);
      case 'KEYS':
        return list(this.#names());
      default:
        return '+OK'; // CONFIG SET
    }
  }

  #members(set: string): readonly string[] {
    return [...this.#now]
      .filter((element) => element.startsWith(`${set}/`))
      .map((element) => element.slice(set.length + 1));
  }

  #names(): readonly string[] {
    return [...new Set(Array.from(this.#now, (element) => element.split('/')[0] ?? ''))];
  }

  #has(set: string, member: string): number {
    return this.#now.has(`${set}/${member}`) ? 1 : 0;
  }

  #add(element: string): boolean {
    const isNew = !this.#now.has(element);
    this.#now.add(element);
    this.#touched.add(element);
    return isNew;
  }

  #remove(element: string): boolean {
    if (!this.#now.delete(element)) return false;
    this.#touched.add(element);
    return true;
  }

  #clear(set: string): number {
    return this.#members(set).filter((member) => this.#remove(`${set}/${member}`)).length;
  }

  #move(from: string, to: string, member: string): string {
    if (this.#has(from, member) === 0) return integer(0);
    if (from !== to) {
      this.#remove(`${from}/${member}`);
      this.#add(`${to}/${member}`);
    }
    return integer(1);
  }

  #store(set: string, members: readonly string[]): string {
    this.#clear(set);
    for (const member of members) this.#add(`${set}/${member}`);
    return integer(members.length);
  }

  #pop(set: string, count: string | undefined, { reply, operation }: Known): string {
    const written = (operation?.removes ?? []).map((element) => element.slice(set.length + 1));
    const popped = reply === undefined ? written : membersIn(reply);
    const shown = this.#shown(set, count === undefined ? 1 : Number(count), popped);
    for (const member of popped) this.#remove(`${set}/${member}`);
    if (count !== undefined || shown === IMPOSSIBLE) return shown;
    return popped.length === 0 ? '$(null)' : `$${popped[0]}`;
  }

  /** Random members, all different, as many as were asked for or there are. */
  #shown(set: string, count: number, members: readonly string[]): string {
    const expected = Math.min(count, this.#members(set).length);
    const isWhole = new Set(members).size === expected && members.length === expected;
    return isWhole && members.every((member) => this.#has(set, member))
      ? list(members)
      : IMPOSSIBLE;
  }

  #combine(rule: string, sets: readonly string[]): readonly string[] {
    const [first = [], ...others] = sets.map((set) => this.#members(set));
    if (rule === 'SUNION') return [...new Set([first, ...others].flat())];
    const isIn = rule === 'SINTER';
    return first.filter((member) =>
      isIn
        ? others.every((other) => other.includes(member))
        : !others.some((other) => other.includes(member)),
    );
  }
}

function integer(value: number): string {
  return `:${value}`;
}

function list(texts: readonly string[]): string {
  return `[${texts
    .map((text) => `$${text}`)
    .sort()
    .join(' ')}]`;
}

/** Of a list, of one bulk, or none. */
function membersIn(reply: RespReply | undefined): readonly string[] {
  if (reply?.items !== undefined) return reply.items.map(({ text }) => text ?? '');
  return reply?.text === undefined ? [] : [reply.text];
}
