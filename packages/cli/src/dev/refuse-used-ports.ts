// Tries the ports of a local cluster before any node is started, so that a port in use is the only thing reported.
import { SynclineError } from '@syncline/kernel';
import { tryPort } from '@syncline/kernel/node';
import { DEV_HOST, type DevSettings, LISTENERS, portOf } from './dev-plan.js';

export async function refuseUsedPorts(settings: DevSettings, nodesCount: number): Promise<void> {
  for (let nodeId = 1; nodeId <= nodesCount; nodeId += 1) {
    for (const name of LISTENERS) {
      const port = portOf(settings[name].port, nodeId);
      if (port === 0) continue;
      await tryPort({ host: DEV_HOST, port }).catch((cause: SynclineError) => {
        const isUsed = cause.details['reason'] === 'address-in-use';
        const advice = isUsed ? ` To use any free port: --${name}-port 0.` : '';
        const message = `node ${nodeId} cannot start: ${cause.message}${advice}`;
        // The codes are those of `serve`.
        throw new SynclineError(isUsed ? 'conflict' : 'invalid-argument', message, { cause });
      });
    }
  }
}
