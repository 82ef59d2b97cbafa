// Compares the parser with the plain one on mutated pipelines, whole and split at random places.
import { type Random, randomBelow } from '@syncline/kernel';
import { MutatedPipelines } from './mutated-pipeline.js';
import { type ParseOptions, parseInChunks } from './parse-in-chunks.js';
import { type PlainResult, parsePlainly } from './plain-parser.js';

/** Small, so that short inputs reach each of them. */
const limits = {
  lineBytesMax: 32,
  argumentsMax: 6,
  bulkBytesMax: 100,
  commandBytesMax: 160,
  unauthenticatedArgumentsMax: 3,
  unauthenticatedBulkBytesMax: 24,
};

export interface FuzzReport {
  readonly inputs: number;
  readonly commands: number;
  readonly failures: ReadonlyMap<string, number>;
  /** The first input on which the two differ. */
  readonly difference: FuzzDifference | undefined;
}

export interface FuzzDifference {
  readonly input: string;
  readonly cuts: readonly number[];
  readonly isUnauthenticated: boolean;
  readonly expected: PlainResult;
  readonly found: PlainResult;
}

export function fuzzParser(random: Random, inputs: number): FuzzReport {
  const pipelines = new MutatedPipelines(random);
  const failures = new Map<string, number>();
  let commands = 0;
  for (let count = 0; count < inputs; count += 1) {
    const input = pipelines.next();
    const options = { ...limits, isUnauthenticated: randomBelow(random, 4) === 0 };
    const expected = parsePlainly(input, options);
    const difference = findDifference({ input, expected, options, random });
    if (difference !== undefined) return { inputs: count, commands, failures, difference };
    commands += expected.commands.length;
    const outcome = expected.failure ?? (expected.isMidCommand ? 'more' : 'read');
    failures.set(outcome, (failures.get(outcome) ?? 0) + 1);
  }
  return { inputs, commands, failures, difference: undefined };
}

interface Trial {
  readonly input: string;
  readonly expected: PlainResult;
  readonly options: ParseOptions;
  readonly random: Random;
}

function findDifference({ input, expected, options, random }: Trial): FuzzDifference | undefined {
  const bytes = Buffer.from(input, 'latin1');
  for (const cuts of [[], randomCuts(random, bytes.length)]) {
    const found = parseInChunks(bytes, cuts, options);
    if (isSame(expected, found)) continue;
    return { input, cuts, isUnauthenticated: options.isUnauthenticated, expected, found };
  }
  return undefined;
}

/** One or two places; now and then each byte alone. */
function randomCuts(random: Random, length: number): readonly number[] {
  if (randomBelow(random, 64) === 0) return Array.from({ length }, (_, index) => index);
  const count = 1 + randomBelow(random, 2);
  const cuts = Array.from({ length: count }, () => randomBelow(random, length + 1));
  return cuts.sort((left, right) => left - right);
}

function isSame(left: PlainResult, right: PlainResult): boolean {
  if (left.failure !== right.failure || left.isMidCommand !== right.isMidCommand) return false;
  if (left.commands.length !== right.commands.length) return false;
  return left.commands.every((words, index) => isSameWords(words, right.commands[index] ?? []));
}

function isSameWords(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((word, index) => word === right[index]);
}
