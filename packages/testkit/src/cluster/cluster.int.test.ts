import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ClusterOptions, startCluster } from './cluster.js';

const program = join(import.meta.dirname, '../../dist/children/small-server.js');
const start = (options: Partial<ClusterOptions> = {}) =>
  startCluster({ nodes: 1, program, ...options });
const misbehave = (how: string) => ({ args: ['--misbehave', how] });
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

describe('a cluster', () => {
  it('starts nodes that are ready, each on its own data and ports', async () => {
    await using cluster = await start({ nodes: 3 });
    const urls = new Set(cluster.nodes.map((node) => node.url('http')));
    expect(urls.size).toBe(3);
    expect(new Set(cluster.nodes.map((node) => node.dataDir)).size).toBe(3);
    for (const url of urls) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(cluster.logs()).toContain('node 3 starts, number 1');
    expect(() => cluster.node(4)).toThrow(/nodes 1 to 3, not 4/);
    expect(() => cluster.node(1).address('resp')).toThrow(/no resp listener/);
  });

  it('restarts a killed node with its data and its address', async () => {
    await using cluster = await start();
    const node = cluster.node(1);
    const [url, pid] = [node.url('http'), node.pid];
    expect(await node.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await expect(fetch(url)).rejects.toThrow();
    await node.restart();
    expect(node.url('http')).toBe(url);
    expect(node.pid).not.toBe(pid);
    expect(await (await fetch(url)).json()).toMatchObject({ starts: 2 });
    await node.restart(); // also while it runs
    expect(await readFile(join(node.dataDir, 'starts'), 'utf8')).toBe('3');
  });

  it('restarts on the same ports, even if a start was killed before it listened', async () => {
    await using cluster = await start();
    const node = cluster.node(1);
    const [url, pid] = [node.url('http'), node.pid];
    await node.kill();
    const cut = node.start().catch(() => undefined);
    await expect.poll(() => node.pid, { interval: 1 }).not.toBe(pid);
    await node.kill();
    await cut;
    await node.start();
    expect(node.url('http')).toBe(url);
  });

  it('pauses a node', async () => {
    await using cluster = await start();
    const node = cluster.node(1);
    node.signal('SIGSTOP');
    await expect(fetch(node.url('http'), { signal: AbortSignal.timeout(50) })).rejects.toThrow();
    node.signal('SIGCONT');
    expect((await fetch(node.url('http'))).status).toBe(200);
  });

  it('leaves neither process nor directory', async () => {
    const cluster = await start({ nodes: 2 });
    const directory = dirname(cluster.node(1).dataDir);
    const url = cluster.node(2).url('http');
    expect(await exists(directory)).toBe(true);
    await cluster[Symbol.asyncDispose]();
    expect(await exists(directory)).toBe(false);
    await expect(fetch(url)).rejects.toThrow();
  });
});

it('runs the real command line', async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const [first, second] = [cluster.node(1), cluster.node(2)];
  for (const node of cluster.nodes)
    expect((await fetch(`${node.url('http')}/healthz`)).status).toBe(200);
  const url = first.url('http');
  await first.kill();
  await first.restart();
  expect(first.url('http')).toBe(url);
  await Promise.all([first.stop(), second.stop()]);
});

describe('failures are reported with the last output', () => {
  it('a node that fails at start', async () => {
    await expect(start(misbehave('fail'))).rejects.toThrow(
      /^node 1 ended \(exit code 3\) before it printed the expected line\n.*cannot continue/s,
    );
  });

  it('one node of three that fails at start also ends the others', async () => {
    const args = (nodeId: number) => (nodeId === 2 ? ['--misbehave', 'fail'] : []);
    await expect(start({ nodes: 3, args })).rejects.toThrow(/^node 2 ended/);
  });

  it('a node that never announces a listener, or is never ready', async () => {
    await expect(start({ ...misbehave('silent'), readyTimeoutMs: 500 })).rejects.toThrow(
      /^node 1 did not print the expected line within/,
    );
    await expect(start({ ...misbehave('never-ready'), readyTimeoutMs: 6_000 })).rejects.toThrow(
      /^node 1 is not ready: 503 .*starts, number 1/s,
    );
  });

  it('a node that does not stop, or fails while stopping', async () => {
    await using stubborn = await start(misbehave('stubborn'));
    await expect(stubborn.node(1).stop(50)).rejects.toThrow(/did not stop within 50 ms/);
    await using bad = await start(misbehave('bad-stop'));
    await expect(bad.node(1).stop()).rejects.toThrow(/^node 1 stopped with exit code 1/);
  });

  it('a node that ended by itself, at the latest when the cluster is disposed of', async () => {
    const cluster = await start();
    const node = cluster.node(1);
    await expect(fetch(`${node.url('http')}/crash`)).rejects.toThrow();
    const directory = dirname(node.dataDir);
    await expect(cluster[Symbol.asyncDispose]()).rejects.toThrow(
      /^node 1 had ended with exit code 7/,
    );
    expect(await exists(directory)).toBe(false);
  });
});
