// Feeds the parser chunk by chunk and records what it finds, in the format of the plain parser.
import { CommandParser, type CommandParserOptions } from '../command-parser.js';
import type { PlainResult } from './plain-parser.js';

export interface ParseOptions extends CommandParserOptions {
  readonly isUnauthenticated: boolean;
}

/** `cuts` are the places where a chunk ends, in order. */
export function parseInChunks(
  bytes: Uint8Array,
  cuts: readonly number[],
  options: ParseOptions,
): PlainResult {
  const parser = new CommandParser(options);
  parser.isUnauthenticated = options.isUnauthenticated;
  const commands: string[][] = [];
  let start = 0;
  for (let index = 0; index <= cuts.length; index += 1) {
    const end = cuts[index] ?? bytes.length;
    // A copy that is overwritten afterwards: nothing may be read from a chunk that was given back.
    const chunk = new Uint8Array(bytes.subarray(start, end));
    start = end;
    parser.feed(chunk);
    for (;;) {
      const found = parser.next();
      if (found === 'failed') {
        return { commands, failure: parser.failure?.kind, isMidCommand: false };
      }
      if (found === 'more') break;
      commands.push(wordsOf(parser));
    }
    chunk.fill(0x2a);
  }
  return { commands, failure: undefined, isMidCommand: parser.isMidCommand };
}

function wordsOf({ args }: CommandParser): string[] {
  const words: string[] = [];
  for (let index = 0; index < args.length; index += 1) words.push(args.text(index));
  return words;
}
