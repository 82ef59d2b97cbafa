// How long a connection may leave things unfinished, in virtual time. Deadlines are checked once a second.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { SessionRig } from './testing/session-rig.js';

const inWorld = (seed: string, body: (world: SimulatedBody) => Promise<void>) => () =>
  runInSimulation(seed, body);

test(
  'S10 half a command may lie for ten seconds',
  inWorld('half', async ({ clock }) => {
    const rig = new SessionRig(clock);
    const client = rig.connect();
    client.send('ECHO a\r\n');
    await clock.sleep(30_000);
    client.send('*2\r\n$4\r\nECHO\r\n$1\r\n');
    await clock.sleep(9_000);
    expect(client.isCut).toBe(false);
    client.send('b'); // a byte now and then does not help
    await clock.sleep(2_000);
    expect(client.isCut).toBe(true);
    expect(rig.metrics.get('closed_total half-command')).toBe(1);
    expect(rig.facts.clients.size).toBe(0);
  }),
);

test(
  'a client that sends whole commands slowly stays, whatever is incomplete in between',
  inWorld('slow', async ({ clock }) => {
    const rig = new SessionRig(clock);
    const client = rig.connect();
    client.send('EC');
    for (let round = 0; round < 20; round += 1) {
      await clock.sleep(6_000);
      client.send('HO a\r\nEC');
    }
    expect([client.isCut, rig.ran.length]).toEqual([false, 20]);
  }),
);

test(
  'S10 an unauthenticated client is cut after ten seconds, one that has authenticated is not',
  inWorld('unauthenticated', async ({ clock }) => {
    const rig = new SessionRig(clock, { hasPassword: true });
    rig.commands.set('AUTH', ({ client, reply }) => {
      client.isAuthenticated = true;
      reply.simple('OK');
    });
    const [unknown, known] = [rig.connect(), rig.connect()];
    known.send('AUTH\r\n');
    await clock.sleep(9_000);
    unknown.send('ECHO a\r\n');
    expect(unknown.isCut).toBe(false);
    await clock.sleep(2_500);
    expect([unknown.isCut, known.isCut]).toEqual([true, false]);
    expect(rig.metrics.get('closed_total unauthenticated')).toBe(1);
  }),
);

test(
  'an idle client is cut after the time that is set, and one whose command waits is not',
  inWorld('idle', async ({ clock }) => {
    const rig = new SessionRig(clock);
    rig.facts.idleTimeoutSeconds = 60;
    rig.commands.set('BLOCK', () => clock.sleep(300_000));
    const [idle, busy, blocked] = [rig.connect(), rig.connect(), rig.connect()];
    blocked.send('BLOCK\r\n');
    for (let minute = 0; minute < 4; minute += 1) {
      await clock.sleep(30_000);
      busy.send('ECHO a\r\n');
      if (minute === 0) expect(idle.isCut).toBe(false);
    }
    expect([idle.isCut, busy.isCut, blocked.isCut]).toEqual([true, false, false]);
    expect(rig.metrics.get('closed_total idle')).toBe(1);
  }),
);

test(
  'S10 a client that leaves much unread for a minute is cut, and one that catches up is not',
  inWorld('reader', async ({ clock }) => {
    const rig = new SessionRig(clock);
    const bytes = Buffer.alloc(setsLimits.outputSlowBytes.value + 1);
    rig.commands.set('HUGE', ({ reply }) => reply.raw(bytes));
    const [slow, late] = [rig.connect(), rig.connect()];
    for (const client of [slow, late]) {
      client.isStopped = true;
      client.send('ECHO a\r\n');
      await clock.sleep(10);
      client.send('HUGE\r\n');
    }
    await clock.sleep(58_000);
    late.takeMore('all');
    expect(slow.isCut).toBe(false);
    await clock.sleep(4_000);
    expect([slow.isCut, late.isCut]).toEqual([true, false]);
    expect(rig.metrics.get('closed_total slow-reader')).toBe(1);
  }),
);

test(
  'S10 a client that reads nothing of a reply in progress is disconnected after a minute',
  inWorld('stream', async ({ clock }) => {
    const rig = new SessionRig(clock);
    let end: unknown;
    rig.commands.set('STREAM', async ({ reply }) => {
      try {
        for (;;) {
          reply.bulkText('x'.repeat(100_000));
          await reply.room();
        }
      } catch (thrown) {
        end = thrown;
      }
    });
    const client = rig.connect();
    client.isStopped = true;
    client.send('STREAM\r\n');
    await clock.sleep(55_000);
    expect(client.isCut).toBe(false);
    await clock.sleep(10_000);
    expect(client.isCut).toBe(true);
    expect(end).toMatchObject({ code: 'closed' });
  }),
);

test(
  'a client that reads a large reply steadily is not disconnected, however long it takes',
  inWorld('steady', async ({ clock }) => {
    const rig = new SessionRig(clock);
    let isAnswered = false;
    rig.commands.set('STREAM', async ({ reply }) => {
      for (let part = 0; part < 100; part += 1) {
        reply.bulkText('x'.repeat(100_000));
        await reply.room();
      }
      isAnswered = true;
    });
    const client = rig.connect();
    client.isStopped = true;
    client.send('STREAM\r\n');
    const startMs = clock.monotonicMs();
    while (!isAnswered && !client.isCut) {
      await clock.sleep(10_000);
      client.takeMore('one');
    }
    expect(client.isCut).toBe(false);
    expect(clock.monotonicMs() - startMs).toBeGreaterThan(120_000);
  }),
);

test(
  'S10 when all together hold too much, those with most are cut',
  inWorld('room', async ({ clock }) => {
    const rig = new SessionRig(clock, { heldBytesMax: 1_000_000 });
    rig.commands.set('LARGE', ({ args, reply }) => reply.raw(Buffer.alloc(Number(args.text(1)))));
    const [unread, halfSent, small, quick] = Array.from({ length: 4 }, () => rig.connect());
    for (const client of [unread, small]) {
      if (client) client.isStopped = true;
      client?.send('ECHO a\r\n');
    }
    await clock.sleep(10);
    unread?.send('LARGE 700000\r\n');
    small?.send('LARGE 200000\r\n');
    quick?.send('LARGE 900000\r\n');
    await clock.sleep(2_000);
    expect(rig.facts.clients.size).toBe(4);
    halfSent?.send(`*2\r\n$4\r\nECHO\r\n$500000\r\n${'x'.repeat(400_000)}`);
    await clock.sleep(2_000);
    expect([unread, halfSent, small, quick].map((client) => client?.isCut)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(rig.metrics.get('closed_total no-room')).toBe(1);
  }),
);

test(
  'one busy client does not keep others waiting',
  inWorld('turns', async ({ clock }) => {
    const rig = new SessionRig(clock);
    const [busy, other] = [rig.connect(), rig.connect()];
    const pushed = busy.push('BUSY\r\n'.repeat(5_000));
    other.send('OTHER\r\n');
    await pushed;
    expect(rig.ran.indexOf('OTHER')).toBe(setsLimits.turnCommandsMax.value);
    expect(rig.ran.length).toBe(5_001);
  }),
);
