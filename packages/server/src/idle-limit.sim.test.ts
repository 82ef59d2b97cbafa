// An idle connection is closed after the timeout; bytes in either direction keep it open.
import type { Connection } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { IdleLimitedConnection } from './idle-limit.js';

async function pair({ clock, network }: SimulatedBody, idleTimeoutMs: number) {
  let idleCount = 0;
  const onIdle = (): void => {
    idleCount += 1;
  };
  let accepted: Connection | undefined;
  const listener = await network.listen({ host: 'test', port: 1 }, (connection) => {
    accepted = new IdleLimitedConnection({ connection, clock }, { idleTimeoutMs, onIdle });
  });
  const peer = await network.connect(listener.address);
  while (accepted === undefined) await clock.sleep(1);
  return { peer, limited: accepted, idleCount: () => idleCount };
}

test('an idle connection is closed once, and no timer is left', () =>
  runInSimulation('silence', async (world) => {
    const { peer, limited, idleCount } = await pair(world, 10_000);
    const startMs = world.clock.monotonicMs();
    expect((await limited.closed).kind).toBe('reset');
    const tookMs = world.clock.monotonicMs() - startMs;
    expect(tookMs).toBeGreaterThan(9_900);
    expect(tookMs).toBeLessThan(10_100);
    await world.clock.sleep(60_000);
    expect(idleCount()).toBe(1);
    peer.destroy();
  }));

test('received bytes keep a connection open', () =>
  runInSimulation('reads', async (world) => {
    const { peer, limited, idleCount } = await pair(world, 10_000);
    const reader = limited.incoming[Symbol.asyncIterator]();
    for (let beat = 0; beat < 10; beat += 1) {
      await world.clock.sleep(6_000);
      peer.write(new Uint8Array([beat]));
      expect((await reader.next()).done).toBe(false);
    }
    expect(idleCount()).toBe(0);
    limited.destroy();
  }));

test('sent bytes keep a connection open', () =>
  runInSimulation('writes', async (world) => {
    const { peer, limited, idleCount } = await pair(world, 10_000);
    for (let beat = 0; beat < 10; beat += 1) {
      await world.clock.sleep(6_000);
      limited.write(new Uint8Array([beat]));
    }
    expect(idleCount()).toBe(0);
    peer.destroy();
    limited.destroy();
  }));

test('0 disables the timeout', () =>
  runInSimulation('for ever', async (world) => {
    const { peer, limited, idleCount } = await pair(world, 0);
    await world.clock.sleep(50 * 60_000);
    expect(idleCount()).toBe(0);
    limited.destroy();
    peer.destroy();
  }));
