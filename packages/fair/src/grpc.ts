// The door `@syncline/fair/grpc`. grpc-js is an optional peer, so it has a door of its own.
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
