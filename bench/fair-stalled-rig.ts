// One server with many streams: some are read here, others in a process that can be frozen, so that its clients do
// not read.
import { fileURLToPath } from 'node:url';
import type { CellDeltas } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { startProcess } from '@syncline/testkit';
import { createBatches, deltasOf } from './fair-delta-batches.js';
import { DeltaStream } from './fair-delta-stream.js';
import { startStateServer } from './fair-state-server.js';

const OPEN_TIMEOUT_MS = 60_000;
/** Streams that are opened together. */
const OPEN_AT_ONCE = 50;
/** A broadcast of these cells has about 14 kB. */
const LARGE_BATCH = 500;
const SMALL_BATCH = 10;

export interface StalledRigOptions {
  readonly readers: number;
  /** Streams in the other process. */
  readonly others: number;
}

export interface StalledRig extends AsyncDisposable {
  /** From now on the other process reads nothing. */
  freeze(): void;
  /** Large messages, one after another. */
  flood(messages: number): Promise<void>;
  /** Small messages, each sent when all readers have the previous one. Returns each latency at each reader. */
  latenciesMs(messages: number): Promise<readonly number[]>;
  /** The memory of the server's process. */
  serverBytes(): Promise<number>;
}

export async function openStalledRig(options: StalledRigOptions): Promise<StalledRig> {
  const { readers, others } = options;
  const server = await startStateServer();
  const remote = grpcRemote({ address: server.address, tracker: 'bench' });
  let onReceived = () => {};
  const writer = new DeltaStream(remote);
  await writer.opened;
  const streams = [writer];
  while (streams.length <= readers) {
    const count = Math.min(OPEN_AT_ONCE, readers + 1 - streams.length);
    const opened = Array.from({ length: count }, () => new DeltaStream(remote, () => onReceived()));
    await Promise.all(opened.map((stream) => stream.opened));
    streams.push(...opened);
  }
  const program = fileURLToPath(new URL('./fair-idle-clients.js', import.meta.url));
  const child = await startProcess({
    name: 'idle clients',
    command: process.execPath,
    args: [program, server.address, String(others)],
  });
  await child.waitForLine((line) => (line === 'open' ? true : undefined), OPEN_TIMEOUT_MS);
  return {
    freeze: () => child.signal('SIGSTOP'),
    async flood(messages) {
      for (const deltas of batchesOf(messages, LARGE_BATCH)) await writer.send(deltas);
    },
    async latenciesMs(messages) {
      const latencies: number[] = [];
      for (const deltas of batchesOf(messages, SMALL_BATCH)) {
        const sentMs = performance.now();
        let heardCount = 0;
        await new Promise<void>((resolve, reject) => {
          onReceived = () => {
            latencies.push(performance.now() - sentMs);
            heardCount += 1;
            if (heardCount === readers) resolve();
          };
          writer.send(deltas).catch(reject);
        });
      }
      return latencies;
    },
    serverBytes: () => residentBytes(server.node.url('http')),
    async [Symbol.asyncDispose]() {
      for (const stream of streams) stream.close();
      await child.kill();
      await server[Symbol.asyncDispose]();
    },
  };
}

function batchesOf(count: number, size: number): readonly CellDeltas[] {
  return (createBatches(count, size)[0] ?? []).map(deltasOf);
}

async function residentBytes(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const bytes = Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
  if (!(bytes > 0)) throw new Error('/metrics does not contain process_resident_memory_bytes');
  return bytes;
}
