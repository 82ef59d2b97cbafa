// Tries the ports of a local cluster before any node is started, so that ports in use are the only thing reported.
import { SynclineError } from '@syncline/kernel';
import { findTakenPorts, takenPortsText } from '../serve/taken-ports.js';
import { DEV_HOST, type DevSettings, LISTENERS, portOf } from './dev-plan.js';

export async function refuseUsedPorts(settings: DevSettings, nodesCount: number): Promise<void> {
  for (let nodeId = 1; nodeId <= nodesCount; nodeId += 1) {
    const ports = LISTENERS.map((listener) => ({
      listener,
      port: portOf(settings[listener].port, nodeId),
    })).filter(({ port }) => port !== 0);
    const fail = (code: SynclineError['code'], text: string) =>
      new SynclineError(code, `node ${nodeId} cannot start: ${text}`);
    const taken = await findTakenPorts(DEV_HOST, ports).catch(
      ({ code, message }: SynclineError) => {
        throw fail(code, message);
      },
    );
    if (taken.length > 0) throw fail('conflict', takenPortsText(DEV_HOST, taken));
  }
}
