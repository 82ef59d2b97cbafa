// Converts errors to gRPC statuses, with our code and details in the trailing metadata.
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import { type LogFields, type Logger, SynclineError } from '@syncline/kernel';
import { GRPC_STATUS, grpcFailureOf } from '@syncline/protocol';
import { reportBug } from '../handler-bug.js';

export function statusOf(error: SynclineError): StatusObject {
  const { code, details, metadata } = grpcFailureOf(error);
  const trailer = new Metadata();
  for (const [name, value] of Object.entries(metadata)) trailer.set(name, value);
  return { code, details, metadata: trailer };
}

/** Converts what a handler threw. A gRPC status (`code` is one of its numbers) is passed on. */
export function statusFrom(
  thrown: unknown,
  logger: Logger,
  where: LogFields,
): Partial<StatusObject> {
  if (thrown instanceof SynclineError) return statusOf(thrown);
  if (thrown instanceof DOMException && thrown.name === 'AbortError')
    return statusOf(SynclineError.from(thrown));
  if (isStatus(thrown)) return thrown;
  return { ...statusOf(reportBug(logger, thrown, where)), code: GRPC_STATUS.INTERNAL };
}

const STATUSES: ReadonlySet<unknown> = new Set(Object.values(GRPC_STATUS));

/** The numeric codes of a DOMException are unrelated. */
function isStatus(thrown: unknown): thrown is Partial<StatusObject> {
  if (typeof thrown !== 'object' || thrown === null || thrown instanceof DOMException) return false;
  return 'code' in thrown && STATUSES.has(thrown.code);
}
