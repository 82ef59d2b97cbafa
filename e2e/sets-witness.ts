// Two clients of one growing set: one adds 1, 2, 3 … to it, the other only reads, and remembers the highest count it
// saw. What a reader has seen must not be lost, just like an acknowledged write.
import { connect as connectTcp, type Socket } from 'node:net';

export const WITNESSED_SET = 'kept';
const NAME = WITNESSED_SET;
const COMMANDS_AHEAD = 50;
/** The set only grows, and is read whole after each kill: without a pause, a long run would read millions of members. */
const PAUSE_MS = 50;

export class SetsWitness {
  /** Members that were certainly added, and the highest count that the reader was shown. */
  answeredMax = 0;
  shownMax = 0;
  /** The newest version that it was shown. */
  shownVersion = '-';
  wrong: string | undefined;
  #sent = 0;
  #sockets: readonly Socket[] = [];

  /** `members` are there now. */
  start(port: number, members: number): void {
    this.#sent = members;
    this.answeredMax = members;
    const nextAdd = () => `SADD ${NAME} ${this.#nextMember()}\r\n`;
    const writer = converse(port, COMMANDS_AHEAD, PAUSE_MS, nextAdd);
    writer.on('line', (line: string) => {
      if (line === ':1') this.answeredMax += 1;
      else this.wrong ??= `SADD ${NAME} was answered ${line}`;
    });
    const reader = converse(port, 2, 0, () => `SCARD ${NAME}\r\nSYNCLINE.VV\r\n`);
    reader.on('line', (line: string) => {
      if (line.startsWith('-')) this.wrong ??= line;
      else if (line.startsWith(':')) this.shownMax = Math.max(this.shownMax, Number(line.slice(1)));
      else if (!line.startsWith('$')) this.shownVersion = line;
    });
    this.#sockets = [writer, reader];
  }

  async ended(): Promise<void> {
    for (const socket of this.#sockets) {
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    }
  }

  /** What is wrong with the members that were found. */
  compare(found: Iterable<string>): string | undefined {
    const numbers = Array.from(found, Number).toSorted((a, b) => a - b);
    const gap = numbers.findIndex((number, index) => number !== index + 1);
    if (gap >= 0) return `${NAME} has ${numbers.length} members, but not ${gap + 1}`;
    if (numbers.length < this.answeredMax)
      return `${this.answeredMax} were answered, but ${numbers.length} are there`;
    if (numbers.length < this.shownMax)
      return `${this.shownMax} were shown, but ${numbers.length} are there`;
    if (numbers.length > this.#sent) return `${numbers.length} are there, ${this.#sent} were sent`;
    return undefined;
  }

  #nextMember(): number {
    this.#sent += 1;
    return this.#sent;
  }
}

/**
 * Sends `ahead` commands, and as many again after a pause once they are answered. Emits `line` for each line that
 * arrives.
 */
function converse(port: number, ahead: number, pauseMs: number, next: () => string): Socket {
  const many = () => Array.from({ length: ahead }, next).join('');
  const socket = connectTcp(port, '127.0.0.1', () => socket.write(many()));
  let rest = '';
  let answers = 0;
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('error', () => undefined); // the server is killed
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      socket.emit('line', line);
      if (line.startsWith(':')) answers += 1;
    }
    if (answers < ahead || socket.destroyed) return;
    answers = 0;
    setTimeout(() => {
      if (!socket.destroyed) socket.write(many());
    }, pauseMs);
  });
  return socket;
}
