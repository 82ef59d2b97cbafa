// From the bytes of a name to its command, without making a string.
//
// An open table over all names, hashed with the case folded away. Beside each command stands what its
// flags mean for the dispatch, so that nothing is searched for in a list while commands run.
import type { ByteList } from '../byte-list.js';
import type { Command, CommandFinder, CommandFlag, KnownCommand } from './command.js';

const neverQueued: ReadonlySet<string> = new Set([
  'multi',
  'exec',
  'discard',
  'watch',
  'quit',
  'reset',
]);

export class CommandLookup implements CommandFinder {
  readonly all: readonly KnownCommand[];
  readonly #slots: readonly (Slot | undefined)[];
  readonly #mask: number;
  readonly #nameBytesMax: number;

  constructor(commands: readonly Command[], container?: string) {
    this.all = commands.map((command) => knownCommand(command, container));
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, commands.length) * 4));
    this.#mask = size - 1;
    const slots: (Slot | undefined)[] = Array.from({ length: size }, () => undefined);
    for (const known of this.all) {
      const name = Buffer.from(known.command.name, 'latin1');
      let slot = hashOf(name, 0, name.length) & this.#mask;
      while (slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
      slots[slot] = { name, known };
    }
    this.#slots = slots;
    this.#nameBytesMax = Math.max(0, ...commands.map(({ name }) => name.length));
  }

  /** The command that this word names, in any case. */
  find(args: ByteList, index: number): KnownCommand | undefined {
    const start = args.start(index);
    const end = args.end(index);
    if (end - start > this.#nameBytesMax) return undefined;
    const buffer = args.buffer;
    let position = hashOf(buffer, start, end) & this.#mask;
    for (;;) {
      const slot = this.#slots[position];
      if (slot === undefined) return undefined;
      if (isName(slot.name, buffer, start, end)) return slot.known;
      position = (position + 1) & this.#mask;
    }
  }
}

interface Slot {
  readonly name: Uint8Array;
  readonly known: KnownCommand;
}

function knownCommand(command: Command, container: string | undefined): KnownCommand {
  const has = (flag: CommandFlag) => command.flags.includes(flag);
  const fullName = container === undefined ? command.name : `${container}|${command.name}`;
  return {
    command,
    fullName,
    access: has('write') ? 'write' : has('readonly') ? 'read' : undefined,
    makesOperations: has('write') || fullName === 'exec',
    isOpen: has('no_auth'),
    // Redis does not flag PING so; a node that loads is alive and must say so.
    isLoadable: has('loading') || fullName === 'ping',
    isNeverQueued: neverQueued.has(fullName),
    isRefusedInMulti: has('no_multi') || command.waits === true,
    subcommands:
      command.subcommands === undefined
        ? undefined
        : new CommandLookup(command.subcommands, command.name),
  };
}

/** Bit 5 is what tells the cases of a letter apart; with it set, both give the same hash. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1)
    hash = (Math.imul(hash, 31) + ((bytes[at] ?? 0) | 0x20)) | 0;
  return hash;
}

function isName(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let at = 0; at < name.length; at += 1) {
    const byte = bytes[start + at] ?? 0;
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    if (name[at] !== (isUpper ? byte | 0x20 : byte)) return false;
  }
  return true;
}
