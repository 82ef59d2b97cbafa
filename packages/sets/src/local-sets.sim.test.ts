// The library's interface, and RESP sessions on top of it, over the simulated disk.
import { silentMetrics } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from './local-sets.js';
import type { RespSink, Sets, SetsOptions } from './sets.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const identity = { nodeId: 1, clusterId: 'sim' };

async function open(ports: SimulatedBody, options: Partial<SetsOptions> = {}) {
  const start = () => openSets(ports, { ...identity, ...options });
  return { start, sets: await start() };
}

async function membersOf(sets: Sets, name: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const member of sets.members(bytes(name))) found.push(Buffer.from(member).toString());
  return found.sort();
}

function connect(sets: Sets) {
  let output = '';
  const sink: RespSink = {
    write: (chunk) => {
      output += Buffer.from(chunk).toString();
      return true;
    },
    drained: () => Promise.resolve(),
    end: () => {},
  };
  const peer = {
    address: { host: '127.0.0.1', port: 1 },
    loopback: true,
    gone: new AbortController().signal,
    cut: () => {},
  };
  const session = sets.connect(peer);
  session.writeTo(sink);
  const pushBytes = (chunk: Uint8Array) => void session.push(chunk);
  return { push: (text: string) => pushBytes(bytes(text)), pushBytes, output: () => output };
}

test('added members are still there after a restart, with the same version and digest', () =>
  runInSimulation(1, async (ports) => {
    const { sets, start } = await open(ports);
    expect(await sets.add(bytes('a'), [bytes('x'), bytes('y'), bytes('x')])).toBe(2);
    expect(await sets.add(bytes('a'), [bytes('x'), bytes('z')])).toBe(1);
    expect(await sets.remove(bytes('a'), [bytes('y'), bytes('none')])).toBe(1);
    expect([sets.has(bytes('a'), bytes('z')), sets.cardinality(bytes('a'))]).toEqual([true, 2]);
    expect(await membersOf(sets, 'a')).toEqual(['x', 'z']);
    const { version, ...digest } = sets.digest();
    await sets.close();
    await expect(sets.add(bytes('a'), [bytes('q')])).rejects.toMatchObject({ code: 'closed' });
    const again = await start();
    const { version: versionAgain, ...digestAgain } = again.digest();
    expect([String(versionAgain), digestAgain]).toEqual([String(version), digest]);
    expect(await membersOf(again, 'a')).toEqual(['x', 'z']);
    expect(again.status()).toMatchObject({ health: 'ready', sets: 1, liveDots: 2 });
    await again.close();
    expect(ports.node.pendingTimersCount).toBe(0);
  }));

test('a change that is larger than an operation is made in several', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    // 5 MB: more than the 4 MiB of an operation.
    const many = Array.from({ length: 100 }, (_, index) => new Uint8Array(50_000).fill(index));
    const other = sets.add(bytes('b'), [bytes('x')]);
    expect(await sets.add(bytes('a'), many)).toBe(100);
    expect(await other).toBe(1);
    expect(sets.cardinality(bytes('a'))).toBe(100);
    expect(await sets.remove(bytes('a'), many)).toBe(100);
    expect(sets.cardinality(bytes('a'))).toBe(0);
    await sets.close();
  }));

test.each([
  ['set', new Uint8Array(4_097), []],
  ['member', new Uint8Array(1), [new Uint8Array(65_537)]],
])('a %s that is too long is refused', (field, set, members) =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    expect(() => sets.add(set, members)).toThrow(`the ${field} has`);
    await sets.close();
  }),
);

test('S5 a reply, and that of a read that saw the change, wait for the disk', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports, { durability: 'synced' });
    const writer = connect(sets);
    const reader = connect(sets);
    ports.node.disk.adjust({ slowProbability: 1, slowMsMax: 2_000 });
    const beforeMs = ports.clock.monotonicMs();
    const written = sets.add(bytes('probe'), [bytes('p')]).then(() => ports.clock.monotonicMs());
    writer.push('SADD a x\r\n');
    reader.push('SISMEMBER a x\r\nSISMEMBER b x\r\n');
    await ports.clock.sleep(0.01);
    expect(writer.output() + reader.output()).toBe('');
    expect(await written).toBeGreaterThan(beforeMs);
    await ports.clock.sleep(1);
    expect([writer.output(), reader.output()]).toEqual([':1\r\n', ':1\r\n:0\r\n']);
    await sets.close();
  }));

test('S5 what a caller saw before it was stored is undone or stored once everything is settled', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    await sets.settled();
    ports.node.disk.adjust({ isFull: true });
    const refused = sets.add(bytes('a'), [bytes('x')]).catch((error: unknown) => error);
    expect(sets.cardinality(bytes('a'))).toBe(1);
    await expect(sets.settled()).rejects.toMatchObject({ code: 'storage-full' });
    expect(sets.cardinality(bytes('a'))).toBe(0);
    expect(await refused).toMatchObject({ code: 'storage-full' });
    ports.node.disk.adjust({ isFull: false });
    await sets.close();
  }));

test("S5 no part of a large SPOP's reply is sent before its changes are stored", () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    const many = Array.from({ length: 30_000 }, (_, index) => bytes(`${index}`.padEnd(50, '.')));
    await sets.add(bytes('a'), many);
    const client = connect(sets);
    ports.node.disk.adjust({ isFull: true });
    client.push('SPOP a 30000\r\n');
    await ports.clock.sleep(1_000);
    expect(client.output().slice(0, 8)).toBe('-MISCONF');
    const refused = client.output().length;
    ports.node.disk.adjust({ isFull: false });
    client.push('SCARD a\r\nSPOP a 30000\r\n');
    await ports.clock.sleep(1_000);
    expect(client.output().slice(refused, refused + 16)).toBe(':30000\r\n*30000\r\n');
    expect(sets.cardinality(bytes('a'))).toBe(0);
    await sets.close();
  }));

test('S7 a full disk refuses writes, reads continue, and writing resumes once there is space', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    await sets.add(bytes('a'), [bytes('x')]);
    const client = connect(sets);
    ports.node.disk.adjust({ isFull: true });
    client.push('SADD a y\r\nSISMEMBER a y\r\n');
    await ports.clock.sleep(500);
    const refused = client.output();
    expect(
      refused
        .split('\r\n')
        .slice(0, 2)
        .every((line) => line.startsWith('-MISCONF')),
    ).toBe(true);
    client.push('SISMEMBER a y\r\nSISMEMBER a x\r\n');
    await ports.clock.sleep(500);
    expect(client.output().slice(refused.length)).toBe(':0\r\n:1\r\n');
    expect(sets.status().health).toBe('full');
    ports.node.disk.adjust({ isFull: false });
    expect(await sets.add(bytes('a'), [bytes('z')])).toBe(1);
    expect(await membersOf(sets, 'a')).toEqual(['x', 'z']);
    expect(sets.status().health).toBe('ready');
    await sets.close();
  }));

test('S5 commands that change the connection are answered although the turn before them is undone', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    const client = connect(sets);
    ports.node.disk.adjust({ isFull: true });
    client.push('SADD a x\r\nHELLO 3\r\nSCARD a\r\nMULTI\r\nSCARD a\r\nPING\r\nEXEC\r\n');
    await ports.clock.sleep(500);
    const misconf = '-MISCONF [^\r]*\r\n';
    const answers = `^${misconf}%7\r\n.*${misconf}\\+OK\r\n\\+QUEUED\r\n\\+QUEUED\r\n${misconf}$`;
    expect(client.output()).toMatch(new RegExp(answers, 's'));
    const before = client.output().length;
    client.push('SPOP a\r\n');
    await ports.clock.sleep(500);
    expect(client.output().slice(before), 'in RESP3, outside a transaction').toBe('_\r\n');
    ports.node.disk.adjust({ isFull: false });
    await sets.close();
  }));

test('a stopping node answers what has arrived and refuses later writes', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    const [first, second] = [connect(sets), connect(sets)];
    const many = Array.from({ length: 70_000 }, (_, index) => `m${index}`).join(' ');
    first.push('SADD b y\r\n');
    first.push(`SADD a ${many.slice(0, 60_000)}\r\n`);
    second.push('SADD a x\r\n');
    await ports.clock.sleep(1);
    const closing = sets.close();
    const late = connect(sets);
    late.push('SADD a z\r\nSCARD b\r\nBGSAVE\r\n');
    await closing;
    await ports.clock.sleep(1);
    const refused = '-ERR server is shutting down\r\n';
    expect(first.output()).toMatch(/^:1\r\n:\d+\r\n$/);
    expect(second.output()).toBe(':1\r\n');
    expect(late.output()).toBe(`${refused}:1\r\n${refused}`);
  }));

test('after a disk failure no more writes are accepted in this process', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports, { durability: 'synced' });
    await sets.add(bytes('a'), [bytes('x')]);
    ports.node.disk.adjust({ syncFailureProbability: 1 });
    const add = () => sets.add(bytes('a'), [bytes('y')]);
    await expect(add()).rejects.toMatchObject({ code: 'storage-failed' });
    ports.node.disk.adjust({ syncFailureProbability: 0 });
    await expect(add()).rejects.toMatchObject({ code: 'storage-failed' });
    expect(sets.status().health).toBe('failed');
    const client = connect(sets);
    client.push('BGSAVE\r\nPING\r\n');
    await ports.clock.sleep(1);
    expect(client.output()).toMatch(/^-MISCONF [^\r]*\r\n\+PONG\r\n$/);
    await sets.close();
  }));

test('gauges follow while nothing is written', () =>
  runInSimulation(1, async (ports) => {
    const gauges = new Map<string, number>();
    const set = (name: string, value: number) => void gauges.set(name, value);
    const metrics = { ...silentMetrics, set };
    const sets = await openSets({ ...ports, metrics }, identity);
    await sets.add(bytes('a'), [bytes('x')]);
    const members = sets.members(bytes('a'))[Symbol.asyncIterator]();
    await members.next();
    await ports.clock.sleep(1_100);
    expect(gauges.get('syncline_sets_pins')).toBe(1);
    await members.return?.();
    await ports.clock.sleep(1_100);
    expect(gauges.get('syncline_sets_pins')).toBe(0);
    await sets.close();
    expect(ports.node.pendingTimersCount).toBe(0);
  }));

test('S14 members looked up ahead and not used do not replace those of the next chunk', () =>
  runInSimulation(1, async (ports) => {
    const { sets } = await open(ports);
    const members = Array.from({ length: 20_000 }, (_, index) => `m${100_000 + index}`);
    await sets.add(bytes('large'), members.map(bytes)); // large enough to look ahead
    await sets.add(bytes('small'), [bytes('n100000'), bytes('n100001')]);
    const pipeline = (set: string, ...names: readonly string[]) =>
      bytes(
        names.map((name) => `*3\r\n$9\r\nSISMEMBER\r\n$5\r\n${set}\r\n$7\r\n${name}\r\n`).join(''),
      );
    const client = connect(sets);
    const chunk = pipeline('large', 'm100000', 'm100001'); // queued, so nothing is looked up
    client.push('MULTI\r\n');
    client.pushBytes(chunk);
    client.push('DISCARD\r\n');
    chunk.set(pipeline('small', 'n100000', 'n100001')); // the socket reads into the same buffer again
    client.pushBytes(chunk);
    await ports.clock.sleep(10);
    expect(client.output()).toBe('+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n:1\r\n:1\r\n');
    await sets.close();
  }));
