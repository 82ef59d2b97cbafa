// A program: clients of the state service that only receive, to be frozen by the parent process.
// Arguments: the service's address, and how many. Prints `open` when all are.
import { grpcRemote } from '@syncline/fair/grpc';
import { DeltaStream } from './fair-delta-stream.js';

const [address = '', count = '1'] = process.argv.slice(2);
const remote = grpcRemote({ address, tracker: 'bench' });
const streams = Array.from({ length: Number(count) }, () => new DeltaStream(remote));
await Promise.all(streams.map((stream) => stream.opened));
process.stdout.write('open\n');
