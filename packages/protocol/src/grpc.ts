// The door `@syncline/protocol/grpc`: what gRPC clients share. It loads no gRPC library.
export {
  type GrpcChannelLimits,
  grpcBytes,
  grpcChannelOptions,
  grpcCredentials,
  textsOf,
} from './grpc-channel.js';
export {
  errorOfCallStatus,
  type GrpcCallStatus,
  type GrpcServiceName,
  isCallRefused,
} from './grpc-client-error.js';
export {
  checkGrpcOptions,
  checkGrpcTarget,
  type GrpcTarget,
  type GrpcTargetOptions,
} from './grpc-target.js';
