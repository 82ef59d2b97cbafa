// Three nodes on the simulated network, with the smallest slice there is.
import { actorId, VersionVector } from '@syncline/kernel';
import { Simulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { Mesh } from './mesh.js';
import { createMesh } from './open-mesh.js';
import { AddOnlySlice, type SliceDisk } from './testing/add-only-slice.js';

const names = ['n1', 'n2', 'n3'];
const peers = names.map((host, index) => ({ nodeId: index + 1, host, port: 7403 }));

test('operations of three nodes reach all of them, and are acknowledged', async () => {
  const simulation = new Simulation({ seed: 1 });
  const slices: AddOnlySlice[] = [];
  const meshes: Mesh[] = [];
  const disks = names.map((): SliceDisk => ({ log: [], version: new VersionVector() }));
  for (const [index, name] of names.entries()) {
    const disk = disks[index];
    if (disk === undefined) continue;
    const node = simulation.addNode(name, async (ports) => {
      const nodeId = index + 1;
      const mesh = createMesh(ports, { nodeId, clusterId: 'test', peers, secret: 'secret' });
      const slice = new AddOnlySlice(ports.clock, disk, {
        actor: actorId(nodeId, 0),
        commitMs: () => 1,
      });
      slice.channel = mesh.channel('test', slice);
      await ports.network.listen({ host: '0.0.0.0', port: 7403 }, (each) => mesh.accept(each));
      mesh.open(0);
      slices[index] = slice;
      meshes[index] = mesh;
    });
    node.start();
  }
  await simulation.run(async () => {
    await simulation.clock.sleep(500);
    for (let round = 0; round < 20; round += 1) {
      for (const slice of slices) slice.add(1 + (round % 3), Buffer.from(`${round}`));
      await simulation.clock.sleep(7);
    }
    const { signal } = new AbortController();
    const applied = await slices[0]?.channel?.whenApplied(38, 2, signal);
    expect(applied).toBe(2);
    await simulation.clock.sleep(100);
    const [first, ...others] = disks.map(({ version }) => version.toString());
    expect(first).toBe('1.0:39,2.0:39,3.0:39');
    for (const other of others) expect(other).toBe(first);
    for (const mesh of meshes) {
      for (const status of mesh.peers()) {
        expect(status).toMatchObject({
          state: 'connected',
          lagOperations: 0,
          unackedOperations: 0,
        });
        expect(status).toMatchObject({ pendingOperations: 0, retries: 0, reconnects: 0 });
      }
    }
    await Promise.all(meshes.map((mesh) => mesh.close()));
    expect(simulation.nodes.map((node) => node.pendingTimersCount)).toEqual([0, 0, 0]);
    expect(simulation.nodes.map((node) => node.connectionsCount)).toEqual([0, 0, 0]);
  });
});
