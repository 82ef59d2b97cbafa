// Bytes that are not commands, and commands at their limits and one beyond, against the real server. A refusal has an
// exact text, closes the connection if the protocol is violated, and changes nothing.
//
// What takes 10 s or 60 s to be noticed is tested in virtual time: packages/sets/src/resp/session.sim.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeCommand, SetsRawClient } from './sets-raw-client.js';
import { type SetsNode, startSetsNode, startWithPassword } from './sets-targets.js';

const LINE_BYTES = 65_536;
const BULK_BYTES = 1_048_576;
const WORDS = 1_048_576;
const protocolError = (text: string) => `-ERR Protocol error: ${text}\r\n`;

let target: SetsNode;
beforeAll(async () => {
  target = await startSetsNode();
});
afterAll(() => target[Symbol.asyncDispose]());

const connect = () => SetsRawClient.connect(target.port);

test.each([
  ['a count that is not a number', '*x\r\n', 'invalid multibulk length'],
  ['a word too many', `*${WORDS + 1}\r\n`, 'invalid multibulk length'],
  ['a length that is not a number', '*1\r\n$x\r\n', 'invalid bulk length'],
  ['a negative length', '*1\r\n$-1\r\n', 'invalid bulk length'],
  ['a byte too many', `*1\r\n$${BULK_BYTES + 1}\r\n`, 'invalid bulk length'],
  ['a word without its length', '*1\r\nPING\r\n', "expected '$', got 'P'"],
  ['a wrong length', '*1\r\n$3\r\nPING\r\n', 'bulk without line end'],
  ['quotes that are not closed', 'ECHO "a\r\n', 'unbalanced quotes in request'],
  ['an inline command without end', 'x'.repeat(LINE_BYTES + 1), 'too big inline request'],
  ['a count without end', `*${'1'.repeat(LINE_BYTES)}`, 'too big mbulk count string'],
  ['a length without end', `*1\r\n$${'1'.repeat(LINE_BYTES)}`, 'too big bulk count string'],
])('S14 %s is answered once, and nothing after it runs', async (_, bytes, text) => {
  using client = await connect();
  client.send(`${encodeCommand(['PING'])}${bytes}`);
  client.send(encodeCommand(['SADD', 'behind', 'm']));
  expect(await client.ended()).toBe(`+PONG\r\n${protocolError(text)}`);
  using other = await connect();
  expect(await other.ask('EXISTS', 'behind')).toBe(':0');
});

test.each([
  ['POST', 'POST / HTTP/1.1\r\nHost: x\r\n\r\nSADD behind m\r\n'],
  ['Host:', 'GET / HTTP/1.1\r\nHost: x\r\n\r\nSADD behind m\r\n'],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
])('%s closes the connection, and a web page cannot send commands', async (_, bytes) => {
  using client = await connect();
  client.send(bytes);
  expect(await client.ended()).not.toContain(':1');
  using other = await connect();
  expect(await other.ask('EXISTS', 'behind')).toBe(':0');
});

test('S10 more than 64 MiB is not a command, and a declared length takes no memory', async () => {
  using client = await connect();
  const megabyte = `$${BULK_BYTES}\r\n${'x'.repeat(BULK_BYTES)}\r\n`;
  client.send(`*${WORDS}\r\n$4\r\nECHO\r\n`);
  for (let count = 0; count < 64; count += 1) if (!(await client.sendAll(megabyte))) break;
  expect(await client.ended()).toBe(protocolError('invalid bulk length'));
});

describe('the maximum, and one more', () => {
  test('bytes of a key', async () => {
    using client = await connect();
    expect(await client.ask('SADD', 'k'.repeat(4_096), 'm')).toBe(':1');
    expect(await client.ask('SADD', 'k'.repeat(4_097), 'm')).toBe(
      '-ERR key is longer than 4096 bytes',
    );
  });

  test('bytes of a member', async () => {
    using client = await connect();
    expect(await client.ask('SADD', 'members', 'm'.repeat(65_536))).toBe(':1');
    expect(await client.ask('SADD', 'members', 'm'.repeat(65_537))).toBe(
      '-ERR member is longer than 65536 bytes',
    );
    expect(await client.ask('SCARD', 'members')).toBe(':1');
  });

  test('bytes of a word', async () => {
    using client = await connect();
    const longest = 'x'.repeat(BULK_BYTES);
    client.send(encodeCommand(['ECHO', longest]));
    const answer = `$${BULK_BYTES}\r\n${longest}\r\n`;
    await client.until(() => client.bytes === answer.length);
    expect(client.text() === answer).toBe(true);
  });

  test('words of a command', async () => {
    using client = await connect();
    const words = Array.from({ length: WORDS - 1 }, () => 'w');
    client.send(encodeCommand(['PING', ...words]));
    const text = "-ERR wrong number of arguments for 'ping' command\r\n";
    await client.until(() => client.text() === text);
  });

  test('bytes of an inline command', async () => {
    using client = await connect();
    const word = 'x'.repeat(LINE_BYTES - 'ECHO '.length - 1);
    client.send(`ECHO ${word}\r\n`);
    await client.until(() => client.text() === `$${word.length}\r\n${word}\r\n`);
  });

  test('commands of a transaction', async () => {
    using client = await connect();
    const pings = encodeCommand(['PING']).repeat(10_000);
    client.send(`${encodeCommand(['MULTI'])}${pings}${encodeCommand(['EXEC'])}`);
    await client.until(() => client.text().split('+PONG').length === 10_001);
    client.forget();
    client.send(`${encodeCommand(['MULTI'])}${pings}${encodeCommand(['PING'])}`);
    client.send(encodeCommand(['EXEC']));
    await client.until(() => client.text().includes('EXECABORT'));
    expect(client.text()).toContain('-ERR transaction is larger than 10000 commands');
    expect(client.text()).not.toContain('PONG');
  });

  test('watched keys', async () => {
    using client = await connect();
    const keys = Array.from({ length: 1_024 }, (_, index) => `key ${index}`);
    expect(await client.ask('WATCH', ...keys)).toBe('+OK');
    expect(await client.ask('WATCH', 'one more')).toBe(
      '-ERR too many watched keys, at most 1024 are allowed',
    );
  });
});

test.each([
  ['ERR value is not an integer or out of range', ['SRANDMEMBER', 'k', 'many']],
  ['ERR value is out of range, must be positive', ['SPOP', 'k', '-1']],
  ['ERR syntax error', ['SRANDMEMBER', 'k', '1', '2']],
  ['ERR numkeys should be greater than 0', ['SINTERCARD', '0', 'k']],
  ["ERR Number of keys can't be greater than number of args", ['SINTERCARD', '2', 'k']],
  ["ERR LIMIT can't be negative", ['SINTERCARD', '1', 'k', 'LIMIT', '-1']],
  ['ERR invalid cursor', ['SSCAN', 'k', 'x']],
  ['ERR DB index is out of range', ['SELECT', '1']],
  ["ERR wrong number of arguments for 'sadd' command", ['SADD', 'k']],
  ["ERR unknown command 'NO', with args beginning with: 'a' ", ['NO', 'a']],
  ["ERR unknown subcommand 'NO'. Try CLIENT HELP.", ['CLIENT', 'NO']],
  ['ERR EXEC without MULTI', ['EXEC']],
  ['ERR timeout is negative', ['WAIT', '0', '-1']],
  ['NOPROTO unsupported protocol version', ['HELLO', '4']],
])('%s', async (text, words) => {
  using client = await connect();
  expect(await client.ask(...words)).toBe(`-${text}`);
  expect(await client.ask('PING')).toBe('+PONG');
});

describe('before AUTH', () => {
  const password = 'open-sesame-open-sesame';
  let guarded: SetsNode;
  beforeAll(async () => {
    guarded = await startWithPassword(password);
  });
  afterAll(() => guarded[Symbol.asyncDispose]());
  const connectGuarded = () => SetsRawClient.connect(guarded.port);

  test('S10 limits are low until the password is sent', async () => {
    using few = await connectGuarded();
    expect(await few.ask('SADD', ...'123456789')).toBe('-NOAUTH Authentication required.');
    few.forget();
    few.send('*11\r\n');
    expect(await few.ended()).toBe(protocolError('unauthenticated multibulk length'));
    using short = await connectGuarded();
    expect(await short.ask('ECHO', 'x'.repeat(16_384))).toBe('-NOAUTH Authentication required.');
    short.forget();
    short.send('*1\r\n$16385\r\n');
    expect(await short.ended()).toBe(protocolError('unauthenticated bulk length'));
    using known = await connectGuarded();
    expect(await known.ask('AUTH', password)).toBe('+OK');
    expect(await known.ask('SADD', 'k', ...'123456789', 'x'.repeat(16_385))).toBe(':10');
  });

  test('S10 a client that reads none of its refusals is disconnected', async () => {
    using deaf = await connectGuarded();
    deaf.pause();
    const pings = encodeCommand(['PING']).repeat(10_000);
    let sent = 0;
    while (sent < 1_000 && (await deaf.sendAll(pings))) sent += 1;
    expect(sent).toBeLessThan(1_000);
  });

  test('guessing costs a second from the fifth wrong password on, on every connection', async () => {
    using guesser = await connectGuarded();
    const guess = async (client: SetsRawClient) => {
      const startMs = performance.now();
      expect(await client.ask('AUTH', 'wrong')).toMatch(/^-WRONGPASS/);
      return performance.now() - startMs;
    };
    for (let count = 0; count < 4; count += 1) await guess(guesser);
    using another = await connectGuarded();
    const waits = await Promise.all([guess(guesser), guess(another)]);
    for (const waitMs of waits) expect(waitMs).toBeGreaterThan(900);
  });
});
