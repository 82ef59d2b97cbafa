// The door `@syncline/protocol/grpc`: what gRPC clients share. It loads no gRPC library.
export { type GrpcChannelLimits, grpcChannelOptions, textsOf } from './grpc-channel.js';
export {
  checkGrpcTarget,
  type GrpcTarget,
  type GrpcTargetOptions,
  type GrpcTls,
} from './grpc-target.js';
