// The ports that a server opens, according to its settings: a listener may be disabled, and the mesh needs peers.
import type { ServerSettings } from './settings-schema.js';

export interface UsedPort {
  readonly listener: 'http' | 'grpc' | 'resp' | 'mesh';
  readonly port: number;
}

type PortSettings = Pick<ServerSettings, UsedPort['listener'] | 'nodeId'>;

/** Without ports of 0, which the system chooses. */
export function usedPorts({ http, grpc, resp, mesh, nodeId }: PortSettings): readonly UsedPort[] {
  const hasPeers = mesh.peers.some((peer) => peer.nodeId !== nodeId);
  const ports = [
    { listener: 'http', port: http.port, isOpened: http.enabled },
    { listener: 'grpc', port: grpc.port, isOpened: grpc.enabled },
    { listener: 'resp', port: resp.port, isOpened: resp.enabled },
    { listener: 'mesh', port: mesh.port, isOpened: hasPeers },
  ] as const;
  return ports
    .filter(({ port, isOpened }) => isOpened && port !== 0)
    .map(({ listener, port }) => ({ listener, port }));
}
