// What travels of a SynclineError, whatever the transport: all but its stack and its cause, so that
// the other side can rebuild the same error.
//
// Details are for programs and go as JSON. What is not JSON, or longer than its limit, is left out:
// an error must always arrive, also one with careless details.

import type { ErrorCode } from '@syncline/kernel';
import { isErrorCode, type Outcome, SynclineError } from '@syncline/kernel';
import { protocolLimits } from './limits.js';

type Details = Readonly<Record<string, unknown>>;

const MESSAGE_BYTES_MAX = protocolLimits.errorMessageBytesMax.value;
const DETAILS_BYTES_MAX = protocolLimits.errorDetailsBytesMax.value;

/** Cut between characters; half a surrogate pair, on which gRPC's encoder throws, is replaced. */
export function wireMessage(error: SynclineError): string {
  const bytes = new Uint8Array(MESSAGE_BYTES_MAX);
  const { read, written } = new TextEncoder().encodeInto(error.message, bytes);
  const sent = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, written));
  return read < error.message.length ? `${sent}…` : sent;
}

/** ASCII, so that it may stand in a header. Undefined when there is nothing that can be sent. */
export function wireDetails(error: SynclineError): string | undefined {
  if (Object.keys(error.details).length === 0) return undefined;
  const json = jsonOf(error.details)?.replace(/[^ -~]/g, escapeUnit);
  return json === undefined || json.length > DETAILS_BYTES_MAX ? undefined : json;
}

function jsonOf(details: Details): string | undefined {
  try {
    return JSON.stringify(details);
  } catch {
    return undefined; // a cycle or a bigint
  }
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What arrived beside the message; every part may be missing or foreign. */
export interface WireParts {
  readonly code: unknown;
  readonly retryable: unknown;
  readonly outcome: unknown;
  readonly details: unknown;
}

/** What to believe when a part is missing: a proxy, another program, or a newer server answered. */
export interface Fallback {
  readonly code: ErrorCode;
  readonly outcome: Outcome;
}

export function errorFromWire(
  message: string,
  parts: WireParts,
  fallback: Fallback,
): SynclineError {
  const { code, retryable, outcome, details } = parts;
  return new SynclineError(
    typeof code === 'string' && isErrorCode(code) ? code : fallback.code,
    message,
    {
      ...(typeof retryable === 'boolean' ? { retryable } : {}),
      outcome: outcome === 'not-applied' || outcome === 'unknown' ? outcome : fallback.outcome,
      ...(isRecord(details) ? { details } : {}),
    },
  );
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
