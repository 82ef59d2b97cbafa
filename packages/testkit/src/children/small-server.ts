// A stand-in for `syncline serve` in the tests of the cluster starter: accepts the same flags, prints the same
// lines, keeps one number in its data directory, and misbehaves as MISBEHAVE says.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    'node-id': { type: 'string', default: '0' },
    'data-dir': { type: 'string', default: '' },
    'http-port': { type: 'string', default: '0' },
    'grpc-port': { type: 'string' },
    'resp-port': { type: 'string' },
    'mesh-port': { type: 'string' },
    misbehave: { type: 'string', default: '' },
  },
});
const { misbehave } = values;

const file = join(values['data-dir'], 'starts');
mkdirSync(values['data-dir'], { recursive: true });
const starts = existsSync(file) ? Number(readFileSync(file, 'utf8')) + 1 : 1;
writeFileSync(file, String(starts));
process.stderr.write(`node ${values['node-id']} starts, number ${starts}\n`);

if (misbehave === 'fail') {
  process.stderr.write('cannot continue\n');
  process.exit(3);
}

let asked = 0;
const server = createServer((request, response) => {
  asked += 1;
  if (request.url === '/crash') process.exit(7);
  const isReady = misbehave !== 'never-ready' && asked > 2;
  response.statusCode = request.url === '/readyz' && !isReady ? 503 : 200;
  response.end(JSON.stringify({ starts, isReady }));
});
server.listen(Number(values['http-port']), '127.0.0.1', () => {
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : 0;
  if (misbehave === 'silent') return;
  process.stdout.write(`${JSON.stringify({ listener: 'http', host: '127.0.0.1', port })}\n`);
});
process.on('SIGTERM', () => {
  if (misbehave === 'stubborn') return;
  process.exit(misbehave === 'bad-stop' ? 1 : 0);
});
