// What a status says about the protected resource: available, exhausted, or nothing at all.
import { GRPC_STATUS } from '@syncline/protocol';
import type { Outcome } from '../outcome.js';

const GRPC_OK = 0;

/** 2xx and 3xx are success, 429 and 503 failure; a bad request or a bug says nothing. */
export function outcomeOfHttp(statusCode: number): Outcome {
  if (statusCode >= 200 && statusCode < 400) return 'success';
  return statusCode === 429 || statusCode === 503 ? 'failure' : 'ignore';
}

/** UNAVAILABLE is most often a broken connection, so it counts only where it means "no capacity". */
export function outcomeOfGrpc(code: number, isUnavailableFailure: boolean): Outcome {
  if (code === GRPC_OK) return 'success';
  if (code === GRPC_STATUS.RESOURCE_EXHAUSTED) return 'failure';
  return code === GRPC_STATUS.UNAVAILABLE && isUnavailableFailure ? 'failure' : 'ignore';
}
