// Pipelines of commands as clients send them, and corrupted versions of them: bits flipped, bytes added and lost,
// pieces repeated elsewhere, ends cut off, wrong lengths. Many commands differ from the one before in their last word
// only, as in real pipelines.
import { type Random, randomBelow } from '@syncline/kernel';

/** Bytes for which a parser takes a special path. */
const interesting = '*$\r\n\0 "\'\\x-019aP\t\v\x16\xff';
const lengths = [
  '0',
  '-1',
  '00',
  '01',
  '+1',
  '1',
  '2',
  '9',
  '10',
  '11',
  '24',
  '25',
  '100',
  '2147483648',
];
const names = ['SADD', 'SISMEMBER', 'PING', 'SMEMBERS', 'QUIT'];
const inlines = [
  'PING\r\n',
  '\r\n',
  "SADD k \"a b\" 'c\\'d'\n",
  'ECHO "\\x41\\n\\q"\r\n',
  'SADD  k\tv\r\n',
  'ECHO a"b c"\r\n',
  'post / HTTP/1.1\r\n',
];
/** Members that look like protocol; of equal length, so that commands may differ in nothing else. */
const protocolWords = [
  '$aaaaa',
  '$1\r\nab',
  '$1\r\nx\r\n*1\r\n$4\r\nPING',
  '$1\r\ny\r\n*1\r\n$4\r\nQUIT',
];
const empties = ['*0\r\n', '*-1\r\n', '\n'];
const mutationsMax = 4;
const commandsMax = 4;

export class MutatedPipelines {
  readonly #random: Random;
  #last = '';
  #lastWords: readonly string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next one; a quarter of them are valid. One character per byte. */
  next(): string {
    const valid = this.#pipeline();
    let text = valid;
    for (let left = this.#below(mutationsMax); left > 0; left -= 1) text = this.#mutate(text);
    this.#last = valid;
    return text;
  }

  #pipeline(): string {
    let text = '';
    for (let left = 1 + this.#below(commandsMax); left > 0; left -= 1) text += this.#command();
    return text;
  }

  #command(): string {
    const kind = this.#below(8);
    if (kind === 0) return this.#pick(inlines);
    if (kind === 1) return this.#pick(empties);
    const words = kind < 5 ? this.#lastWords.slice(0, -1) : [this.#pick(names)];
    for (let left = kind < 5 ? 1 : this.#below(4); left > 0; left -= 1) words.push(this.#word());
    this.#lastWords = words;
    const bulks = words.map((word) => `$${word.length}\r\n${word}\r\n`);
    return `*${words.length}\r\n${bulks.join('')}`;
  }

  #word(): string {
    if (this.#below(4) === 0) return this.#pick(protocolWords);
    const size = this.#below(4) === 0 ? this.#below(120) : this.#below(8);
    return this.#pick(['k', '\r', '$', '\xe9', '\0']).repeat(size);
  }

  #mutate(text: string): string {
    const at = this.#below(text.length + 1);
    const size = 1 + this.#below(8);
    switch (this.#below(7)) {
      case 0: {
        const flipped = String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << this.#below(8)));
        return text.slice(0, at) + flipped + text.slice(at + 1);
      }
      case 1:
        return text.slice(0, at) + this.#interesting() + text.slice(at);
      case 2:
        return text.slice(0, at) + this.#interesting() + text.slice(at + 1);
      case 3:
        return text.slice(0, at) + text.slice(at + size);
      case 4: {
        const from = this.#below(this.#last.length + 1);
        return text.slice(0, at) + this.#last.slice(from, from + size * 4) + text.slice(at);
      }
      case 5:
        return text.slice(0, at);
      default:
        return this.#lie(text, at);
    }
  }

  /** Changes the next length after `at`. */
  #lie(text: string, at: number): string {
    const start = text.slice(at).search(/[*$]-?[0-9]/);
    if (start === -1) return text + this.#interesting();
    const digits = at + start + 1;
    const end = digits + (/^-?[0-9]+/.exec(text.slice(digits))?.[0].length ?? 0);
    return text.slice(0, digits) + this.#pick(lengths) + text.slice(end);
  }

  #interesting(): string {
    return interesting.charAt(this.#below(interesting.length));
  }

  #pick(items: readonly string[]): string {
    return items[this.#below(items.length)] ?? '';
  }

  #below(bound: number): number {
    return randomBelow(this.#random, bound);
  }
}
