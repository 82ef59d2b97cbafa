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

/** A toy that answers when the test says so. */
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
  test('the replies of a chunk leave together and in order', () => {
    const { client } = setUp();
    expect(client.push('ECHO a\r\nNO\r\nECHO b\r\nECHO')).toBeUndefined();
    expect(client.chunks).toEqual([`${bulk('a')}-ERR NO\r\n${bulk('b')}`]);
    client.read();
    client.send(' c\r\n');
    expect(client.read()).toBe(bulk('c'));
  });

  test('what is behind a command that waits runs after it', async () => {
    const { rig, client } = setUp();
    const answer = addSlow(rig);
    const pushed = client.push('ECHO a\r\nSLOW\r\nECHO b\r\n');
    expect(pushed).toBeInstanceOf(Promise);
    expect(client.read()).toBe(bulk('a'));
    expect(rig.ran).toEqual(['ECHO', 'SLOW']);
    client.send('ECHO c\r\n');
    await answer();
    await pushed;
    expect(client.read()).toBe(`+SLOW\r\n${bulk('b')}${bulk('c')}`);
    expect(rig.metrics.get('command_seconds')).toBe(0);
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

  test('after so many commands others get their turn', async () => {
    const { clock, rig, client } = setUp();
    const count = setsLimits.turnCommandsMax.value;
    const pushed = client.push('ECHO a\r\n'.repeat(count + 1));
    expect(rig.ran.length).toBe(count);
    expect(client.chunks.length).toBe(1);
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

  test('after so much time others get their turn', () => {
    const { clock, rig, client } = setUp();
    rig.commands.set('WORK', ({ reply }) => {
      clock.now += 0.6;
      reply.simple('OK');
    });
    client.send('WORK\r\n'.repeat(20));
    expect(rig.ran.length).toBe(4);
    clock.endTurn();
    expect(rig.ran.length).toBe(8);
  });

  test('after one command that has walked sets for so long, too', () => {
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

describe('S5 held replies', () => {
  test('a reply leaves when its commit is stored, and not before', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\nSEE 1 b\r\n');
    expect(rig.commits.listenersCount).toBe(1);
    expect(client.read()).toBe('');
    rig.commits.settle(1);
    expect(client.chunks).toEqual([bulk('a') + bulk('b')]);
  });

  test('what waits for nothing leaves at once, unless something before it is held', () => {
    const { rig, client } = setUp();
    client.send('ECHO x\r\n');
    expect(client.read()).toBe(bulk('x'));
    client.send('ECHO y\r\nSEE 1 a\r\nECHO b\r\nSEE 2 c\r\nECHO d\r\n');
    expect(client.read()).toBe(bulk('y'));
    client.send('ECHO e\r\n');
    expect(client.read()).toBe('');
    rig.commits.settle(1);
    expect(client.chunks).toEqual([bulk('a') + bulk('b')]);
    client.read();
    rig.commits.settle(2);
    expect(client.read()).toBe(bulk('c') + bulk('d') + bulk('e'));
  });

  test('S7 when a commit fails, each command that saw it or one on top gets the error, and no other', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\nECHO b\r\nSEE 1 c\r\nSEE 2 d\r\nECHO e\r\n');
    rig.commits.settle(1, full);
    expect(client.read()).toBe(misconf + bulk('b') + misconf + misconf + bulk('e'));
  });

  test('commits that are settled one after the other let their replies leave one after the other', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\nSEE 2 b\r\nSEE 1 c\r\nSEE 3 d\r\n');
    rig.commits.settle(1);
    expect(client.read()).toBe(bulk('a'));
    rig.commits.settle(2);
    expect(client.read()).toBe(bulk('b') + bulk('c'));
    rig.commits.settle(3, full);
    expect(client.read()).toBe(misconf);
  });

  test('a number that failed is waited for again when it is used again', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\n');
    rig.commits.settle(1, full);
    client.send('SEE 1 b\r\n');
    expect(client.read()).toBe(misconf);
    rig.commits.settle(1);
    expect(client.read()).toBe(bulk('b'));
  });

  test('a command that waited is held until all commits are settled', async () => {
    const { rig, client } = setUp();
    const answer = addSlow(rig);
    client.send('SLOW\r\n');
    rig.commits.newest = 7;
    await answer();
    expect(client.read()).toBe('');
    rig.commits.settle(7);
    expect(client.read()).toBe('+SLOW\r\n');
  });

  test('S7 a commit that failed while a command waited makes its reply an error', async () => {
    const { rig, client } = setUp();
    const answer = addSlow(rig);
    client.send('SLOW\r\nECHO a\r\n');
    rig.commits.settle(6, full);
    await answer();
    expect(client.read()).toBe(misconf + bulk('a'));
  });

  test('a reply of which a part has left is stored, and hears of no commit', async () => {
    const { rig, client } = setUp();
    rig.commands.set('STREAM', async ({ reply }) => {
      await settled();
      reply.array(2);
      reply.bulkText('x'.repeat(setsLimits.outputPauseBytes.value));
      await reply.room();
      rig.commits.settle(6, full);
      rig.commits.newest = 7;
      reply.bulkText('y');
    });
    client.send('STREAM\r\n');
    await settled();
    await settled();
    expect(client.read().slice(-7)).toBe(bulk('y'));
    expect([client.isCut, rig.commits.listenersCount]).toEqual([false, 0]);
  });

  test('QUIT ends behind held replies', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\nQUIT\r\nECHO b\r\n');
    expect([client.read(), client.isEnded]).toEqual(['', false]);
    rig.commits.settle(1);
    expect([client.read(), client.isEnded]).toEqual([`${bulk('a')}+OK\r\n`, true]);
    expect(rig.ran).toEqual(['SEE', 'QUIT']);
    expect(rig.metrics.get('closed_total quit')).toBe(1);
  });
});

describe('the end', () => {
  test('S14 a protocol error is answered once, and nothing behind it runs', () => {
    const { rig, client } = setUp();
    client.send('ECHO a\r\n*x\r\nECHO b\r\n');
    client.send('ECHO c\r\n');
    const error = '-ERR Protocol error: invalid multibulk length\r\n';
    expect([client.read(), client.isEnded]).toEqual([bulk('a') + error, true]);
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
    const { rig, client } = setUp();
    const answer = addSlow(rig);
    client.send('SLOW\r\nECHO a\r\nECHO half');
    client.session.close();
    expect(client.isEnded).toBe(false);
    await answer();
    expect([client.read(), client.isEnded]).toEqual([`+SLOW\r\n${bulk('a')}`, true]);
  });

  test('a client that is gone is forgotten, and what it waits for ends', async () => {
    const { rig, client } = setUp();
    rig.commands.set('WATCH', ({ client: { watchedKeys }, client: own, facts, reply }) => {
      own.watchedKeys = watchedKeys + 1;
      facts.watchRoom.take(1);
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

  test('a client that is cut by another gets nothing more', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\n');
    rig.facts.clients.get(1)?.cut();
    rig.commits.settle(1);
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

  test('a reply that nobody gets is no error when its commit fails', () => {
    const { rig, client } = setUp();
    client.send('SEE 1 a\r\nREPLY SKIP\r\nSEE 1 b\r\nSEE 1 c\r\n');
    rig.commits.settle(1, full);
    expect(client.read()).toBe(misconf + misconf);
  });
});

describe('S10 output', () => {
  const big = 600_000;

  function addBig(rig: SessionRig): void {
    const bytes = Buffer.alloc(big, 'x');
    rig.commands.set('BIG', ({ reply }) => reply.bulk(bytes, 0, big));
  }

  test('reading stops while too much is unsent, and goes on when it was taken', async () => {
    const { rig, client } = setUp();
    addBig(rig);
    client.isStopped = true;
    client.send('ECHO a\r\n'); // the sink has it, and is full
    const pushed = client.push('BIG\r\nBIG\r\nBIG\r\nECHO b\r\n');
    await settled();
    expect(rig.ran).toEqual(['ECHO', 'BIG', 'BIG']);
    client.takeMore('all');
    await pushed;
    expect(rig.ran).toEqual(['ECHO', 'BIG', 'BIG', 'BIG', 'ECHO']);
    expect(client.read().endsWith(bulk('b'))).toBe(true);
  });

  test('held replies are unsent, too', () => {
    const { clock, rig, client } = setUp();
    addBig(rig);
    client.send('SEE 1 a\r\nBIG\r\nBIG\r\nECHO b\r\n');
    clock.endTurn();
    expect(rig.ran).toEqual(['SEE', 'BIG', 'BIG']);
    rig.commits.settle(1);
    expect(rig.ran).toEqual(['SEE', 'BIG', 'BIG', 'ECHO']);
  });

  test('a large reply is made as it is taken', async () => {
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

  test('who makes a large reply for a client that is gone hears of it', async () => {
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

  test('a client with far too much unsent is cut', () => {
    const { rig, client } = setUp();
    const bytes = Buffer.alloc(setsLimits.outputBytesMax.value);
    rig.commands.set('HUGE', ({ reply }) => reply.raw(bytes));
    client.isStopped = true;
    client.send('ECHO a\r\n');
    client.send('HUGE\r\n');
    expect(client.isCut).toBe(false);
    const other = rig.connect();
    other.isStopped = true;
    other.send('ECHO a\r\n');
    rig.commands.set('HUGER', ({ reply }) => {
      reply.raw(bytes);
      reply.simple('');
    });
    other.send('HUGER\r\n');
    expect([other.isCut, rig.metrics.get('closed_total output-full')]).toEqual([true, 1]);
  });

  test('a stranger may leave less unsent and send less', () => {
    const { rig, client } = setUp({ hasPassword: true });
    client.isStopped = true;
    client.send('ECHO a\r\n');
    rig.commands.set('MUCH', ({ reply }) => reply.raw(Buffer.alloc(65_537)));
    client.send('MUCH\r\n');
    expect(client.isCut).toBe(true);
    const other = rig.connect();
    other.send('*11\r\n');
    expect(other.read()).toBe('-ERR Protocol error: unauthenticated multibulk length\r\n');
  });
});
