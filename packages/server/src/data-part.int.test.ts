// A data directory that disappears under a running server.
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { serverLimits } from './limits.js';
import { EchoSlice } from './testing/echo-slice.js';
import { startTestServer } from './testing/test-server.js';

test.each(['.', 'echo/db'])(
  'the server is not healthy once "%s" in its data directory is gone',
  async (lost) => {
    await using directory = await makeTempDirectory('server');
    const dataDir = join(directory.path, 'data');
    await using server = await startTestServer([new EchoSlice({ listeners: [] })], {
      settings: { dataDir },
    });
    const healthz = () => fetch(`http://127.0.0.1:${server.port('http')}/healthz`);
    expect((await healthz()).status).toBe(200);
    await rename(join(dataDir, lost), join(directory.path, 'moved'));
    const timeout = serverLimits.startReserveRefillMs.value + 3_000;
    await expect.poll(async () => (await healthz()).status, { timeout }).toBe(503);
    const { checks } = (await (await healthz()).json()) as { checks: unknown };
    expect(checks).toMatchObject([
      { name: 'data', ok: false, reason: expect.stringContaining('was removed or replaced') },
    ]);
    await rename(join(directory.path, 'moved'), join(dataDir, lost));
  },
);
