import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { ManualTurns } from './testing/manual-turns.js';
import { SessionRig } from './testing/session-rig.js';

const full = new SynclineError('storage-full', 'no room on the disk');
const misconf = '-MISCONF no room on the disk\r\n';
const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;

function setUp(options: { readonly hasPassword?: boolean } = {}) {
  const clock = new ManualTurns();
  const rig = new SessionRig(clock, options);
  return { clock, rig, client: rig.connect() };
}

/** A command that replies when the test tells it to. */
function addSlow(rig: SessionRig): () => Promise<void> {
  let answer = () => {};
  rig.commands.set('SLOW', ({ reply }) =>
    new Promise<void>((resolve) => {
      answer = resolve;
    }).then(() => reply.simple('SLOW')),
  );
  return async () => {
    answer();
    await settled();
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('order and chunks', () => {
  test('the replies of a chunk are sent together and in order', () => {
    const { client } = setUp();
    expect(client.push('ECHO a\r\nNO\r\nECHO b\r\nECHO')).toBeUndefined();
    expect(client.read()).toBe(`${bulk('a')}-ERR NO\r\n${bulk('b')}`);
    client.send(' c\r\n');
    expect(client.read()).toBe(bulk('c'));
  });

  test('commands after a waiting one run after it', async () => {
    const { clock, rig, client } = setUp();
    const answer = addSlow(rig);
    const pushed = client.push('ECHO a\r\nSLOW\r\nECHO b\r\n');
    expect(pushed).toBeInstanceOf(Promise);
    expect(client.read()).toBe(bulk('a'));
    expect(rig.ran).toEqual(['ECHO', 'SLOW']);
    client.send('ECHO c\r\n');
    await answer();
    expect(rig.ran, 'others first').toEqual(['ECHO', 'SLOW']);
    clock.endTurn();
    await pushed;
    expect(client.read()).toBe(`+SLOW\r\n${bulk('b')}${bulk('c')}`);
    expect(rig.metrics.get('command_seconds')).toBe(0);
  });

  test('commands whose wait is over at once do not block the event loop together', async () => {
    const { clock, rig, client } = setUp();
    rig.commands.set('SOON', async ({ reply }) => reply.simple('SOON'));
    client.send('SOON\r\n'.repeat(10));
    for (let turn = 1; turn <= 10; turn += 1) {
      await settled();
      expect(rig.ran.length).toBe(turn);
      clock.endTurn();
    }
    expect(client.read()).toBe('+SOON\r\n'.repeat(10));
  });

  test('what a command wrote before it began to wait stays with its reply', async () => {
    const { rig, client } = setUp();
    let answer = () => {};
    rig.commands.set('HALF', ({ reply }) => {
      reply.array(2);
      return new Promise<void>((resolve) => (answer = resolve)).then(() => {
        reply.integer(1);
        reply.integer(2);
      });
    });
    client.send('ECHO a\r\nHALF\r\n');
    expect(client.read()).toBe(bulk('a'));
    answer();
    await settled();
    expect(client.read()).toBe('*2\r\n:1\r\n:2\r\n');
  });

  test('after its share of commands, other connections get their turn', async () => {
    const { clock, rig, client } = setUp();
    const count = setsLimits.turnCommandsMax.value;
    const pushed = client.push('ECHO a\r\n'.repeat(count + 1));
    expect(rig.ran.length).toBe(count);
    client.send('ECHO b\r\n');
    expect(rig.ran.length).toBe(count);
    clock.endTurn();
    await pushed;
    expect(rig.ran.length).toBe(count + 2);
  });

  test('many small chunks of one turn count together', () => {
    const { clock, rig, client } = setUp();
    const count = setsLimits.turnCommandsMax.value;
    for (let chunk = 0; chunk < count + 10; chunk += 1) client.send('ECHO a\r\n');
    expect(rig.ran.length).toBe(count);
    clock.endTurn();
    expect(rig.ran.length).toBe(count + 10);
  });

  test.each([
    { workMs: 0.2, afterTurns: [32, 48] },
    { workMs: 0.6, afterTurns: [16, 32] }, // it has used the time of all connections
  ])('after its share of time, other connections get their turn: %o', ({ workMs, afterTurns }) => {
    const { clock, rig, client } = setUp();
    rig.commands.set('WORK', ({ reply }) => {
      clock.now += workMs;
      reply.simple('OK');
    });
    client.send('WORK\r\n'.repeat(60));
    expect(rig.ran.length).toBe(16);
    for (const count of afterTurns) {
      clock.endTurn();
      expect(rig.ran.length).toBe(count);
    }
  });

  test('S19 all connections together have a limited turn; those left out run first in the next', () => {
    const { clock, rig } = setUp();
    const order: string[] = [];
    rig.commands.set('WORK', ({ args, reply }) => {
      order.push(args.text(1));
      clock.now += 3;
      reply.simple('OK');
    });
    const [a, b, c, d, late] = Array.from({ length: 5 }, () => rig.connect());
    for (const [name, client] of Object.entries({ a, b, c, d })) client?.send(`WORK ${name}\r\n`);
    expect(order).toEqual(['a', 'b']);
    c?.leave();
    late?.send('WORK late\r\n');
    clock.endTurn();
    clock.endTurn();
    expect(order).toEqual(['a', 'b', 'd', 'late']);
    clock.endTurn();
    a?.send('WORK a\r\n');
    expect(order.at(-1), 'no connection waits any more').toBe('a');
  });

  test('S19 a connection whose next chunk is already there runs after those that were postponed', async () => {
    const { clock, rig } = setUp();
    const order: string[] = [];
    rig.commands.set('WORK', ({ args, reply }) => {
      order.push(args.text(1));
      clock.now += 6;
      reply.simple('OK');
    });
    const send = async (name: string, times: number): Promise<void> => {
      const client = rig.connect();
      for (let chunk = 0; chunk < times; chunk += 1) await client.push(`WORK ${name}\r\n`);
    };
    const busy = [send('a', 4), send('b', 4)];
    const patient = send('patient', 1);
    for (let turn = 0; turn < 20; turn += 1) await clock.endTurnInSteps(settled);
    await Promise.all([...busy, patient]);
    expect(order.slice(0, 3)).toEqual(['a', 'b', 'patient']);
    expect(order.filter((name) => name === 'b')).toHaveLength(4);
  });

  test('one long walk over sets uses up the share as well', () => {
    const { clock, rig, client } = setUp();
    rig.commands.set('WALK', (context) => {
      clock.now += 3;
      context.client.hasWalked = true;
      context.reply.simple('OK');
    });
    client.send('WALK\r\n'.repeat(3));
    expect(rig.ran.length).toBe(1);
    clock.endTurn();
    expect(rig.ran.length).toBe(2);
  });
});

describe('S5 the end of a turn', () => {
  test('replies are sent when the turn ends, and not before', () => {
    const { clock, client } = setUp();
    client.send('WRITE a\r\nECHO b\r\n');
    expect(client.chunks).toEqual([]);
    clock.endTurn();
    expect(client.chunks).toEqual([bulk('a') + bulk('b')]);
  });

  test('S7 when a turn is undone, replies since its first change become errors', () => {
    const { clock, rig, client } = setUp();
    const other = rig.connect();
    rig.turns.failsWith = full;
    client.send('ECHO a\r\nWRITE b\r\nECHO c\r\n');
    other.send('ECHO d\r\n');
    clock.endTurn();
    expect(client.read()).toBe(bulk('a') + misconf + misconf);
    expect(other.read()).toBe(misconf);
    client.send('ECHO e\r\n');
    clock.endTurn();
    expect(client.read()).toBe(bulk('e'));
  });

  test('S5 an undone turn does not replace replies of commands that use no sets', () => {
    const { rig, client } = setUp();
    rig.turns.failsWith = full;
    client.send(
      'PING\r\nECHO a\r\nPING\r\nWRITE b\r\nPING\r\nPING\r\nECHO c\r\nECHO d\r\nPING\r\n',
    );
    const pong = '+PONG\r\n';
    const behind = [misconf, pong, pong, misconf, misconf, pong];
    expect(client.read()).toBe([pong, bulk('a'), pong, ...behind].join(''));
    client.send('PING\r\nECHO e\r\n');
    expect(client.read()).toBe(pong + bulk('e'));
  });

  test('S5 nor does a failed sync, whether turns before it were undone or not', () => {
    const { rig, client } = setUp();
    const pong = '+PONG\r\n';
    rig.turns.waitsFor = 1;
    client.send('PING\r\nWRITE a\r\nPING\r\n');
    expect(client.read()).toBe('');
    rig.turns.failsWith = full;
    client.send('ECHO b\r\nPING\r\nWRITE c\r\nPING\r\nECHO d\r\n');
    expect(client.read()).toBe('');
    rig.turns.failed(new SynclineError('storage-failed', 'the disk is gone'));
    const gone = '-MISCONF the disk is gone\r\n';
    const second = [gone, pong, misconf, pong, misconf];
    expect(client.read()).toBe([pong, gone, pong, ...second].join(''));
  });

  test('in class synced replies wait for the sync of their turn, in order', () => {
    const { clock, rig, client } = setUp();
    rig.turns.waitsFor = 5;
    client.send('WRITE a\r\n');
    clock.endTurn();
    rig.turns.waitsFor = 6;
    client.send('ECHO b\r\n');
    clock.endTurn();
    expect(client.read()).toBe('');
    rig.turns.synced(5);
    expect(client.read()).toBe(bulk('a'));
    rig.turns.waitsFor = 0;
    client.send('ECHO c\r\n');
    clock.endTurn();
    expect(client.read()).toBe(''); // something before it waits
    rig.turns.synced(6);
    expect(client.read()).toBe(bulk('b') + bulk('c'));
  });

  test('a failed sync turns each waiting reply into an error', () => {
    const { clock, rig, client } = setUp();
    rig.turns.waitsFor = 5;
    client.send('WRITE a\r\nECHO b\r\n');
    clock.endTurn();
    rig.turns.failed(full);
    expect(client.read()).toBe(misconf + misconf);
  });

  test('a part of a large reply is sent at once, and is not an error when a later turn fails', async () => {
    const { clock, rig, client } = setUp();
    rig.commands.set('STREAM', async ({ reply }) => {
      await settled();
      reply.array(2);
      reply.bulkText('x'.repeat(setsLimits.outputPauseBytes.value));
      await reply.room();
      reply.bulkText('y');
    });
    client.send('STREAM\r\n');
    await settled();
    await settled();
    clock.endTurn();
    expect(client.read().slice(-7)).toBe(bulk('y'));
    expect(client.isCut).toBe(false);
  });

  test('a failed sync after part of a reply was sent closes the connection: any other reply would be wrong', async () => {
    const { rig, client } = setUp();
    rig.turns.waitsFor = 5;
    rig.commands.set('STREAM', async ({ reply }) => {
      reply.bulkText('x'.repeat(setsLimits.outputPauseBytes.value));
      await reply.room();
    });
    client.send('STREAM\r\n');
    await settled();
    rig.turns.failed(full);
    expect([client.isCut, client.read()]).toEqual([true, '']);
  });

  test('QUIT closes after the replies of its turn', () => {
    const { clock, rig, client } = setUp();
    client.send('WRITE a\r\nQUIT\r\nECHO b\r\n');
    expect([client.chunks, client.isEnded]).toEqual([[], false]);
    clock.endTurn();
    expect([client.read(), client.isEnded]).toEqual([`${bulk('a')}+OK\r\n`, true]);
    expect(rig.ran).toEqual(['WRITE', 'QUIT']);
    expect(rig.metrics.get('closed_total quit')).toBe(1);
  });

  test('a bug in a long command is reported even when its client has left', async () => {
    const { rig, client } = setUp();
    let fail: (thrown: unknown) => void = () => undefined;
    rig.commands.set('LONG', () => new Promise((_, reject) => (fail = reject)));
    client.send('LONG\r\n');
    client.leave();
    const bug = new Error('a bug');
    fail(bug);
    await settled();
    expect(rig.bugs).toEqual([bug]);
  });

  test('the members that a pipeline names are fetched once per batch', () => {
    const { rig, client } = setUp();
    const pipeline = '*3\r\n$4\r\nECHO\r\n$1\r\na\r\n$1\r\nb\r\n'.repeat(40);
    client.send(pipeline);
    expect(rig.fetched).toEqual([16, 16, 8]);
  });

  test('long reads end when the client has ended its side, and not when the server drains', () => {
    const { rig } = setUp();
    const signals: AbortSignal[] = [];
    rig.commands.set('READ', ({ client: { reading } }) => {
      signals.push(reading);
      return new Promise(() => undefined);
    });
    const [ended, draining] = [rig.connect(), rig.connect()];
    ended.send('READ\r\n');
    draining.send('READ\r\n');
    ended.session.close('client-ended');
    draining.session.close('draining');
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
  });
});

describe('the end', () => {
  test('S14 a protocol error is answered once, and nothing after it runs', () => {
    const { rig, client } = setUp();
    client.send('ECHO a\r\n*x\r\nECHO b\r\n');
    client.send('ECHO c\r\n');
    const error = '-ERR Protocol error: invalid multibulk length\r\n';
    expect(client.read()).toBe(bulk('a') + error);
    expect(client.isEnded).toBe(true);
    expect(rig.ran).toEqual(['ECHO']);
    expect(rig.metrics.get('protocol_errors_total multibulk-length')).toBe(1);
    expect(rig.metrics.get('closed_total protocol-error')).toBe(1);
  });

  test('a browser gets no answer', () => {
    const { rig, client } = setUp();
    client.send('POST / HTTP/1.1\r\nECHO a\r\n');
    expect([client.read(), client.isEnded, rig.ran]).toEqual(['', true, []]);
  });

  test('no more bytes: what was pushed is answered, then it ends', async () => {
    const { clock, rig, client } = setUp();
    const answer = addSlow(rig);
    client.send('SLOW\r\nECHO a\r\nECHO half');
    client.session.close('client-ended');
    expect(client.isEnded).toBe(false);
    await answer();
    clock.endTurn();
    expect(client.read()).toBe(`+SLOW\r\n${bulk('a')}`);
    expect(client.isEnded).toBe(true);
  });

  test('a client that is gone is forgotten, and its pending command ends', async () => {
    const { rig, client } = setUp();
    rig.commands.set('WATCH', ({ client: { watchedKeys }, client: own, facts, reply }) => {
      own.watchedKeys = watchedKeys + 1;
      facts.watchQuota.tryTake(1);
      reply.simple('OK');
    });
    const answer = addSlow(rig);
    const pushed = client.push('WATCH\r\nSLOW\r\nECHO a\r\n');
    expect([rig.facts.clients.size, rig.metrics.get('connections')]).toEqual([1, 1]);
    client.leave();
    await pushed;
    await answer();
    expect(rig.ran).toEqual(['WATCH', 'SLOW']);
    expect([rig.facts.clients.size, rig.metrics.get('connections')]).toEqual([0, 0]);
    expect(rig.unwatched.length).toBe(1);
  });

  test('a client that is killed by another gets nothing more', () => {
    const { rig, client } = setUp();
    client.send('WRITE a\r\n');
    rig.facts.clients.get(1)?.cut();
    expect([client.isCut, client.read()]).toEqual([true, '']);
    expect(rig.metrics.get('closed_total killed')).toBe(1);
  });
});

describe('CLIENT REPLY', () => {
  test('off drops all replies until on', () => {
    const { client } = setUp();
    client.send('ECHO a\r\nREPLY OFF\r\nECHO b\r\nNO\r\nREPLY ON\r\nECHO c\r\n');
    expect(client.read()).toBe(`${bulk('a')}+OK\r\n${bulk('c')}`);
  });

  test('skip drops its own reply and the next', () => {
    const { client } = setUp();
    client.send('REPLY SKIP\r\nECHO a\r\nECHO b\r\n');
    expect(client.read()).toBe(bulk('b'));
  });

  test('a dropped reply does not become an error when its turn is undone', () => {
    const { rig, client } = setUp();
    rig.turns.failsWith = full;
    client.send('WRITE a\r\nREPLY SKIP\r\nWRITE b\r\nWRITE c\r\n');
    expect(client.read()).toBe(misconf + misconf);
  });
});

describe('S10 output', () => {
  const big = 600_000;

  function addBig(rig: SessionRig): void {
    const bytes = Buffer.alloc(big, 'x');
    rig.commands.set('BIG', ({ reply }) => reply.bulk(bytes, 0, big));
  }

  test('reading stops while too much is unsent, and continues once it was sent', async () => {
    const { rig, client } = setUp();
    addBig(rig);
    client.isStopped = true;
    client.send('ECHO a\r\n');
    rig.turns.commitNow(); // the sink has it, and is full
    const pushed = client.push('BIG\r\nBIG\r\nBIG\r\nECHO b\r\n');
    await settled();
    expect(rig.ran).toEqual(['ECHO', 'BIG', 'BIG']);
    client.takeMore('all');
    await pushed;
    expect(rig.ran).toEqual(['ECHO', 'BIG', 'BIG', 'BIG', 'ECHO']);
    expect(client.read().endsWith(bulk('b'))).toBe(true);
  });

  test('replies that wait for a sync are unsent, too', () => {
    const { clock, rig, client } = setUp();
    addBig(rig);
    rig.turns.waitsFor = 1;
    client.send('WRITE a\r\nBIG\r\nBIG\r\nECHO b\r\n');
    clock.endTurn();
    expect(rig.ran).toEqual(['WRITE', 'BIG', 'BIG']);
    rig.turns.synced(1);
    expect(rig.ran).toEqual(['WRITE', 'BIG', 'BIG', 'ECHO']);
  });

  test('a large reply is produced as fast as it is read', async () => {
    const { rig, client } = setUp();
    const rows = 40;
    let made = 0;
    rig.commands.set('STREAM', async ({ reply }) => {
      reply.array(rows);
      for (; made < rows; made += 1) {
        reply.bulkText('x'.repeat(100_000));
        await reply.room();
      }
    });
    client.isStopped = true;
    client.send('STREAM\r\n');
    await settled();
    expect(made).toBeLessThan(15);
    for (let round = 0; round < 20; round += 1) {
      client.takeMore('one');
      await settled();
    }
    expect(made).toBe(rows);
    expect(client.read().length).toBe(
      '*40\r\n'.length + rows * '$100000\r\n\r\n'.length + rows * 100_000,
    );
  });

  test('a command that produces a large reply is notified when its client is gone', async () => {
    const { rig, client } = setUp();
    let failure: unknown;
    rig.commands.set('STREAM', async ({ reply }) => {
      try {
        for (;;) {
          reply.bulkText('x'.repeat(100_000));
          await reply.room();
        }
      } catch (thrown) {
        failure = thrown;
      }
    });
    client.isStopped = true;
    client.send('STREAM\r\n');
    await settled();
    client.leave();
    await settled();
    expect(failure).toMatchObject({ code: 'closed' });
  });

  test('a client with far too many unsent replies is disconnected', () => {
    const { rig, client } = setUp();
    const bytes = Buffer.alloc(setsLimits.outputBytesMax.value);
    rig.commands.set('HUGE', ({ reply }) => reply.raw(bytes));
    client.isStopped = true;
    client.send('ECHO a\r\n');
    rig.turns.commitNow();
    client.send('HUGE\r\n');
    rig.turns.commitNow();
    expect(client.isCut).toBe(false);
    const other = rig.connect();
    other.isStopped = true;
    other.send('ECHO a\r\n');
    rig.turns.commitNow();
    rig.commands.set('HUGER', ({ reply }) => {
      reply.raw(bytes);
      reply.simple('');
    });
    other.send('HUGER\r\n');
    rig.turns.commitNow();
    expect([other.isCut, rig.metrics.get('closed_total output-full')]).toEqual([true, 1]);
  });

  test('an unauthenticated client may leave less unsent and send less', () => {
    const { rig, client } = setUp({ hasPassword: true });
    client.isStopped = true;
    client.send('ECHO a\r\n');
    rig.turns.commitNow();
    rig.commands.set('MUCH', ({ reply }) => reply.raw(Buffer.alloc(65_537)));
    client.send('MUCH\r\n');
    rig.turns.commitNow();
    expect(client.isCut).toBe(true);
    const other = rig.connect();
    other.send('*11\r\n');
    expect(other.read()).toBe('-ERR Protocol error: unauthenticated multibulk length\r\n');
  });
});
