// The entry point `@syncline/fair/grpc`. grpc-js is an optional peer, so it has its own entry point.
export {
  type GrpcRemoteOptions,
  type GrpcRemoteTls,
  grpcRemote,
} from './grpc-remote/grpc-remote.js';
export {
  type FairInterceptorOptions,
  fairServerInterceptor,
  type GrpcRequest,
} from './middleware/grpc-interceptor.js';
export type { GrpcStatus } from './middleware/grpc-rejection.js';
