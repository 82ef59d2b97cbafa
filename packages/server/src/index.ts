export type { GrpcService } from './grpc/grpc-service.js';
export type { HttpReply, HttpRequest, HttpRoute, ServerSentEvent } from './http/http-route.js';
export type { ListenerName, ListeningAddress } from './listener.js';
export type { MeshAcceptor } from './mesh/mesh-acceptor.js';
export type { RespPeer, RespSession, RespSessions } from './resp/resp-session.js';
export { type RunningServer, type ServerDeps, startServer } from './server.js';
export type { RunningSlice, Slice, SliceDeps, SliceHealth, SliceStatus } from './slice.js';
