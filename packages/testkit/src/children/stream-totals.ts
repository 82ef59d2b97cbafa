// The pipeline of the program stream-pipeline.ts: running totals per user, from files, Redis or NATS to files or
// Redis. It is slowed down a little, so that kills find it in every state. A separate module, so that worker
// threads can import it.
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import {
  aggregate,
  definePipeline,
  fileSink,
  type Json,
  jsonlSource,
  numberCodec,
  type SinkFor,
  type Source,
} from '@syncline/streams';
import type { StreamPlan } from '../stream-plan.js';

interface Order {
  readonly user: string;
  readonly amount: number;
}

const plan = JSON.parse(process.env['STREAM_PLAN'] ?? '{}') as StreamPlan;
const source = slowed(await openSource());
const sinks = await openSinks();

export const totals = definePipeline('totals', (p) => {
  const stream = p
    .source(source)
    .keyBy((order) => order.user)
    .process({
      uid: 'totals',
      state: { total: aggregate(numberCodec) },
      onItem(order: Order, context) {
        if (plan.exitOnce !== undefined && order.amount === 0) exitOnce(plan.exitOnce);
        const total = context.state.total.update((sum = 0) => sum + order.amount);
        context.emit({ user: order.user, amount: order.amount, total });
      },
    });
  for (const sink of sinks) stream.to(sink);
});

async function openSource(): Promise<Source<Order>> {
  const { from } = plan;
  switch (from.kind) {
    case 'files':
      return jsonlSource<Order>({ uid: 'in', files: from.files });
    case 'redis': {
      const { redisStreamSource } = await import('@syncline/streams/redis');
      const { url, streams } = from;
      const options = { uid: 'in', url, streams, follow: false, ack: 'trim' } as const;
      return redisStreamSource<Order>(options);
    }
    case 'nats': {
      const { natsSource } = await import('@syncline/streams/nats');
      const { url: servers, streams } = from;
      const options = { uid: 'in', servers, streams, follow: false };
      return natsSource<Order>(options);
    }
  }
}

async function openSinks(): Promise<readonly SinkFor<unknown>[]> {
  const { files, redis } = plan.to;
  const opened: SinkFor<unknown>[] = [];
  if (files !== undefined) opened.push(fileSink({ uid: 'files', dir: files }));
  if (redis !== undefined) {
    const { redisKvSink, redisStreamSink } = await import('@syncline/streams/redis');
    const { url, name } = redis;
    opened.push(redisStreamSink({ uid: 'stream', url, stream: name }));
    opened.push(
      redisKvSink({
        uid: 'sums',
        url,
        prefix: `${name}:`,
        write: ({ value }) => {
          const { user, amount } = value as unknown as Order;
          return [{ kind: 'increment-field', key: 'sums', field: user, by: amount }];
        },
      }),
    );
  }
  return opened;
}

function slowed(inner: Source<Order>): Source<Order> {
  return {
    uid: inner.uid,
    isFinite: inner.isFinite,
    attach: (ports) => inner.attach?.(ports),
    partitions: (signal) => inner.partitions(signal),
    check: (partition, position, signal) => inner.check(partition, position, signal),
    async *read(partition: string, from: Json | null, signal: AbortSignal) {
      for await (const batch of inner.read(partition, from, signal)) {
        await sleep(plan.paceMs);
        yield batch;
      }
    },
    ack: async (positions) => inner.ack?.(positions),
    close: async () => inner.close?.(),
  };
}

/** Ends the thread, unless one has already ended. */
function exitOnce(flag: string): void {
  if (isMainThread || existsSync(flag)) return;
  writeFileSync(flag, '');
  process.exit(3);
}
