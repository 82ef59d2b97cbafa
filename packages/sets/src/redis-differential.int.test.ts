// `SETS_SEQUENCES=10000 npx vitest run --project int packages/sets/src/redis-differential` runs many more.
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
import { makeTempDirectory, startRedis } from '@syncline/testkit';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { openSets } from './local-sets.js';
import type { Sets } from './sets.js';
import {
  compareAll,
  compareStep,
  type Difference,
  type Step,
} from './testing/differential/comparison.js';
import {
  askSets,
  encode,
  Inbox,
  type RespAsker,
  type Words,
} from './testing/differential/resp-asker.js';

const SEQUENCES = inject('setsSequences');

// Random sequences of commands over few sets, few members and all kinds of wrong words, so that all combinations
// occur. Names of commands and options come in any case.
const setNames = ['a', 'b', 'c', ''] as const;
const memberNames = ['', '1', '22', 'm', '*', '\r\n'] as const;

const key = fc.constantFrom(...setNames);
const member = fc.constantFrom(...memberNames);
const members = fc.array(member, { minLength: 1, maxLength: 5 });
const keys = fc.array(key, { minLength: 1, maxLength: 3 });
const number = fc.constantFrom('0', '1', '2', '3', '5', '100', '-1', '-3');
const oddNumber = fc.constantFrom(
  ...['', 'x', '+1', '007', ' 1', '1 ', '-0', '1.5', '-9223372036854775808'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775809'],
);
const anyNumber = fc.oneof({ weight: 4, arbitrary: number }, { weight: 1, arbitrary: oddNumber });
const pattern = fc.constantFrom('*', '**', '?', 'a*', '[ab]', '[^a]', '\\*', '', '[a-', 'x');
const option = fc.constantFrom('COUNT', 'MATCH', 'TYPE', 'LIMIT', 'set', 'string', 'ASYNC', 'SYNC');
const anyWord = fc.oneof(key, member, anyNumber, option, pattern);
const cursor = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('0', '', '+0', '-0', '00') },
  { weight: 1, arbitrary: fc.constantFrom('7', '-1', 'x', ' 0', '18446744073709551616') },
);

/** Changes and queries that have one right reply, up to the order of members. */
const plain: fc.Arbitrary<Words> = fc.oneof(
  { weight: 10, arbitrary: wordsOf(fc.constant('SADD'), key, members) },
  { weight: 4, arbitrary: wordsOf(fc.constantFrom('SREM', 'SMISMEMBER'), key, members) },
  wordsOf(fc.constantFrom('SCARD', 'SMEMBERS', 'TYPE', 'TTL', 'PTTL', 'PERSIST'), key),
  wordsOf(fc.constantFrom('EXPIRETIME', 'PEXPIRETIME'), key),
  wordsOf(fc.constant('SISMEMBER'), key, member),
  { weight: 2, arbitrary: wordsOf(fc.constant('SMOVE'), key, key, member) },
  { weight: 2, arbitrary: wordsOf(fc.constantFrom('SINTER', 'SUNION', 'SDIFF'), keys) },
  {
    weight: 2,
    arbitrary: wordsOf(fc.constantFrom('SINTERSTORE', 'SUNIONSTORE', 'SDIFFSTORE'), key, keys),
  },
  wordsOf(fc.constant('SINTERCARD'), anyNumber, keys),
  wordsOf(fc.constant('SINTERCARD'), fc.constant('2'), key, key, fc.constant('LIMIT'), anyNumber),
  wordsOf(fc.constantFrom('DEL', 'UNLINK', 'EXISTS', 'TOUCH'), keys),
  wordsOf(fc.constantFrom('DBSIZE', 'DBSIZE', 'FLUSHALL', 'FLUSHDB')),
  wordsOf(fc.constant('KEYS'), pattern),
  wordsOf(
    fc.constant('OBJECT'),
    fc.constantFrom('ENCODING', 'FREQ', 'REFCOUNT', 'HELP', 'no'),
    key,
  ),
  wordsOf(fc.constant('OBJECT'), fc.constantFrom('REFCOUNT', 'no')),
);

const random: fc.Arbitrary<Words> = fc.oneof(
  wordsOf(fc.constantFrom('SPOP', 'SRANDMEMBER'), key),
  wordsOf(fc.constantFrom('SPOP', 'SRANDMEMBER'), key, anyNumber),
  wordsOf(fc.constant('RANDOMKEY')),
);

const scans: fc.Arbitrary<Words> = fc.oneof(
  wordsOf(fc.constant('SSCAN'), key, cursor, scanOptions()),
  wordsOf(fc.constant('SCAN'), cursor, scanOptions()),
);

/** Any number of any words. */
const odd: fc.Arbitrary<Words> = wordsOf(
  fc.constantFrom(
    ...[
      'SADD',
      'SREM',
      'SCARD',
      'SISMEMBER',
      'SMISMEMBER',
      'SMOVE',
      'SMEMBERS',
      'SINTER',
      'SUNION',
    ],
    ...['SDIFF', 'SINTERSTORE', 'SUNIONSTORE', 'SDIFFSTORE', 'SINTERCARD', 'SPOP', 'SRANDMEMBER'],
    ...['SSCAN', 'DEL', 'UNLINK', 'EXISTS', 'TOUCH', 'TYPE', 'KEYS', 'SCAN', 'DBSIZE', 'RANDOMKEY'],
    ...['FLUSHALL', 'FLUSHDB', 'TTL', 'PTTL', 'EXPIRETIME', 'PEXPIRETIME', 'PERSIST', 'OBJECT'],
  ),
  fc.array(anyWord, { maxLength: 6 }),
);

/** What may come between WATCH and MULTI. A STORE form touches its key in Redis even where nothing changes. */
const touching: fc.Arbitrary<Words> = fc.oneof(
  wordsOf(fc.constantFrom('SADD', 'SREM', 'SMISMEMBER'), key, members),
  wordsOf(fc.constantFrom('DEL', 'EXISTS'), keys),
  wordsOf(fc.constantFrom('FLUSHALL', 'PING')),
);

const RANDOM = new Set(['spop', 'srandmember', 'randomkey', 'sscan', 'scan']);
/** These walk sets, or may, so they need them in memory when they are part of a transaction. */

function stepsWith(transactions: fc.Arbitrary<Step>): fc.Arbitrary<readonly Step[]> {
  return fc.array(
    fc.oneof(
      { weight: 30, arbitrary: fc.oneof(plain, plain, plain, random, scans, odd).map(command) },
      { weight: 4, arbitrary: transactions },
      { weight: 1, arbitrary: fc.constant<Step>({ kind: 'restart' }) },
    ),
    { maxLength: 40, size: 'max' },
  );
}

interface Plan {
  readonly protocol: 2 | 3;
  readonly sequence: readonly Step[];
}

const protocols = fc.constantFrom(2 as const, 3 as const);
const plans: fc.Arbitrary<Plan> = fc.record({
  protocol: protocols,
  sequence: stepsWith(transaction((name) => !RANDOM.has(name))),
});

test('S13 replies to sequences of commands equal those of redis-server', {
  timeout: 60_000 + SEQUENCES * 400,
}, async () => {
  // Integers are stored like any other member here.
  await using redis = await startRedis('--set-max-intset-entries', '0');
  const theirs = await askServer(redis.port);
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      await theirs.ask([['FLUSHALL'], ['HELLO', String(plan.protocol)]]);
      expect(await runPlan(plan, theirs)).toBeUndefined();
    }),
    { numRuns: SEQUENCES, verbose: true },
  );
  theirs.close();
});

async function runPlan(
  { protocol, sequence }: Plan,
  theirs: RespAsker,
): Promise<Difference | undefined> {
  const isRestarting = sequence.some(({ kind }) => kind === 'restart');
  await using directory = isRestarting ? await makeTempDirectory('differential') : undefined;
  const node = new RestartingNode(directory?.path, protocol);
  let ours = await node.start();
  try {
    for (const step of sequence) {
      if (step.kind === 'restart') {
        ours = await node.restart();
        continue;
      }
      const difference = await compareStep(step, { ours, theirs });
      if (difference !== undefined) return difference;
    }
    return await compareAll(setNames, { ours, theirs });
  } finally {
    await node.stop();
  }
}

class RestartingNode {
  readonly #directory: string | undefined;
  readonly #protocol: 2 | 3;
  #sets: Sets | undefined;
  #asker: RespAsker | undefined;

  /** Without a directory nothing survives a restart. */
  constructor(directory: string | undefined, protocol: 2 | 3) {
    this.#directory = directory;
    this.#protocol = protocol;
  }

  async start(): Promise<RespAsker> {
    this.#sets = await openSets(
      {
        files: this.#directory === undefined ? undefined : createSystemFiles(this.#directory),
        clock: createSystemClock(),
        random: createSystemRandom(),
        logger: silentLogger,
        metrics: silentMetrics,
      },
      { nodeId: 1, clusterId: 'differential', limits: { logReserveBytes: 0 } },
    );
    this.#asker = askSets(this.#sets);
    await this.#asker.ask([['HELLO', String(this.#protocol)]]);
    return this.#asker;
  }

  async stop(): Promise<void> {
    this.#asker?.close();
    await this.#sets?.close();
  }

  async restart(): Promise<RespAsker> {
    await this.stop();
    return this.start();
  }
}

async function askServer(port: number): Promise<RespAsker> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const inbox = new Inbox();
  socket.on('data', (chunk) => inbox.push(chunk));
  socket.on('close', () => inbox.end());
  return {
    ask(commands) {
      socket.write(encode(commands));
      return inbox.take(commands.length);
    },
    close: () => socket.destroy(),
  };
}

function command(words: Words): Step {
  return { kind: 'command', words };
}

/** `name` says which commands may be part of it. */
function transaction(isTaken: (name: string) => boolean): fc.Arbitrary<Step> {
  const inside = fc
    .oneof(plain, plain, plain, odd)
    .filter(([name = '']) => isTaken(name.toLowerCase()));
  const parts = fc.tuple(
    fc.oneof(fc.constant([]), fc.tuple(wordsOf(fc.constant('WATCH'), keys), touching)),
    fc.constantFrom(['MULTI'], ['MULTI'], ['multi'], ['MULTI'], ['MULTI', 'x']),
    fc.array(inside, { maxLength: 6 }),
    fc.constantFrom(
      ...[[['EXEC']], [['EXEC']], [['exec']], [['DISCARD']], [['EXEC', 'x']]],
      ...[
        [['DISCARD', 'x'], ['EXEC']],
        [['MULTI'], ['EXEC']],
        [['WATCH', 'a'], ['EXEC']],
      ],
    ),
  );
  return parts.map(([watch, begin, commands, end]) => ({
    kind: 'transaction' as const,
    commands: [...watch, begin, ...commands, ...end, ['UNWATCH']],
  }));
}

function scanOptions(): fc.Arbitrary<Words> {
  const one = fc.oneof(
    fc.tuple(inAnyCase(fc.constant('COUNT')), anyNumber),
    fc.tuple(inAnyCase(fc.constant('MATCH')), pattern),
    fc.tuple(inAnyCase(fc.constant('TYPE')), fc.constantFrom('set', 'SET', 'string')),
  );
  return fc.array(one, { maxLength: 2 }).map((pairs) => pairs.flat());
}

function wordsOf(
  name: fc.Arbitrary<string>,
  ...rest: readonly fc.Arbitrary<string | Words>[]
): fc.Arbitrary<Words> {
  return fc
    .tuple(inAnyCase(name), fc.tuple(...rest))
    .map(([first, others]) => [first, ...others.flat()]);
}

function inAnyCase(name: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(name, fc.constantFrom<(text: string) => string>(keep, lower, capitalize))
    .map(([text, change]) => change(text));
}

function keep(text: string): string {
  return text;
}

function lower(text: string): string {
  return text.toLowerCase();
}

function capitalize(text: string): string {
  return text.charAt(0) + text.slice(1).toLowerCase();
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Sequences of commands that are compared with redis-server. */
    readonly setsSequences: number;
  }
}
