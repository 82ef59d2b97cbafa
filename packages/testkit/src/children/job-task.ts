// A process that is one task of a job: it keeps its lease with heartbeats, and writes on request.
//
//   node job-task.js '{"address":"127.0.0.1:7401","jobId":"nightly","taskIndex":0,"numTasks":2,"ttlMs":1000}'
//
// Each line of standard input is a tag to write. Each write gives one line of JSON: `{"version":1}`, or the code of
// the refusal. The first line says that the task is claimed. It releases the task and exits when its standard input
// ends.
import { createInterface } from 'node:readline';
import { createJobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';

const { address, ttlMs, ...target } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly address: string;
  readonly jobId: string;
  readonly taskIndex: number;
  readonly numTasks: number;
  readonly ttlMs: number;
};
await using store = createRemoteJobStore({ address });
await using manager = await createJobManager({ store, ...target }, { lease: { ttlMs } });
say({ claimed: target.taskIndex });

for await (const tag of createInterface({ input: process.stdin })) {
  try {
    const { state } = await manager.setStarted({ tag });
    say({ version: state.version });
  } catch (thrown) {
    say({ code: SynclineError.from(thrown).code });
  }
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
