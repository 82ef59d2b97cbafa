// Manages the nodes of a local cluster. If a node dies, it is reported and the others keep running; if one fails to
// start, all of them are stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, SynclineError } from '@syncline/kernel';
import type { NodeEnd, NodeProcess } from './node-process.js';

export class LocalCluster {
  readonly #nodes: readonly NodeProcess[];

  constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes;
  }

  get nodes(): readonly NodeProcess[] {
    return this.#nodes;
  }

  /** Resolves when every node is up; rejects as soon as one ends first. */
  async started(): Promise<void> {
    await Promise.all(
      this.#nodes.map((node) =>
        Promise.race([
          node.started,
          node.ended.then((end) => {
            throw startFailure(node, end);
          }),
        ]),
      ),
    );
  }

  /** Calls back for each node that exits. Resolves when all have exited. */
  async watch(onEnd: (node: NodeProcess, how: string) => void): Promise<void> {
    await Promise.all(this.#nodes.map(async (node) => onEnd(node, describeEnd(await node.ended))));
  }

  /** Kills every node. */
  kill(): void {
    for (const node of this.#nodes) node.stop('SIGKILL');
  }

  /** Asks every node to stop; those still running after the grace period are killed. */
  async stop(graceMs: number): Promise<void> {
    const allEnded = Promise.all(this.#nodes.map(({ ended }) => ended));
    for (const node of this.#nodes) node.stop('SIGTERM');
    const timer = new AbortController();
    const late = sleep(graceMs, 'late', { signal: timer.signal }).catch(() => 'in time');
    if ((await Promise.race([allEnded, late])) === 'late') this.kill();
    await allEnded;
    timer.abort();
  }
}

function describeEnd({ code, signal }: NodeEnd): string {
  return signal ?? `exit code ${code}`;
}

/** Makes our exit code that of the node. */
const CODE_BY_EXIT: Readonly<Record<number, ErrorCode>> = { 2: 'invalid-argument', 5: 'conflict' };

function startFailure(node: NodeProcess, end: NodeEnd): SynclineError {
  const why = node.lastFailure === '' ? describeEnd(end) : node.lastFailure;
  const code = CODE_BY_EXIT[end.code ?? 0] ?? 'closed';
  return new SynclineError(code, `node ${node.nodeId} did not start: ${why}`);
}
