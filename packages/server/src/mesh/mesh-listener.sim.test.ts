// Simulated mesh connections: passed on, counted, and closed at the end.
import { type Connection, silentMetrics } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { LimitWatch } from '../limit-watch.js';
import { openMeshListener } from './mesh-listener.js';

async function listen(world: SimulatedBody) {
  const accepted: Connection[] = [];
  const end = new AbortController();
  const { clock, logger, network } = world;
  const listener = await openMeshListener(
    {
      logger,
      metrics: silentMetrics,
      limits: new LimitWatch({ clock, logger, metrics: silentMetrics }),
      createNetwork: () => network,
      mesh: { accept: (connection) => accepted.push(connection) },
      ended: end.signal,
    },
    { address: { host: 'test', port: 7403 }, connectionsMax: 2 },
  );
  const dial = () => network.connect({ host: 'test', port: listener.address.port });
  return { listener, dial, accepted, end };
}

test('a connection is passed to the mesh with all its bytes', () =>
  runInSimulation('hand-over', async (world) => {
    const { dial, accepted } = await listen(world);
    const peer = await dial();
    peer.write(new Uint8Array([1, 2, 3]));
    await world.clock.sleep(1_000);
    const [connection] = accepted;
    expect(connection?.remote.host).toBe(peer.local.host);
    for await (const chunk of connection?.incoming ?? []) {
      expect([...chunk]).toEqual([1, 2, 3]);
      break;
    }
    connection?.end();
    for await (const _ of peer.incoming);
    peer.end();
    expect(await connection?.closed).toEqual({ kind: 'ended' });
  }));

test('a connection above the limit is closed, and idle ones are left to the mesh', () =>
  runInSimulation('limits', async (world) => {
    const { dial, accepted } = await listen(world);
    const startMs = world.clock.monotonicMs();
    const [one, two] = [await dial(), await dial()];
    const three = await dial();
    await three.closed;
    expect(world.clock.monotonicMs() - startMs).toBeLessThan(5_000);
    await world.clock.sleep(600_000);
    expect(accepted).toHaveLength(2);
    for (const connection of accepted) expect(connection.write(new Uint8Array([7]))).toBe(true);
    one.destroy();
    two.destroy();
  }));

test('a drain stops accepting connections but keeps open ones, which are cut at the end', () =>
  runInSimulation('drain', async (world) => {
    const { dial, listener, accepted, end } = await listen(world);
    const peer = await dial();
    await listener.drain(new AbortController().signal);
    await expect(dial()).rejects.toMatchObject({ code: 'unavailable' });
    accepted[0]?.write(new Uint8Array([7]));
    for await (const chunk of peer.incoming) {
      expect([...chunk]).toEqual([7]);
      break;
    }
    const startMs = world.clock.monotonicMs();
    end.abort();
    expect((await peer.closed).kind).toBe('reset');
    expect(world.clock.monotonicMs() - startMs).toBeLessThan(5_000);
  }));
