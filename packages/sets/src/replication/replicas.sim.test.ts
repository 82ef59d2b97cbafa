// Whole nodes over a mesh that loses, doubles and reorders: what one missed the others give it.
import {
  roughLink,
  type SimNode,
  type Simulation,
  Simulation as World,
} from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from '../local-sets.js';
import type { Sets } from '../sets.js';
import { FakeMesh, type FakeMessage } from '../testing/fake-mesh.js';

const bytes = (text: string) => Buffer.from(text);

class Cluster {
  readonly simulation: Simulation;
  readonly sets = new Map<number, Sets>();
  readonly #meshes = new Map<number, FakeMesh>();
  readonly nodes = new Map<number, SimNode>();
  constructor(seed: number, ids: readonly number[]) {
    this.simulation = new World({ seed });
    const { simulation } = this;
    for (const id of ids) {
      const node = simulation.addNode(`n${id}`, async (ports) => {
        const peers = ids.filter((peer) => peer !== id);
        const mesh = new FakeMesh(
          {
            ...ports,
            send: (peer, message) => this.#link(id, peer).send(message),
          },
          { nodeId: id, peers, pendingMax: 4 },
        );
        this.#meshes.set(id, mesh);
        this.sets.delete(id);
        const sets = await openSets({ ...ports, mesh }, { nodeId: id, clusterId: 'test' });
        this.sets.set(id, sets);
      });
      this.nodes.set(id, node);
    }
  }
  readonly #links = new Map<string, ReturnType<Simulation['messageLink']>>();
  #link(from: number, to: number) {
    const key = `${from}>${to}`;
    const [a, b] = [this.nodes.get(from), this.nodes.get(to)];
    if (a === undefined || b === undefined) throw new Error('no node');
    const link =
      this.#links.get(key) ??
      this.simulation.messageLink(a, b, (message) => {
        this.#meshes.get(to)?.receive(from, message as FakeMessage);
      });
    this.#links.set(key, link);
    return link;
  }
}

test('nodes converge although most operations get lost', async () => {
  const cluster = new Cluster(1, [1, 2, 3]);
  const { simulation } = cluster;
  await simulation.run(async () => {
    for (const node of cluster.nodes.values()) node.start();
    await simulation.clock.sleep(2_000);
    simulation.network.adjust({ ...roughLink, lossProbability: 0.3 });
    for (let n = 0; n < 60; n += 1) {
      const sets = cluster.sets.get(1 + (n % 3)) as Sets;
      const set = bytes(`s${n % 2}`);
      if (n % 4 === 3) await sets.remove(set, [bytes(`m${n % 7}`), bytes(`m${n % 5}`)]);
      else await sets.add(set, [bytes(`m${n % 7}`), bytes(`m${n % 11}`)]);
      await simulation.clock.sleep(50);
    }
    simulation.calm();
    await simulation.clock.sleep(25_000);
    const shown = [...cluster.sets.values()].map((sets) => {
      const { version, liveDots, xor } = sets.digest();
      return `${version.toString()} ${liveDots} ${xor.join()}`;
    });
    expect(new Set(shown).size).toBe(1);
  });
});
