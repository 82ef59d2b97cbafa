// Tries the ports of a local cluster before any node is started, so that a port in use is the only thing reported.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { SynclineError } from '@syncline/kernel';
import { listenError } from '@syncline/kernel/node';
import { DEV_HOST, type DevSettings, LISTENERS, portOf } from './dev-plan.js';

export async function refuseUsedPorts(settings: DevSettings, nodesCount: number): Promise<void> {
  for (let nodeId = 1; nodeId <= nodesCount; nodeId += 1) {
    for (const name of LISTENERS) {
      const port = portOf(settings[name].port, nodeId);
      if (port === 0) continue;
      await tryPort(port).catch(({ code, message }: SynclineError) => {
        const advice = code === 'conflict' ? ` To use any free port: --${name}-port 0.` : '';
        throw new SynclineError(code, `node ${nodeId} cannot start: ${message}${advice}`);
      });
    }
  }
}

/** The codes are those of `serve`. */
async function tryPort(port: number): Promise<void> {
  const address = { host: DEV_HOST, port };
  const server = createServer();
  try {
    await once(server.listen(address), 'listening');
  } catch (thrown) {
    const { message, details } = listenError(address, thrown as Error);
    const code = details['reason'] === 'address-in-use' ? 'conflict' : 'invalid-argument';
    throw new SynclineError(code, message, { cause: thrown });
  }
  await new Promise((resolve) => server.close(resolve));
}
