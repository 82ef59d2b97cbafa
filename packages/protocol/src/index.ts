export { ERROR_TABLE, type ErrorRow, exitCodeOf, type RespPrefix } from './error-table.js';
export { EXIT_CODES, type ExitCode } from './exit-codes.js';
export { errorFromGrpc, type GrpcFailure, grpcFailureOf } from './grpc-error.js';
export { GRPC_STATUS, type GrpcStatusName } from './grpc-status.js';
export {
  errorFromProblem,
  type HttpProblem,
  PROBLEM_MEDIA_TYPE,
  problemOf,
} from './http-problem.js';
export { protocolLimits } from './limits.js';
export { respErrorOf, withoutPaths } from './resp-error.js';
