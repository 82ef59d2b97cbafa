// Fair throttling under simulation: instances that share their cells through one state service, and what must
// hold under faults and afterwards.
import { assert, type Clock } from '@syncline/kernel';
import { crashes } from '../simulation/faults/crashes.js';
import { fullDisks } from '../simulation/faults/full-disks.js';
import { partitions } from '../simulation/faults/partitions.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { roughNetwork } from '../simulation/faults/rough-network.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { checkIdleDecay, seeView } from './checks/idle-decay.js';
import { differenceOf } from './checks/views-converge.js';
import { ClientProcess } from './client-process.js';
import { FairCluster, SERVICE_NODE } from './fair-cluster.js';
import { cellsMax, type FairPlan, planFair } from './fair-plan.js';
import { isPlantedFairBug, PLANTED_FAIR_BUGS, type PlantedFairBug } from './planted-bug.js';
import { METRIC_PROBES } from './probing-metrics.js';
import { ServiceProcess } from './service-process.js';
import { hasWallSteps, wallSteps } from './wall-steps.js';

/** Until a dead connection is detected and a stream reopened. */
const RECOVER_MS = 18_000;
/** By then, seeds from before the clocks were set back are gone. */
const STEPPED_WINDOWS = 6;
const BURST_REQUESTS = 5;
const BURST_MS = 400;
/** Round trips of a calm network, with one message in flight at a time. */
const ROUND_TRIPS_MS = 100;
const IDLE_MS = 3_000;

export const fairWorkload: WorkloadEntry = {
  name: 'fair',
  faults: [crashes, fullDisks, partitions, pauses, powerLosses, roughNetwork, slowDisks, wallSteps],
  bugs: PLANTED_FAIR_BUGS,
  probes: [...METRIC_PROBES, 'fair/restored', 'fair/stream-replaced'],
  create(bug) {
    assert(bug === undefined || isPlantedFairBug(bug), `there is no bug ${bug}`);
    return new FairWorkload(bug);
  },
};

class FairWorkload implements Workload {
  readonly name = 'fair';
  readonly #bug: PlantedFairBug | undefined;
  #cluster: FairCluster | undefined;
  #service: ServiceProcess | undefined;
  readonly #clients = new Map<string, ClientProcess>();

  constructor(bug: PlantedFairBug | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const plan = planFair(random.fork('plan'));
    const cluster = new FairCluster(simulation, plan, this.#bug);
    this.#cluster = cluster;
    const { skewMs } = plan;
    const service = simulation.addNode(
      SERVICE_NODE,
      async (ports) => {
        this.#service = undefined;
        this.#service = await ServiceProcess.start(ports, cluster, this.#clients);
      },
      { skewMs },
    );
    targets.push(service);
    for (const client of plan.clients) {
      const boot = (ports: ConstructorParameters<typeof ClientProcess>[0]) => {
        const process = new ClientProcess(ports, cluster, client);
        this.#clients.set(client.node, process);
        return process.run();
      };
      targets.push(simulation.addNode(client.node, boot, { skewMs: client.skewMs }));
    }
  }

  async start({ simulation, targets }: WorkloadContext): Promise<void> {
    const cluster = this.#running();
    for (const node of targets) node.start();
    await simulation.clock.sleep(cluster.plan.runMs);
    cluster.isLoading = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const cluster = this.#running();
    const { plan } = cluster;
    assert(this.#clients.size === plan.clients.length, 'a client did not start');
    const windowMs = plan.service.defaultWindowMs;
    const isStepped = hasWallSteps(simulation);
    await simulation.clock.sleep(RECOVER_MS + (isStepped ? STEPPED_WINDOWS * windowMs : 0));
    await this.#checkConverged('after the faults', simulation.clock);
    for (let index = 0; index < BURST_REQUESTS; index += 1) {
      for (const client of this.#clients.values()) client.request();
      await simulation.clock.sleep(BURST_MS / BURST_REQUESTS);
    }
    await simulation.clock.sleep(settleMsOf(plan));
    await this.#checkConverged('without faults', simulation.clock);
    await this.#checkDecay(simulation.clock);
  }

  metrics(): Readonly<Record<string, number>> {
    return { changes: this.#cluster?.changes.count ?? 0 };
  }

  async #checkConverged(when: string, clock: Clock): Promise<void> {
    const service = this.#service;
    const clients = [...this.#clients.values()];
    assert(service !== undefined, 'the service did not come back');
    // A tracker that has just entered a window waits for the snapshot of its new structure.
    const windowsOf = () => clients.map(({ tracker }) => tracker.status().seeds.main);
    let windows = '';
    while (windows !== windowsOf().join()) {
      windows = windowsOf().join();
      await clock.sleep(ROUND_TRIPS_MS);
    }
    for (const client of clients) {
      const difference = differenceOf(client, service);
      assert(difference === undefined, `F6: views do not converge ${when}: ${difference}`);
    }
  }

  async #checkDecay(clock: Clock): Promise<void> {
    const before = Array.from(this.#clients.values(), (client) => ({
      client,
      view: seeView(client),
    }));
    await clock.sleep(IDLE_MS);
    for (const { client, view } of before) checkIdleDecay(client, view, IDLE_MS);
  }

  #running(): FairCluster {
    assert(this.#cluster !== undefined, 'the workload is set up');
    return this.#cluster;
  }
}

/** F6  Two flush intervals, two broadcast intervals (more if rounds are limited) and a round trip. */
function settleMsOf({ clients, service }: FairPlan): number {
  const { broadcastIntervalMs, broadcastBudgetCells } = service;
  const flushMs = Math.max(...clients.map((client) => client.flushIntervalMs));
  const cells = Math.max(...clients.map(({ shape }) => cellsMax(shape)));
  const roundsCount = broadcastBudgetCells === 0 ? 1 : Math.ceil(cells / broadcastBudgetCells);
  return 2 * flushMs + 2 * broadcastIntervalMs * roundsCount + ROUND_TRIPS_MS;
}
