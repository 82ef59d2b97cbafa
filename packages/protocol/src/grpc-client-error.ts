// The status of a failed gRPC call as an error: the server's own error, or one about the connection.
//
// Plain values, no gRPC library: the clients hand over what theirs reports.
import { CLIENT_TRUST, certificateProblem, SynclineError } from '@syncline/kernel';
import { textsOf } from './grpc-channel.js';
import { errorFromGrpc } from './grpc-error.js';

/** As `@grpc/grpc-js` reports it. */
export interface GrpcCallStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: { getMap(): Record<string, unknown> };
}

/** For messages: `the job service`, and where it is. */
export interface GrpcServiceName {
  readonly service: string;
  readonly address: string;
}

/** How grpc-js describes a request that was never sent. With any other text, the outcome is unknown. */
const NOT_SENT = /^No connection established|Waiting for LB pick/;

/** The whole text of grpc-js for a request that was never sent, because the address is that of no host. */
function isUnresolved(details: string, address: string): boolean {
  return details === `Name resolution failed for target dns:${address}`;
}

export function errorOfCallStatus(
  { code, details, metadata }: GrpcCallStatus,
  { service, address }: GrpcServiceName,
): SynclineError {
  const texts = textsOf(metadata.getMap());
  const error = errorFromGrpc({ code, details, metadata: texts });
  const isConnectionError = error.code === 'unavailable' || error.code === 'timeout';
  if (texts['syncline-code'] !== undefined || !isConnectionError) return error;
  if (isUnresolved(details, address)) {
    const host = address.slice(0, address.lastIndexOf(':'));
    const message = `cannot reach ${service} at ${address}: unknown host name "${host}". Check the address.`;
    const options = { details: { address }, outcome: 'not-applied', cause: error } as const;
    return new SynclineError(error.code, message, options);
  }
  const outcome = NOT_SENT.test(details) ? 'not-applied' : error.outcome;
  const reason = plainReason(details);
  const distrust = certificateProblem(reason, CLIENT_TRUST);
  if (distrust !== undefined) {
    const message = `cannot reach ${service} at ${address}: ${distrust}`;
    const options = { details: { reason: 'certificate', address }, outcome, cause: error };
    return new SynclineError('unauthenticated', message, options);
  }
  const what = error.code === 'timeout' ? 'no reply in time from' : 'cannot reach';
  const message = `${what} ${service} at ${address}: ${reason}. ${adviceOn(details)}`;
  return new SynclineError(error.code, message, { details: { address }, outcome, cause: error });
}

/** Nothing was sent, or the server itself refused the call. The words of anyone else on the way prove nothing. */
export function isCallRefused({ details, metadata }: GrpcCallStatus, address: string): boolean {
  const wasNeverSent = NOT_SENT.test(details) || isUnresolved(details, address);
  return wasNeverSent || metadata.getMap()['syncline-code'] !== undefined;
}

/** The text from grpc-js on one line, without its standard prefix, the class of the error, the time and an empty note. */
function plainReason(details: string): string {
  return details
    .replace(/\s+/g, ' ')
    .replace(/ Resolution note: *$/, '')
    .replace(/^No connection established\. Last error: (?:Error(?: \[\w+\])?: )?/, '')
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/, '')
    .replace(/[. ]+$/, '');
}

/** A server responds, but not with HTTP/2. */
const OTHER_PROTOCOL = /Protocol error/;

function adviceOn(details: string): string {
  return OTHER_PROTOCOL.test(details)
    ? 'Check the port (by default, gRPC is on 7401 and HTTP on 7400) and the TLS settings on both sides.'
    : 'Check that a server is running there, and the TLS settings on both sides.';
}
