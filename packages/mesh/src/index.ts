export { meshLimits } from './limits.js';
export type {
  ChannelHandler,
  DeliveredOperation,
  Mesh,
  MeshChannel,
  MeshDeps,
  MeshOptions,
  MeshPeer,
  PeerStatus,
  PullReason,
  SnappyCodec,
} from './mesh.js';
export { meshMetrics } from './metrics-list.js';
export { createMesh } from './open-mesh.js';
