// Cases of the network suite: listening and connecting, and how both fail.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Connection } from '../network/network.js';
import { type NetworkSubject, openPair, readAll, readBytes, utf8 } from './network-pair.js';

export const networkOpenCases = {
  'a connect to a port without a listener is refused': connectIsRefused,
  'a port in use is refused, and its holder keeps it': takenPortIsRefused,
  'a closed listener leaves its connections alone': closedListenerLeavesConnections,
  'a closed listener frees its port and accepts no more': closedListenerFreesPort,
  'a connect with a fired signal rejects': abortedConnectRejects,
  'a connect ends when its signal fires': connectEndsWithSignal,
  'a connect that succeeded no longer listens to its signal': connectForgetsSignal,
} as const;

async function connectIsRefused({ network, host }: NetworkSubject): Promise<void> {
  const listener = await network.listen({ host, port: 0 }, () => {});
  await listener.close();
  await assert.rejects(network.connect(listener.address), (error: unknown) => {
    const { code, details, message } = error as Refused;
    assert.equal(code, 'unavailable');
    assert.equal(details.reason, 'refused');
    assert.match(message, new RegExp(`:${listener.address.port} `), 'names the address');
    return true;
  });
}

async function takenPortIsRefused(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const { address } = pair.listener;
  await assert.rejects(
    subject.network.listen(address, () => {}),
    (error: unknown) => {
      const { code, details, message } = error as Refused;
      assert.equal(code, 'unavailable');
      assert.equal(details.reason, 'address-in-use');
      assert.match(message, new RegExp(`:${address.port} `), 'names the address');
      return true;
    },
  );
  await using connection = await subject.network.connect(address);
  assert.deepEqual(connection.remote, address);
}

async function closedListenerLeavesConnections(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  await pair.listener.close();
  await pair.listener.close();
  pair.client.write(utf8('still here'));
  assert.equal((await readBytes(pair.server, 10)).length, 10);
}

async function closedListenerFreesPort(subject: NetworkSubject): Promise<void> {
  const { network, host } = subject;
  const accepted: Connection[] = [];
  const listener = await network.listen({ host, port: 0 }, (each) => accepted.push(each));
  await listener.close();
  await assert.rejects(network.connect(listener.address), { code: 'unavailable' });
  await using second = await network.listen(listener.address, (each) => each.end());
  assert.deepEqual(second.address, listener.address);
  await using connection = await network.connect(second.address);
  await readAll(connection);
  assert.deepEqual(accepted, []);
}

async function abortedConnectRejects({ network, host }: NetworkSubject): Promise<void> {
  await using listener = await network.listen({ host, port: 0 }, (each) => void each.destroy());
  const signal = AbortSignal.abort(new Error('given up'));
  await assert.rejects(network.connect(listener.address, { signal }), { code: 'aborted' });
}

async function connectEndsWithSignal({ network, host }: NetworkSubject): Promise<void> {
  await using listener = await network.listen({ host, port: 0 }, (each) => void each.destroy());
  const controller = new AbortController();
  const connecting = network.connect(listener.address, { signal: controller.signal });
  controller.abort();
  await assert.rejects(connecting, { code: 'aborted' });
  assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
}

async function connectForgetsSignal(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const controller = new AbortController();
  const { signal } = controller;
  await using connection = await subject.network.connect(pair.listener.address, { signal });
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
  controller.abort();
  assert.equal(connection.write(utf8('still open')), true);
}

interface Refused {
  readonly code: string;
  readonly message: string;
  readonly details: { readonly reason?: unknown };
}
