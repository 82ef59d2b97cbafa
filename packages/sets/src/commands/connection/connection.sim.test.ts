// Commands about connections, beyond what the recorded conversations show.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from '../../local-sets.js';
import type { Sets } from '../../sets.js';
import { Talk } from '../../testing/talk.js';

function withSets(
  body: (sets: Sets, world: SimulatedBody) => Promise<void>,
  password?: string,
): Promise<void> {
  return runInSimulation(1, async (world) => {
    const options = {
      nodeId: 1,
      clusterId: 'test',
      ...(password === undefined ? {} : { password }),
    };
    const sets = await openSets(world, options);
    await body(sets, world);
    await sets.close();
  });
}

test('CLIENT LIST and INFO describe connections', () =>
  withSets(async (sets, { clock }) => {
    const talk = new Talk(sets, { host: '10.0.0.1', port: 5 });
    const other = new Talk(sets, { host: '::1', port: 6 });
    await talk.ask('CLIENT', 'SETNAME', 'me');
    await talk.ask('CLIENT', 'SETINFO', 'lib-name', 'my-library');
    await other.ask('MULTI');
    await clock.sleep(2_500);
    const list = await talk.ask('CLIENT', 'LIST');
    expect(list).toContain('addr=10.0.0.1:5 name=me age=2 idle=0 flags=N');
    expect(list).toContain('lib-name=my-library');
    expect(list).toContain('addr=[::1]:6 name= age=2 idle=2 flags=x');
    expect(list).toContain('multi=0');
    const info = await talk.ask('CLIENT', 'INFO');
    expect(info).toContain('cmd=client|info user=default redir=-1 resp=2');
  }));

test('CLIENT KILL closes others at once and itself after the reply', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets, { host: '10.0.0.1', port: 5 });
    const other = new Talk(sets, { host: '10.0.0.1', port: 6 });
    const third = new Talk(sets, { host: '10.0.0.1', port: 7 });
    await other.ask('PING');
    expect(await talk.ask('CLIENT', 'KILL', '10.0.0.1:6')).toBe('+OK\r\n');
    expect(other.isGone).toBe(true);
    expect(await talk.ask('CLIENT', 'KILL', 'TYPE', 'normal', 'ADDR', '10.0.0.1:7')).toBe(':1\r\n');
    expect(third.isGone).toBe(true);
    const self = ['CLIENT', 'KILL', 'ADDR', '10.0.0.1:5', 'SKIPME', 'no'];
    expect(await talk.ask(...self)).toBe(':1\r\n');
    await expect(talk.ask('PING')).rejects.toThrow('ended without a reply');
  }));

test('names of clients and libraries are short and printable', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const tooLong = '-ERR client name is longer than 1024 bytes\r\n';
    expect(await talk.ask('CLIENT', 'SETNAME', 'n'.repeat(1_024))).toBe('+OK\r\n');
    expect(await talk.ask('CLIENT', 'SETNAME', 'n'.repeat(1_025))).toBe(tooLong);
    expect(await talk.ask('HELLO', '2', 'SETNAME', 'n'.repeat(1_025))).toBe(tooLong);
    expect(await talk.ask('CLIENT', 'SETINFO', 'LIB-VER', 'a b')).toBe(
      '-ERR LIB-VER cannot contain spaces, newlines or special characters.\r\n',
    );
    expect(await talk.ask('CLIENT', 'SETINFO', 'foo', 'a')).toBe(
      "-ERR Unrecognized option 'foo'\r\n",
    );
    expect(await talk.ask('CLIENT', 'NO-TOUCH', 'on')).toBe('+OK\r\n');
    expect(await talk.ask('CLIENT', 'MAINT_NOTIFICATIONS', 'on')).toBe(
      "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n",
    );
  }));

test('replies are delayed by a second from the fifth wrong password of an address on', () =>
  withSets(async (sets, { clock }) => {
    const guesser = { host: '10.0.0.1', port: 1 };
    const startMs = clock.monotonicMs();
    for (let guess = 0; guess < 4; guess += 1)
      expect(await new Talk(sets, guesser).ask('AUTH', `${guess}`)).toMatch(/^-WRONGPASS /);
    expect(clock.monotonicMs()).toBe(startMs);
    expect(await new Talk(sets, guesser).ask('AUTH', 'guess')).toMatch(/^-WRONGPASS /);
    expect(clock.monotonicMs()).toBe(startMs + 1_000);
    expect(await new Talk(sets, guesser).ask('HELLO', '3', 'AUTH', 'default', 'a')).toMatch(
      /^-WRONGPASS /,
    );
    expect(clock.monotonicMs()).toBe(startMs + 2_000);
    // Others are not held up; the right password is late once, and clears the count.
    expect(await new Talk(sets, { host: '10.0.0.2', port: 1 }).ask('AUTH', 'a')).toMatch(/^-WRONG/);
    expect(clock.monotonicMs()).toBe(startMs + 2_000);
    expect(await new Talk(sets, guesser).ask('AUTH', 'secret')).toBe('+OK\r\n');
    expect(clock.monotonicMs()).toBe(startMs + 3_000);
    expect(await new Talk(sets, guesser).ask('AUTH', 'default', 'a')).toMatch(/^-WRONGPASS /);
    expect(clock.monotonicMs()).toBe(startMs + 3_000);
  }, 'secret'));

test('commands behind a delayed reply wait for it', () =>
  withSets(async (sets) => {
    const guesser = { host: '10.0.0.1', port: 1 };
    for (let guess = 0; guess < 4; guess += 1) await new Talk(sets, guesser).ask('AUTH', 'wrong');
    const answers = await new Talk(sets, guesser).all([
      ['AUTH', 'secret'],
      ['SADD', 'k', 'a'],
    ]);
    expect(answers).toBe('+OK\r\n:1\r\n');
  }, 'secret'));
