// What commands do, in the plainest way: the reply to each, and the change that all of them together make.
//
// The net effect is per element: what was touched and is there in the end is added under a new dot, what was
// there before and is not any more is removed.
import type { PlainOperation, PlainSets, RespReply } from '@syncline/sets/testing';

/** What is known of a command besides its words: its reply, or else what was written. */
export interface Known {
  readonly reply: RespReply | undefined;
  readonly operation: PlainOperation | undefined;
}

/** Elements as `set/member`. */
export interface NetEffect {
  readonly adds: readonly string[];
  readonly removes: readonly string[];
}

/** A reply that cannot be: what a random command shows is not in the set. */
const IMPOSSIBLE = '(impossible)';

export class PlainCommands {
  readonly #before: PlainSets;
  /** Members of the sets that were changed. */
  readonly #changed = new Map<string, Set<string>>();
  readonly #touched: (readonly [set: string, member: string])[] = [];

  constructor(before: PlainSets) {
    this.#before = before;
  }

  get effect(): NetEffect {
    const [adds, removes] = [new Set<string>(), new Set<string>()];
    for (const [set, member] of this.#touched) {
      if (this.#has(set, member)) adds.add(`${set}/${member}`);
      else if (this.#before.has({ set, member })) removes.add(`${set}/${member}`);
    }
    return { adds: [...adds], removes: [...removes] };
  }

  /** The reply as `replyText` writes it; lists without an order are sorted. */
  run([name = '', ...args]: readonly string[], known: Known): string {
    const [key = '', ...rest] = args;
    switch (name) {
      case 'SADD':
        return integer(rest.filter((member) => this.#add(key, member)).length);
      case 'SREM':
        return integer(rest.filter((member) => this.#remove(key, member)).length);
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
        return integer(this.#has(key, rest[0] ?? '') ? 1 : 0);
      case 'SMISMEMBER':
        return `[${rest.map((member) => integer(this.#has(key, member) ? 1 : 0)).join(' ')}]`;
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
      case 'BGSAVE':
        return '+Background saving started';
      default:
        return '+OK'; // CONFIG SET
    }
  }

  #members(set: string): readonly string[] {
    return [...(this.#changed.get(set) ?? this.#before.members(set))];
  }

  #names(): readonly string[] {
    const names = new Set([...this.#before.setNames(), ...this.#changed.keys()]);
    return [...names].filter((set) => this.#members(set).length > 0);
  }

  #has(set: string, member: string): boolean {
    return this.#changed.get(set)?.has(member) ?? this.#before.has({ set, member });
  }

  #change(set: string, member: string): Set<string> {
    const members = this.#changed.get(set) ?? new Set(this.#before.members(set));
    this.#changed.set(set, members);
    this.#touched.push([set, member]);
    return members;
  }

  #add(set: string, member: string): boolean {
    const isNew = !this.#has(set, member);
    this.#change(set, member).add(member);
    return isNew;
  }

  #remove(set: string, member: string): boolean {
    return this.#has(set, member) && this.#change(set, member).delete(member);
  }

  #clear(set: string): number {
    return this.#members(set).filter((member) => this.#remove(set, member)).length;
  }

  #move(from: string, to: string, member: string): string {
    if (!this.#has(from, member)) return integer(0);
    if (from !== to) {
      this.#remove(from, member);
      this.#add(to, member);
    }
    return integer(1);
  }

  #store(set: string, members: readonly string[]): string {
    this.#clear(set);
    for (const member of members) this.#add(set, member);
    return integer(members.length);
  }

  #pop(set: string, count: string | undefined, { reply, operation }: Known): string {
    const written = (operation?.removed ?? []).map(([, member]) => member);
    const popped = reply === undefined ? written : membersIn(reply);
    const shown = this.#shown(set, count === undefined ? 1 : Number(count), popped);
    for (const member of popped) this.#remove(set, member);
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
    const found = others.map((members) => new Set(members));
    return first.filter((member) =>
      isIn ? found.every((other) => other.has(member)) : !found.some((other) => other.has(member)),
    );
  }
}

/** A short text that keeps every difference but the order of a list that has none. */
export function replyText(reply: RespReply, isOrdered: boolean): string {
  if (reply.items === undefined) return reply.type + (reply.text ?? '(null)');
  const items = reply.items.map((item) => replyText(item, isOrdered));
  return `[${(isOrdered ? items : items.sort()).join(' ')}]`;
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
