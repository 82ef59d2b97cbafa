export { ERROR_TABLE, type ErrorRow, type GrpcStatusName, type RespPrefix } from './error-table.js';
export { EXIT_CODES, type ExitCode, exitCodeOf } from './exit-code.js';
export { errorFromGrpc, GRPC_STATUS, type GrpcFailure, grpcFailureOf } from './grpc-error.js';
export {
  errorFromProblem,
  type HttpProblem,
  PROBLEM_MEDIA_TYPE,
  problemOf,
} from './http-problem.js';
export { protocolLimits } from './limits.js';
export { respErrorOf } from './resp-error.js';
