// Runs the pipeline of stream-totals.ts to its end.
//
//   node stream-pipeline.js PLAN
//
// PLAN is a `StreamPlan` as JSON. It prints `starting` once it has loaded, `ready` when it has recovered, `epoch N`
// for each checkpoint, and `finished` at the end.
import { start } from '@syncline/streams';
import type { StreamPlan } from '../stream-plan.js';

const text = process.argv[2] ?? '{}';
const plan = JSON.parse(text) as StreamPlan;
process.env['STREAM_PLAN'] = text; // threads get a copy
const [workers = 1] = plan.workers ?? [];
const pipeline = new URL('./stream-totals.js', import.meta.url);
await import(pipeline.href);
process.stdout.write('starting\n');
const run = await start(pipeline, {
  workers,
  dir: plan.dir,
  checkpoint: { everyMs: 50, minPauseMs: 5 },
  keepDeliveredMs: plan.keepDeliveredMs,
});
process.stdout.write('ready\n');
for await (const { epoch } of run.checkpoints()) process.stdout.write(`epoch ${epoch}\n`);
await run.finished;
process.stdout.write('finished\n');
await run[Symbol.asyncDispose]();
