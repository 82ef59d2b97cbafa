// Runs workers as threads of this process. Each thread imports the module of the pipeline, since closures cannot be
// sent. Every pair of threads has its own channel, so items do not pass through the main thread.
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { SynclineError } from '@syncline/kernel';
import type { Pipeline } from '../pipeline/define.js';
import { invalid } from '../pipeline/graph.js';
import type { FromWorker } from './messages.js';
import type { SpawnWorkers } from './workers-engine.js';

/** Passed to a thread when it is created. */
export interface ThreadData {
  readonly kind: 'syncline-streams-worker';
  readonly module: string;
  readonly index: number;
  /** Ports to the other workers, by worker number. */
  readonly ports: ReadonlyMap<number, MessagePort>;
}

export function spawnThreads(module: URL): SpawnWorkers {
  return (count, { receive, lost }) => {
    const ports = Array.from({ length: count }, () => new Map<number, MessagePort>());
    for (let left = 0; left < count; left += 1) {
      for (let right = left + 1; right < count; right += 1) {
        const { port1, port2 } = new MessageChannel();
        ports[left]?.set(right, port1);
        ports[right]?.set(left, port2);
      }
    }
    const threads = ports.map((own, index) => {
      const data: ThreadData = {
        kind: 'syncline-streams-worker',
        module: module.href,
        index,
        ports: own,
      };
      const thread = new Worker(new URL('./worker-thread.js', import.meta.url), {
        workerData: data,
        transferList: [...own.values()],
      });
      let reason = '';
      thread.on('message', (message: FromWorker) => receive(index, message));
      thread.on('error', (error) => {
        reason = error instanceof Error ? error.message : String(error);
      });
      thread.on('exit', (code) => lost(index, reason || `exit code ${code}`));
      return thread;
    });
    return {
      post: (worker, message) => threads[worker]?.postMessage(message),
      async close() {
        await Promise.all(threads.map((thread) => thread.terminate()));
      },
    };
  };
}

/** The one pipeline that a module exports. */
export async function importPipeline(module: URL): Promise<Pipeline> {
  const exported = (await import(module.href)) as Readonly<Record<string, unknown>>;
  const found = new Set(Object.values(exported).filter((value) => isPipeline(value)));
  const [pipeline] = found;
  if (pipeline !== undefined && found.size === 1) return pipeline;
  throw invalid(
    'pipeline',
    `${module.href} exports ${found.size} pipelines; it must export exactly one, made with definePipeline`,
  );
}

function isPipeline(value: unknown): value is Pipeline {
  const { name, build } = (value ?? {}) as Partial<Pipeline>;
  return typeof name === 'string' && typeof build === 'function';
}

/** Throws `bad-record` if an item cannot be copied to another thread. */
export function postItems(port: MessagePort, message: unknown): void {
  try {
    port.postMessage(message);
  } catch (thrown) {
    if (!(thrown instanceof Error) || thrown.name !== 'DataCloneError') throw thrown;
    throw new SynclineError(
      'bad-record',
      `an item cannot be sent to the worker that owns its key: ${thrown.message}. ` +
        'Items that pass keyBy must be plain values, without functions.',
      { cause: thrown },
    );
  }
}
