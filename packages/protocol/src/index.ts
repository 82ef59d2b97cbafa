export { ERROR_TABLE, type ErrorRow, exitCodeOf, type RespPrefix } from './error-table.js';
export { EXIT_CODES, type ExitCode } from './exit-codes.js';
export { type GrpcChannelLimits, grpcChannelOptions, textsOf } from './grpc-channel.js';
export { errorFromGrpc, type GrpcFailure, grpcFailureOf } from './grpc-error.js';
export { GRPC_STATUS, type GrpcStatusName } from './grpc-status.js';
export {
  checkGrpcTarget,
  type GrpcTarget,
  type GrpcTargetOptions,
  type GrpcTls,
} from './grpc-target.js';
export {
  errorFromProblem,
  type HttpProblem,
  PROBLEM_MEDIA_TYPE,
  problemOf,
} from './http-problem.js';
export { protocolLimits } from './limits.js';
export { respErrorOf } from './resp-error.js';
