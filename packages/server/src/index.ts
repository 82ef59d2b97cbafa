export type { GrpcService } from './grpc/grpc-service.js';
export type { HttpReply, HttpRequest, HttpRoute, ServerSentEvent } from './http/http-route.js';
export { httpStatuses } from './http/http-statuses.js';
export type { ReachedLimit } from './limit-watch.js';
export { serverLimits } from './limits.js';
export type { ListenerName, ListeningAddress } from './listener.js';
export {
  createPinoLogger,
  type LogStream,
  type PinoLoggerOptions,
} from './logs/pino-logger.js';
export { serverMetrics } from './metrics-list.js';
export type { Check } from './readiness.js';
export type { RespPeer, RespSession, RespSessions } from './resp/resp-session.js';
export { type RunningServer, type ServerDeps, startServer } from './server.js';
export type { ServerStatus, SliceReport } from './server-status.js';
export type { RunningSlice, Slice, SliceDeps, SliceHealth, SliceStatus } from './slice.js';
export { usedListeners } from './slice-set.js';
export { createSlices } from './slices/slices.js';
