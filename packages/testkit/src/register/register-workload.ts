// The register under simulation: three nodes, four clients, and what must hold in the end.
import { assert } from '@syncline/kernel';
import { allFaults } from '../simulation/faults/all-faults.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { checkEachUpdateCountsOnce } from './checks/each-update-counts-once.js';
import { differenceBetween } from './checks/nodes-converge.js';
import { checkNothingAcknowledgedIsLost } from './checks/nothing-acknowledged-is-lost.js';
import type { RegisterView } from './checks/register-view.js';
import { isPlantedBug, PLANTED_BUGS, type PlantedBug } from './planted-bug.js';
import { RegisterClient } from './register-client.js';
import type { Update } from './register-core.js';
import { RegisterHistory } from './register-history.js';
import { RegisterNode } from './register-node.js';

const NODES = ['n1', 'n2', 'n3'] as const;
const CLIENTS = ['c1', 'c2', 'c3', 'c4'] as const;
const OPERATIONS_PER_CLIENT = 15;
const PORT = 7000;
const CONVERGE_MS_MAX = 120_000;
const POLL_MS = 500;

export const registerWorkload: WorkloadEntry = {
  name: 'register',
  faults: allFaults,
  bugs: PLANTED_BUGS,
  probes: [
    'register/asked-again',
    'register/disk-full',
    'register/repeated-request',
    'register/resumed',
  ],
  create(bug) {
    assert(bug === undefined || isPlantedBug(bug), `there is no bug ${bug}`);
    return new RegisterWorkload(bug);
  },
};

class RegisterWorkload implements Workload {
  readonly name = 'register';
  readonly #bug: PlantedBug | undefined;
  readonly #history = new RegisterHistory();
  /** The running process of each node, if it has come up. */
  readonly #nodes = new Map<string, RegisterNode>();

  constructor(bug: PlantedBug | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, targets }: WorkloadContext): Promise<void> {
    for (const name of NODES) {
      const peers = NODES.filter((peer) => peer !== name);
      const node = simulation.addNode(name, async (ports) => {
        this.#nodes.delete(name);
        const options = { port: PORT, peers, bug: this.#bug };
        this.#nodes.set(name, await RegisterNode.start(ports, options));
      });
      targets.push(node);
      node.start();
    }
  }

  async start({ simulation }: WorkloadContext): Promise<void> {
    const clients = CLIENTS.map(
      (name, index) =>
        new Promise<void>((resolve) => {
          const host = NODES[index % NODES.length] ?? NODES[0];
          const options = { host, port: PORT, operations: OPERATIONS_PER_CLIENT };
          const client = simulation.addNode(name, async (ports) => {
            await new RegisterClient({ ports, history: this.#history }, options).run();
            resolve();
          });
          client.start();
        }),
    );
    await Promise.all(clients);
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const deadlineMs = simulation.nowMs + CONVERGE_MS_MAX;
    let difference: string | undefined;
    do {
      assert(simulation.nowMs < deadlineMs, `the nodes do not converge: ${difference}`);
      await simulation.clock.sleep(POLL_MS); // first of all, so that those that were down come up
      difference = differenceBetween(
        NODES.map((node) => ({ node, state: this.#nodes.get(node)?.store.state })),
      );
    } while (difference !== undefined);
    const views = await this.#views();
    checkNothingAcknowledgedIsLost(this.#history, views);
    checkEachUpdateCountsOnce(this.#history, views);
  }

  metrics(): Readonly<Record<string, number>> {
    const { acknowledgements, readings } = this.#history;
    return { acknowledged: acknowledgements.length, reads: readings.length };
  }

  /** Of the nodes that are up. */
  async #views(): Promise<readonly RegisterView[]> {
    const views: RegisterView[] = [];
    for (const [node, { store }] of this.#nodes) {
      const updates: Update[] = [];
      for (const origin of NODES) {
        for await (const update of store.updatesAfter(origin, 0)) updates.push(update);
      }
      views.push({ node, state: store.state, updates });
    }
    return views;
  }
}
