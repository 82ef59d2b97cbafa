// Random sequences of commands over few sets, few members and all kinds of wrong words, so that everything
// meets everything. Names of commands and options come in any case.
import fc from 'fast-check';
import type { Words } from './resp-asker.js';

export type Step =
  | { readonly kind: 'command'; readonly words: Words }
  | { readonly kind: 'transaction'; readonly commands: readonly Words[]; readonly end: string }
  | { readonly kind: 'restart' };

export const setNames = ['a', 'b', 'c', ''] as const;
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

/** Changes and questions that have one right answer, up to the order of members. */
const plain: fc.Arbitrary<Words> = fc.oneof(
  { weight: 10, arbitrary: words(fc.constant('SADD'), key, members) },
  { weight: 4, arbitrary: words(fc.constantFrom('SREM', 'SMISMEMBER'), key, members) },
  words(fc.constantFrom('SCARD', 'SMEMBERS', 'TYPE', 'TTL', 'PTTL', 'PERSIST'), key),
  words(fc.constantFrom('EXPIRETIME', 'PEXPIRETIME'), key),
  words(fc.constant('SISMEMBER'), key, member),
  { weight: 2, arbitrary: words(fc.constant('SMOVE'), key, key, member) },
  { weight: 2, arbitrary: words(fc.constantFrom('SINTER', 'SUNION', 'SDIFF'), keys) },
  {
    weight: 2,
    arbitrary: words(fc.constantFrom('SINTERSTORE', 'SUNIONSTORE', 'SDIFFSTORE'), key, keys),
  },
  words(fc.constant('SINTERCARD'), anyNumber, keys),
  words(fc.constant('SINTERCARD'), fc.constant('2'), key, key, fc.constant('LIMIT'), anyNumber),
  words(fc.constantFrom('DEL', 'UNLINK', 'EXISTS', 'TOUCH'), keys),
  words(fc.constantFrom('DBSIZE', 'DBSIZE', 'FLUSHALL', 'FLUSHDB')),
  words(fc.constant('KEYS'), pattern),
  words(fc.constant('OBJECT'), fc.constantFrom('ENCODING', 'FREQ', 'REFCOUNT', 'HELP', 'no'), key),
  words(fc.constant('OBJECT'), fc.constantFrom('HELP', 'REFCOUNT')),
);

const random: fc.Arbitrary<Words> = fc.oneof(
  words(fc.constantFrom('SPOP', 'SRANDMEMBER'), key),
  words(fc.constantFrom('SPOP', 'SRANDMEMBER'), key, anyNumber),
  words(fc.constant('RANDOMKEY')),
);

const scans: fc.Arbitrary<Words> = fc.oneof(
  words(fc.constant('SSCAN'), key, cursor, scanOptions()),
  words(fc.constant('SCAN'), cursor, scanOptions()),
);

/** Any number of any words. */
const odd: fc.Arbitrary<Words> = words(
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

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: fc.oneof(plain, plain, plain, random, scans, odd).map(command) },
    { weight: 2, arbitrary: transaction() },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'restart' }) },
  ),
  { maxLength: 40, size: 'max' },
);

function command(words: Words): Step {
  return { kind: 'command', words };
}

function transaction(): fc.Arbitrary<Step> {
  return fc.record({
    kind: fc.constant('transaction' as const),
    commands: fc.array(plain, { maxLength: 6 }),
    end: fc.constantFrom('EXEC', 'EXEC', 'EXEC', 'DISCARD'),
  });
}

function scanOptions(): fc.Arbitrary<Words> {
  const one = fc.oneof(
    fc.tuple(inAnyCase(fc.constant('COUNT')), anyNumber),
    fc.tuple(inAnyCase(fc.constant('MATCH')), pattern),
    fc.tuple(inAnyCase(fc.constant('TYPE')), fc.constantFrom('set', 'SET', 'string')),
  );
  return fc.array(one, { maxLength: 2 }).map((pairs) => pairs.flat());
}

function words(
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
