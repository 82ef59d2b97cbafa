// A plain model of the commands: the reply to each, and their combined change.
//
// The net effect is per element: an element that was touched and exists at the end is added under a new dot; one that
// existed before and is gone is removed.
import type { PlainOperation, PlainSets, RespReply } from '@syncline/sets/testing';

/** What is known about a command besides its arguments: its reply, or what was written. */
export interface Known {
  readonly reply: RespReply | undefined;
  readonly operation: PlainOperation | undefined;
}

type Run = (key: string, rest: readonly string[], known: Known) => string;

/** An impossible reply: a random command shows something that is not in the set. */
const IMPOSSIBLE = '(impossible)';

export class PlainCommands {
  readonly #before: PlainSets;
  /** Members of the sets that were changed. */
  readonly #changed = new Map<string, Set<string>>();
  readonly #touched: (readonly [set: string, member: string])[] = [];

  constructor(before: PlainSets) {
    this.#before = before;
  }

  /** Elements that were added and removed, as `set/member`. */
  get effect(): readonly [adds: ReadonlySet<string>, removes: ReadonlySet<string>] {
    const [adds, removes] = [new Set<string>(), new Set<string>()];
    for (const [set, member] of this.#touched) {
      if (this.#has(set, member)) adds.add(`${set}/${member}`);
      else if (this.#before.has({ set, member })) removes.add(`${set}/${member}`);
    }
    return [adds, removes];
  }

  /** The reply as `replyText` writes it; lists without an order are sorted. */
  run([name = '', key = '', ...rest]: readonly string[], known: Known): string {
    return this.#commands[name]?.(key, rest, known) ?? '+OK';
  }

  readonly #commands: Readonly<Record<string, Run>> = {
    SADD: (set, members) => count(members, (member) => this.#add(set, member)),
    SREM: (set, members) => count(members, (member) => this.#remove(set, member)),
    SMOVE: (from, [to = '', member = '']) => this.#move(from, to, member),
    SPOP: (set, [wanted], known) => this.#pop(set, wanted, known),
    DEL: (set, others) => count([set, ...others], (each) => this.#clear(each)),
    FLUSHALL: () => {
      for (const set of this.#names()) this.#clear(set);
      return '+OK';
    },
    SUNIONSTORE: (set, from) => this.#store(set, this.#union(from)),
    SINTERSTORE: (set, from) => this.#store(set, this.#intersection(from)),
    SDIFFSTORE: (set, from) => this.#store(set, this.#difference(from)),
    SUNION: (set, others) => list(this.#union([set, ...others])),
    SINTER: (set, others) => list(this.#intersection([set, ...others])),
    SDIFF: (set, others) => list(this.#difference([set, ...others])),
    SMEMBERS: (set) => list(this.#members(set)),
    SSCAN: (set) => `[$0 ${list(this.#members(set))}]`,
    SCARD: (set) => `:${this.#members(set).length}`,
    SISMEMBER: (set, members) => count(members, (member) => this.#has(set, member)),
    SMISMEMBER: (set, members) =>
      `[${members.map((member) => (this.#has(set, member) ? ':1' : ':0')).join(' ')}]`,
    SRANDMEMBER: (set, [wanted], { reply }) => this.#shown(set, Number(wanted), membersIn(reply)),
    EXISTS: (set, others) => count([set, ...others], (each) => this.#members(each).length > 0),
    DBSIZE: () => `:${this.#names().length}`,
    KEYS: () => list(this.#names()),
    BGSAVE: () => '+Background saving started',
  };

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

  #touch(set: string, member: string): Set<string> {
    const members = this.#changed.get(set) ?? new Set(this.#before.members(set));
    this.#changed.set(set, members);
    this.#touched.push([set, member]);
    return members;
  }

  #add(set: string, member: string): boolean {
    const isNew = !this.#has(set, member);
    this.#touch(set, member).add(member);
    return isNew;
  }

  #remove(set: string, member: string): boolean {
    return this.#has(set, member) && this.#touch(set, member).delete(member);
  }

  #clear(set: string): boolean {
    return this.#members(set).filter((member) => this.#remove(set, member)).length > 0;
  }

  #move(from: string, to: string, member: string): string {
    if (!this.#has(from, member)) return ':0';
    if (from !== to) {
      this.#remove(from, member);
      this.#add(to, member);
    }
    return ':1';
  }

  #store(set: string, members: readonly string[]): string {
    this.#clear(set);
    for (const member of members) this.#add(set, member);
    return `:${members.length}`;
  }

  #pop(set: string, wanted: string | undefined, { reply, operation }: Known): string {
    const written = (operation?.removed ?? []).map(([, member]) => member);
    const popped = reply === undefined ? written : membersIn(reply);
    const shown = this.#shown(set, Number(wanted ?? 1), popped);
    for (const member of popped) this.#remove(set, member);
    return wanted !== undefined || shown === IMPOSSIBLE ? shown : `$${popped[0] ?? '(null)'}`;
  }

  /** Random members, all different, as many as were asked for or there are. */
  #shown(set: string, wanted: number, members: readonly string[]): string {
    const expected = Math.min(wanted, this.#members(set).length);
    const isWhole = new Set(members).size === expected && members.length === expected;
    return isWhole && members.every((member) => this.#has(set, member))
      ? list(members)
      : IMPOSSIBLE;
  }

  #union(sets: readonly string[]): readonly string[] {
    return [...new Set(sets.flatMap((set) => this.#members(set)))];
  }

  #intersection([first = '', ...others]: readonly string[]): readonly string[] {
    return this.#members(first).filter((member) => others.every((set) => this.#has(set, member)));
  }

  #difference([first = '', ...others]: readonly string[]): readonly string[] {
    return this.#members(first).filter((member) => !others.some((set) => this.#has(set, member)));
  }
}

/** A short text that keeps every difference except the order of unordered lists. */
export function replyText(reply: RespReply, isOrdered: boolean): string {
  if (reply.items === undefined) return reply.type + (reply.text ?? '(null)');
  const items = reply.items.map((item) => replyText(item, isOrdered));
  return `[${(isOrdered ? items : items.sort()).join(' ')}]`;
}

function count(items: readonly string[], isCounted: (item: string) => boolean): string {
  return `:${items.filter(isCounted).length}`;
}

function list(texts: readonly string[]): string {
  const items = texts.map((text) => `$${text}`);
  return `[${items.sort().join(' ')}]`;
}

/** Of a list, of one bulk, or none. */
function membersIn(reply: RespReply | undefined): readonly string[] {
  if (reply?.items !== undefined) return reply.items.map(({ text }) => text ?? '');
  return reply?.text === undefined ? [] : [reply.text];
}
