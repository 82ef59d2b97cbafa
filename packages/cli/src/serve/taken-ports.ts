// Finds out which ports are in use, so that one message names them all.
import { formatAddress, SynclineError } from '@syncline/kernel';
import { tryPort } from '@syncline/kernel/node';
import type { UsedPort } from '@syncline/server/config';

export interface TakenPort extends UsedPort {
  /** The error for this port alone. */
  readonly message: string;
}

/** Throws `invalid-argument`, as `serve` does, for a port that cannot be opened for another reason. */
export async function findTakenPorts(
  host: string,
  wanted: readonly UsedPort[],
): Promise<readonly TakenPort[]> {
  const taken: TakenPort[] = [];
  for (const { listener, port } of wanted) {
    try {
      await tryPort({ host, port });
    } catch (thrown) {
      const { message, details } = SynclineError.from(thrown);
      if (details['reason'] !== 'address-in-use')
        throw new SynclineError('invalid-argument', message, { cause: thrown });
      taken.push({ listener, port, message });
    }
  }
  return taken;
}

/** With the flags to change. */
export function takenPortsText(host: string, taken: readonly TakenPort[]): string {
  const flags = taken.map(({ listener }) => `--${listener}-port 0`).join(' ');
  const [first] = taken;
  if (first !== undefined && taken.length === 1)
    return `${first.message} To use any free port: ${flags}.`;
  const addresses = taken.map(({ port }) => formatAddress({ host, port })).join(', ');
  return `cannot listen on ${addresses} (the ports are in use). Another process is listening there, perhaps another Syncline. Stop it, or choose other ports. To use any free ports: ${flags}.`;
}
