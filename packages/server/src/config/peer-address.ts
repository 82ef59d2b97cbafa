// `ID@HOST:PORT`: how a peer is written in `mesh.peers` and after `--peer`.
import { z } from 'zod';

export interface PeerAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

/** An IPv6 address is written in brackets, as in a URL: `2@[::1]:7413`. */
const PEER = /^(\d{1,5})@(?:\[([0-9A-Fa-f:.]+)\]|([^\s@:[\]]+)):(\d{1,5})$/;

export function parsePeerAddress(text: string): PeerAddress | undefined {
  const match = PEER.exec(text);
  const host = match?.[2] ?? match?.[3];
  if (match === null || host === undefined) return undefined;
  const nodeId = Number(match[1]);
  const port = Number(match[4]);
  const inRange = nodeId >= 1 && nodeId <= 65_535 && port >= 1 && port <= 65_535;
  return inRange ? { nodeId, host, port } : undefined;
}

export const peerAddressSchema = z.string().transform((text, context): PeerAddress => {
  const peer = parsePeerAddress(text);
  if (peer !== undefined) return peer;
  context.addIssue({ code: 'custom', message: 'not a peer address' });
  return z.NEVER;
});
