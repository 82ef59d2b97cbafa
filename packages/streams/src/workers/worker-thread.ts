// The main module of a worker thread: connects one `PipelineWorker` to its ports.
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '@syncline/kernel';
import { systemWorld } from '../run/start.js';
import type { PeerMessage, ToWorker } from './messages.js';
import { PipelineWorker } from './worker.js';
import { importPipeline, postItems, type ThreadData } from './worker-threads.js';

const { module, index, ports } = workerData as ThreadData;
const main = parentPort;
assert(main !== null, 'this program is a worker thread');
// The ports queue messages until a listener is added.
const pipeline = await importPipeline(new URL(module));
const worker = new PipelineWorker({
  ...systemWorld({}),
  graph: pipeline.build(),
  index,
  tell: (message) => main.postMessage(message),
  send(to, message) {
    const port = ports.get(to);
    assert(port !== undefined, `there is a worker ${to}`);
    postItems(port, message);
  },
});
for (const [from, port] of ports) {
  port.on('message', (message: PeerMessage) => worker.receiveFrom(from, message));
}
main.on('message', (message: ToWorker) => worker.receive(message));
