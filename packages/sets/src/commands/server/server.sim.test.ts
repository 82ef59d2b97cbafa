// Commands about the server, beyond what the recorded conversations show.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../../limits.js';
import { openSets } from '../../local-sets.js';
import type { Sets } from '../../sets.js';
import { Talk } from '../../testing/talk.js';

function withSets(body: (sets: Sets, world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, async (world) => {
    const options = { nodeId: 7, clusterId: 'test', version: '1.2.3', port: 7402 };
    const sets = await openSets(world, options);
    await body(sets, world);
    await sets.close();
  });
}

test('the error for a command that only Redis knows says so', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    expect(await talk.ask('SET', 'a', 'b')).toBe(
      "-ERR unknown command 'SET', with args beginning with: 'a' 'b' (Syncline supports only sets; COMMAND LIST lists the supported commands)\r\n",
    );
    expect(await talk.ask('EXPIRE', 'a', '1')).toMatch(
      /\(Syncline supports only sets;.*\) Sets do not expire\.\r\n$/,
    );
    for (const [command, remark] of [
      ['COPY', 'SUNIONSTORE copies a set.'],
      ['SORT', 'Sort the members in the client.'],
      ['DUMP', 'There is no dump format; copy the members with SSCAN and SADD.'],
      ['MOVE', 'There is only database 0.'],
    ] as const)
      expect(await talk.ask(command, 'a')).toMatch(new RegExp(`\\) ${remark}\r\n$`));
    for (const unknown of ['SAD', 'SYNCLINE.FOO'])
      expect(await talk.ask(unknown, 'a')).toBe(
        `-ERR unknown command '${unknown}', with args beginning with: 'a' \r\n`,
      );
  }));

test('INFO has the lines that clients look for', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', 'a', 'b');
    const info = await talk.ask('INFO');
    const lines = info.split('\r\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '# Server',
        'redis_version:7.0.15',
        'syncline_version:1.2.3',
        'tcp_port:7402',
        'connected_clients:1',
        'loading:0',
        'role:master',
        'db0:keys=1,expires=0,avg_ttl=0',
        'node:7',
        'live_dots:2',
      ]),
    );
    expect(info).toContain(`version:${sets.version().toString()}\r\n`);
    const some = await talk.ask('INFO', 'KEYSPACE', 'foo', 'replication');
    expect(some.split('\r\n').filter((line) => line.startsWith('#'))).toEqual([
      '# Replication',
      '# Keyspace',
    ]);
    expect(await talk.ask('INFO', 'everything', 'foo')).toContain('# Syncline');
  }));

test('INFO has what dashboards read: uptime, run id, readable memory', () =>
  withSets(async (sets, { clock }) => {
    const talk = new Talk(sets);
    const before = await talk.ask('INFO', 'server', 'memory');
    expect(before).toContain('uptime_in_seconds:0\r\nuptime_in_days:0\r\n');
    expect(before).toMatch(/\r\nrun_id:[0-9a-f]{40}\r\n/);
    expect(before).toMatch(/\r\nused_memory_human:[0-9.]+[BKMG]\r\n/);
    await talk.ask('SADD', 'k', ...Array.from({ length: 200 }, (_, index) => `member-${index}`));
    const bytes = Number(/\nused_memory:(\d+)/.exec(await talk.ask('INFO', 'memory'))?.[1]);
    const shown = `used_memory_human:${(bytes / 1_024).toFixed(2)}K`;
    expect(await talk.ask('INFO', 'memory')).toContain(shown);
    await clock.sleep(61_500);
    const after = await talk.ask('INFO', 'server');
    expect(after).toContain('uptime_in_seconds:61\r\nuptime_in_days:0\r\n');
  }));

test('TIME is the wall clock', () =>
  withSets(async (sets, { clock }) => {
    const [, , seconds, , microseconds] = (await new Talk(sets).ask('TIME')).split('\r\n');
    const ms = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    expect(Math.abs(ms - clock.nowMs())).toBeLessThan(1);
  }));

test('CONFIG SET appendfsync switches the class, and nothing is changed when one value is wrong', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    expect(await talk.ask('CONFIG', 'SET', 'appendfsync', 'always', 'timeout', '9')).toBe(
      '+OK\r\n',
    );
    expect(await talk.ask('CONFIG', 'GET', 'appendfsync', 'timeout')).toContain('always');
    expect(await talk.ask('SADD', 'k', 'a')).toBe(':1\r\n');
    expect(await talk.ask('CONFIG', 'SET', 'timeout', '3', 'appendfsync', 'no')).toBe(
      "-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always\r\n",
    );
    expect(await talk.ask('CONFIG', 'GET', 'timeout')).toBe('*2\r\n$7\r\ntimeout\r\n$1\r\n9\r\n');
    expect(await talk.ask('CONFIG', 'SET', 'maxclients', '3')).toMatch(
      /can't set immutable config/,
    );
    expect(await talk.ask('CONFIG', 'SET', 'lazyfree-lazy-expire', 'yes')).toBe('+OK\r\n');
  }));

test('HELP lists the subcommands that are there', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const help = (await talk.ask('CLIENT', 'HELP')).split('\r\n');
    expect(help[1]).toBe('+CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:');
    expect(help).toContain('+SETNAME name');
    expect(help).toContain('+    Prints this help.');
    expect(await talk.ask('CONFIG', 'HELP')).toContain('+GET pattern [pattern ...]\r\n');
    expect(await talk.ask('COMMAND', 'HELP')).toContain('+COUNT\r\n');
  }));

test.each([
  ['COMMAND', 'INFO'],
  ['COMMAND', 'DOCS'],
  ['COMMAND', 'GETKEYS', 'DEL'],
  ['CONFIG', 'GET'],
  ['CLIENT', 'LIST', 'ID'],
  ['CLIENT', 'KILL'],
  ['INFO'],
])('S19 %s %s takes at most 1,024 words', (...name) =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const wordsMax = setsLimits.askedWordsMax.value;
    const words = [...name, ...Array.from({ length: wordsMax }, () => '1')];
    expect(await talk.ask(...words.slice(0, wordsMax))).not.toMatch(/^-ERR more than/);
    expect(await talk.ask(...words.slice(0, wordsMax + 1))).toMatch(
      /^-ERR more than 1024 arguments for '[a-z|]+', send fewer at once\r\n$/,
    );
  }),
);

test('S19 what COMMAND returns inside a transaction is limited', () =>
  withSets(async (sets) => {
    const commands = Array.from({ length: 300 }, () => ['COMMAND']);
    const answers = await new Talk(sets).all([['MULTI'], ...commands, ['EXEC']]);
    expect(answers).toMatch(/\r\n-ERR transaction reads more than /);
  }));

test('COMMAND describes itself', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const count = Number((await talk.ask('COMMAND', 'COUNT')).slice(1));
    expect(await talk.ask('COMMAND')).toMatch(new RegExp(`^\\*${count}\r\n`));
    expect(await talk.ask('COMMAND', 'INFO')).toMatch(new RegExp(`^\\*${count}\r\n`));
    expect(await talk.ask('COMMAND', 'DOCS')).toMatch(new RegExp(`^\\*${count * 2}\r\n`));
    expect(await talk.ask('COMMAND', 'INFO', 'config|get')).toContain(
      '$10\r\nconfig|get\r\n:-3\r\n',
    );
    expect(await talk.ask('COMMAND', 'LIST', 'FILTERBY', 'ACLCAT', 'set')).toContain('sinterstore');
    expect(await talk.ask('COMMAND', 'DOCS', 'sadd')).toBe(
      '*2\r\n$4\r\nsadd\r\n*4\r\n$7\r\nsummary\r\n$22\r\nAdds members to a set.\r\n$5\r\ngroup\r\n$3\r\nset\r\n',
    );
  }));
