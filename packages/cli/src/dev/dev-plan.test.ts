import { expect, test } from 'vitest';
import { checkPorts, planNodes } from './dev-plan.js';

const ports = { http: 7400, grpc: 7401, resp: 7402, mesh: 7403 };

function valuesOf(args: readonly string[], flag: string): readonly string[] {
  return args.flatMap((arg, at) => (arg === flag ? [args[at + 1] ?? ''] : []));
}

test('node k adds 10·(k−1) to every port and has its own directory', () => {
  const plan = planNodes({ nodesCount: 3, ports, directory: '/data', logLevel: 'info' });
  const read = (flag: string) => plan.map(({ args }) => valuesOf(args, flag)[0]);
  expect(read('--node-id')).toEqual(['1', '2', '3']);
  expect(read('--http-port')).toEqual(['7400', '7410', '7420']);
  expect(read('--mesh-port')).toEqual(['7403', '7413', '7423']);
  expect(read('--data-dir')).toEqual(['/data/node-1', '/data/node-2', '/data/node-3']);
  const peers = ['1@127.0.0.1:7403', '2@127.0.0.1:7413', '3@127.0.0.1:7423'];
  for (const { args } of plan) expect(valuesOf(args, '--peer')).toEqual(peers);
});

test('a port of 0 stays 0, except for mesh ports, which are chosen in advance', () => {
  const free = { http: 0, grpc: 0, resp: 0, mesh: 0 };
  const plan = planNodes({
    nodesCount: 2,
    ports: free,
    meshPorts: [4001, 4002],
    directory: '/data',
    logLevel: 'info',
  });
  for (const { args } of plan) {
    expect(valuesOf(args, '--http-port')).toEqual(['0']);
    expect(valuesOf(args, '--peer')).toEqual(['1@127.0.0.1:4001', '2@127.0.0.1:4002']);
  }
});

test('the ports of the last node must not exceed 65535', () => {
  const [usual, free] = [{ port: 7400 }, { port: 0 }];
  const check = (port: number) => () =>
    checkPorts({ http: { port }, grpc: usual, resp: free, mesh: usual }, 3);
  check(65_515)();
  expect(check(65_516)).toThrow(
    'http.port is 65516; with 3 nodes, 10 ports apart, it can be at most 65515.',
  );
});
