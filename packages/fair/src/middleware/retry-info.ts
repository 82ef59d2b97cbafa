// `google.rpc.Status` with one `google.rpc.RetryInfo`, as bytes for the trailer `grpc-status-details-bin`.
// Clients in any language can read the delay from it. Five fields do not need a protobuf library:
//
//   Status    { int32 code = 1; string message = 2; repeated Any details = 3; }
//   Any       { string type_url = 1; bytes value = 2; }
//   RetryInfo { Duration retry_delay = 1; }      Duration { int64 seconds = 1; int32 nanos = 2; }
import { WireWriter } from '@syncline/kernel/wire';

const RETRY_INFO_URL = 'type.googleapis.com/google.rpc.RetryInfo';
const NANOS_PER_MS = 1_000_000;

export interface RetryStatus {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number;
}

export function encodeRetryStatus({ code, message, retryAfterMs }: RetryStatus): Buffer {
  const writer = new WireWriter();
  writer.uint(1, code);
  writer.text(2, message);
  const any = writer.begin(3);
  writer.text(1, RETRY_INFO_URL);
  const retryInfo = writer.begin(2);
  const delay = writer.begin(1);
  writer.uint(1, Math.floor(retryAfterMs / 1000));
  writer.uint(2, (retryAfterMs % 1000) * NANOS_PER_MS);
  writer.end(delay);
  writer.end(retryInfo);
  writer.end(any);
  return writer.copy();
}
