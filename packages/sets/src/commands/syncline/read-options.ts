// The options of SYNCLINE.READ, and where its command begins.
import { VersionVector } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import { errorTexts, wrongArgumentsText } from '../errors.js';
import { integerWord } from '../integer-word.js';
import { isOption } from '../option-word.js';
import { parseVersion } from './parse-version.js';

const TIMEOUT_MS_MAX = 60_000;
const QUORUM_TIMEOUT_MS = 1_000;

export interface ReadOptions {
  readonly after: VersionVector;
  readonly quorum: number | 'majority' | undefined;
  readonly timeoutMs: number;
  readonly withVersion: boolean;
  /** The command, its name first. */
  readonly inner: ByteList;
}

/** A text says what is wrong with them. */
export function readOptions(args: ByteList): ReadOptions | string {
  let after = new VersionVector();
  let quorum: ReadOptions['quorum'];
  let timeoutMs: number | undefined;
  let withVersion = false;
  let index = 1;
  for (; index < args.length; index += 1) {
    if (isOption(args, index, 'withvv')) {
      withVersion = true;
      continue;
    }
    const isValued = ['after', 'quorum', 'timeout'].some((name) => isOption(args, index, name));
    if (!isValued) break;
    const value = index + 1;
    if (value === args.length) return errorTexts.syntax;
    if (isOption(args, index, 'after')) {
      const version = parseVersion(args.text(value));
      if (typeof version === 'string') return version;
      after = version;
    } else if (isOption(args, index, 'quorum')) {
      quorum = readQuorum(args, value);
      if (quorum === undefined) return errorTexts.quorumRange;
    } else {
      timeoutMs = integerWord(args, value);
      const isWithin = timeoutMs !== undefined && timeoutMs >= 0 && timeoutMs <= TIMEOUT_MS_MAX;
      if (!isWithin) return errorTexts.readTimeoutRange;
    }
    index += 1;
  }
  if (index === args.length) return wrongArgumentsText('syncline.read');
  const timeoutDefaultMs = quorum === undefined ? 0 : QUORUM_TIMEOUT_MS;
  return {
    after,
    quorum,
    timeoutMs: timeoutMs ?? timeoutDefaultMs,
    withVersion,
    inner: from(args, index),
  };
}

function readQuorum(args: ByteList, index: number): ReadOptions['quorum'] {
  if (isOption(args, index, 'majority')) return 'majority';
  const nodes = integerWord(args, index);
  return nodes !== undefined && nodes >= 1 ? nodes : undefined;
}

/** The same bytes, without the words before. */
function from(args: ByteList, first: number): ByteList {
  const rest = new ByteList(args.buffer);
  for (let index = first; index < args.length; index += 1)
    rest.push(args.start(index), args.end(index));
  return rest;
}
