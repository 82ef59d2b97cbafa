// A process with one tracker under load, as a service in front of a scarce resource would be. It reads and
// answers the lines of fair-instance/instance-lines.ts, and ends when its standard input is closed.
//
//   node fair-instance.js '{"via":"grpc","address":"127.0.0.1:7401",...}'
import { createInterface } from 'node:readline';
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { redisRemote } from '@syncline/fair/redis';
import { FairLoad } from '../fair-instance/fair-load.js';
import type {
  InstanceOptions,
  InstanceRequest,
  InstanceStatus,
  InstanceView,
} from '../fair-instance/instance-lines.js';

const SECRET = 'the same in all instances';
/** The precision of the reconnect time. */
const WATCH_MS = 5;

const {
  via,
  address,
  tracker: name,
  decisionsPerSecond,
  options,
} = JSON.parse(process.argv[2] ?? '{}') as InstanceOptions;
const errors: string[] = [];
process.on('uncaughtException', (error) => errors.push(String(error.stack)));

const remote =
  via === 'grpc'
    ? grpcRemote({ address, tracker: name })
    : redisRemote({ url: address, tracker: name });
const tracker = createFairTracker({ remote, secret: SECRET, ...options });
const load = new FairLoad(tracker, decisionsPerSecond);
if (decisionsPerSecond > 0) load.start();

let connectedAtMs: number | undefined;
setInterval(noteConnection, WATCH_MS);

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line) as InstanceRequest))}\n`);
}
await tracker.close();
process.exit();

function answer(request: InstanceRequest): unknown {
  switch (request.ask) {
    case 'status':
      noteConnection(); // `connected` and its time belong to one moment
      return { ...tracker.status(), connectedAtMs, errors } satisfies InstanceStatus;
    case 'fail':
      for (let time = 0; time < request.times; time += 1) {
        tracker.report(request.key, 'failure', { cost: request.cost });
      }
      return request.times;
    case 'peek':
      return viewOf(tracker, request.keys);
    case 'figures':
      return load.figures();
    default:
      return request satisfies never;
  }
}

function noteConnection(): void {
  connectedAtMs = tracker.status().connected ? (connectedAtMs ?? Date.now()) : undefined;
}

function viewOf(of: FairTracker, keys: readonly string[]): InstanceView {
  const explanations = keys.map((key) => of.peek(key));
  return {
    seed: of.status().seeds.main,
    keys: explanations.map(({ levels }) =>
      levels.map(({ level, column, probability }) => ({ level, column, probability })),
    ),
  };
}
