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
