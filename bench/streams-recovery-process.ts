// A separate process for the recovery benches: a pipeline that counts JSON lines per key.
//
// It stops when it has counted the records of its plan, and sends its parent a message once the output of the last
// one is visible.
import { join } from 'node:path';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  numberCodec,
  start,
} from '@syncline/streams';

export const RECOVERY_PROGRAM = import.meta.filename;

export interface RecoveryPlan {
  readonly directory: string;
  readonly state: 'memory' | 'embedded';
  /** Stops when it has counted this many records. */
  readonly records: number;
}

interface Line {
  readonly user: string;
}

async function count({ directory, state, records }: RecoveryPlan): Promise<void> {
  const pipeline = definePipeline('recovery', (p) => {
    p.source(jsonlSource<Line>({ uid: 'in', files: [join(directory, 'in.jsonl')], follow: true }))
      .keyBy((line) => line.user)
      .process({
        uid: 'counts',
        state: { count: aggregate(numberCodec) },
        onItem(line: Line, ctx) {
          const total = ctx.state.count.update((before = 0) => before + 1);
          if (total !== 1) ctx.emit({ user: line.user, total });
        },
      })
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });
  const dir = join(directory, 'state');
  const run = await start(pipeline, { dir, state, checkpoint: { everyMs: 50 } });
  for await (const checkpoint of run.checkpoints()) {
    if (checkpoint.records < records) continue;
    process.send?.('visible');
    break;
  }
  await run.stop();
}

if (process.argv[1] === RECOVERY_PROGRAM) {
  await count(JSON.parse(process.argv[2] ?? '{}') as RecoveryPlan);
  process.disconnect?.();
}
