// redis-cli and redis-benchmark, the programs that come with Redis, as clients of our server.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ProgramOptions, runProgram } from './run-program.js';
import { type SetsTarget, TARGETS } from './sets-targets.js';

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

describe.each(TARGETS)('$name', ({ start }) => {
  let target: SetsTarget;
  beforeAll(async () => {
    target = await start();
  });
  afterAll(() => target[Symbol.asyncDispose]());
  beforeEach(() => cli(['flushall']));

  async function cli(args: readonly string[], options?: ProgramOptions): Promise<string> {
    const end = await runProgram('redis-cli', ['-p', String(target.port), ...args], options);
    expect(end.stderr).toBe('');
    return end.stdout;
  }

  test('redis-cli writes and reads', async () => {
    expect(await cli(['sadd', 'fruits', 'apple', 'pear', 'apple'])).toBe('2\n');
    expect(lines(await cli(['smembers', 'fruits'])).toSorted()).toEqual(['apple', 'pear']);
    expect(await cli(['srem', 'fruits', 'pear', 'plum'])).toBe('1\n');
    expect(await cli(['type', 'fruits'])).toBe('set\n');
    expect(await cli(['sadd', 'fruits'])).toContain(
      "ERR wrong number of arguments for 'sadd' command",
    );
  });

  test('redis-cli in RESP3 shows a set as a set', async () => {
    await cli(['sadd', 'fruits', 'apple']);
    expect(await cli(['-3', '--no-raw', 'smembers', 'fruits'])).toMatch(/^1~ "apple"/);
    expect(await cli(['-2', '--no-raw', 'smembers', 'fruits'])).toMatch(/^1\) "apple"/);
    expect(await cli(['-3', '--no-raw', 'sismember', 'fruits', 'apple'])).toBe('(integer) 1\n');
    expect(await cli(['-3', '--no-raw', 'spop', 'nothing'])).toBe('(nil)\n');
  });

  test('redis-cli reads commands from its standard input', async () => {
    const input = 'multi\nsadd a one two\nsinter a a\nexec\nscard a\n';
    const said = lines(await cli([], { input }));
    expect(said.slice(0, 4)).toEqual(['OK', 'QUEUED', 'QUEUED', '2']);
    expect(said.slice(4, 6).toSorted()).toEqual(['one', 'two']);
    expect(said.at(-1)).toBe('2');
  });

  test('redis-cli --pipe loads many commands at once, binary members too', async () => {
    const count = 20_000;
    const command = (index: number): string => {
      const member = `member-${index}\r\n\0`;
      return `*3\r\n$4\r\nSADD\r\n$5\r\nbatch\r\n$${member.length}\r\n${member}\r\n`;
    };
    const input = Array.from({ length: count }, (_, index) => command(index)).join('');
    expect(await cli(['--pipe'], { input })).toContain(`errors: 0, replies: ${count}`);
    expect(await cli(['scard', 'batch'])).toBe(`${count}\n`);
  });

  test('redis-cli --scan finds every set by its pattern', async () => {
    const input = Array.from({ length: 500 }, (_, index) => `sadd key:${index} x`).join('\n');
    await cli([], { input: `${input}\nsadd other y\n` });
    const found = lines(await cli(['--scan', '--pattern', 'key:*']));
    expect(new Set(found).size).toBe(500);
    expect(found).not.toContain('other');
  });

  test('redis-benchmark runs its own tests without an error', async () => {
    const args = [
      '-t',
      'ping_inline,ping_mbulk,sadd,spop',
      '-n',
      '2000',
      '-c',
      '20',
      '-q',
      '--csv',
    ];
    for (const pipeline of ['1', '16']) {
      const place = ['-p', String(target.port), '-P', pipeline, '-r', '1000'];
      const { code, stdout, stderr } = await runProgram('redis-benchmark', [...place, ...args]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(lines(stdout)).toHaveLength(5);
      expect(stdout).not.toMatch(/error/i);
    }
    expect(Number(await cli(['dbsize']))).toBeLessThanOrEqual(1);
  });

  test('redis-benchmark runs a command of our choice', async () => {
    const args = ['-p', String(target.port), '-n', '2000', '-r', '100000', '-q'];
    const command = ['sismember', 'bench', '__rand_int__'];
    const { code, stdout } = await runProgram('redis-benchmark', [...args, ...command]);
    expect(code).toBe(0);
    expect(stdout).toContain('requests per second');
  });
});

describe.each(TARGETS)('$name with a password', ({ start }) => {
  const password = 'open-sesame-open-sesame';

  test('redis-cli needs it', async () => {
    await using target = await start(password);
    const place = ['-p', String(target.port)];
    const without = await runProgram('redis-cli', [...place, 'sadd', 'a', 'b']);
    expect(without.stdout).toContain('NOAUTH Authentication required.');
    const environment = { REDISCLI_AUTH: password };
    const right = await runProgram('redis-cli', [...place, 'sadd', 'a', 'b'], { environment });
    expect(right.stdout).toBe('1\n');
    const wrong = await runProgram('redis-cli', [...place, 'scard', 'a'], {
      environment: { REDISCLI_AUTH: 'open-barley' },
    });
    expect(wrong.stdout + wrong.stderr).toContain('WRONGPASS');
    const bench = ['-a', password, '-t', 'sadd', '-n', '1000', '-q'];
    const { code, stdout } = await runProgram('redis-benchmark', [...place, ...bench]);
    expect(code).toBe(0);
    expect(stdout).toContain('SADD');
  });
});
