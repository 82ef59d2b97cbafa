// RESP over real sockets. The corner cases are tested in simulation.
import { expect, test } from 'vitest';
import { EchoSlice } from '../testing/echo-slice.js';
import { openRawClient } from '../testing/raw-client.js';
import { startTestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

test('bytes are echoed, and QUIT ends the connection after the last one', async () => {
  await using server = await startTestServer([new EchoSlice()]);
  await using client = await openRawClient(server.port('resp'));
  client.send('hello');
  await until(() => client.text() === 'hello', 'the echo');
  client.send('QUIT');
  await client.closed;
  expect(client.text()).toBe('helloQUIT');
});

test('a connection above the limit gets an error reply and is closed', async () => {
  await using server = await startTestServer([new EchoSlice()], {
    settings: { resp: { connectionsMax: 1 } },
  });
  await using first = await openRawClient(server.port('resp'));
  await using second = await openRawClient(server.port('resp'));
  second.send('*1\r\n$4\r\nPING\r\n');
  await second.closed;
  expect(second.text()).toBe('-ERR max number of clients reached\r\n');
  first.send('still here');
  await until(() => first.text() === 'still here', 'the first one still works');
});

test('an idle connection is closed', async () => {
  await using server = await startTestServer([new EchoSlice()], {
    settings: { resp: { idleTimeoutMs: 100 } },
  });
  await using client = await openRawClient(server.port('resp'));
  await client.closed;
});

test('a session that throws only affects its own connection', async () => {
  await using server = await startTestServer([new EchoSlice()]);
  await using bad = await openRawClient(server.port('resp'));
  await using good = await openRawClient(server.port('resp'));
  bad.send('BUG');
  await bad.closed;
  good.send('fine');
  await until(() => good.text() === 'fine', 'the other one still works');
  expect(server.log.find(({ msg }) => msg === 'handler failed')?.fields).toMatchObject({
    listener: 'resp',
  });
});
