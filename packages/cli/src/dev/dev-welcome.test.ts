import { expect, test } from 'vitest';
import { plainPaint } from '../paint.js';
import { type DevWelcomeFacts, renderDevWelcome } from './dev-welcome.js';

function nodesWith(
  names: readonly ('http' | 'grpc' | 'resp' | 'mesh')[],
): DevWelcomeFacts['nodes'] {
  return [1, 2, 3].map((nodeId) => ({
    nodeId,
    listeners: names.map((listener, at) => ({
      listener,
      host: '127.0.0.1',
      port: 7400 + at + 10 * (nodeId - 1),
    })),
  }));
}

const facts = {
  version: '0.1.0',
  directory: '/tmp/syncline-dev-x',
  isKept: false,
  isTls: false,
  hasPassword: false,
  hints: ['', ' --url http://127.0.0.1:7410'].map((more) => ({
    command: `npx syncline status${more}`,
    remarks: [],
  })),
};

test('the welcome lists the addresses, and commands that write on one node and read on another', async () => {
  const nodes = nodesWith(['http', 'grpc', 'resp', 'mesh']);
  const welcome = renderDevWelcome({ ...facts, nodes }, plainPaint);
  await expect(welcome).toMatchFileSnapshot('../../testdata/dev-welcome.txt');
});

test('removal of data is announced only if it is not kept, and replication only with several nodes', () => {
  const kept = { ...facts, isKept: true, nodes: nodesWith(['http', 'mesh']) };
  expect(renderDevWelcome(kept, plainPaint)).not.toMatch(/removed/);
  const alone = { ...facts, nodes: nodesWith(['http']).slice(0, 1) };
  expect(renderDevWelcome(alone, plainPaint)).toMatch(/one node/);
  expect(renderDevWelcome(alone, plainPaint)).not.toMatch(/replicated/);
});
