// `google.rpc.Status` with one `google.rpc.RetryInfo`, as bytes for the trailer `grpc-status-details-bin`.
// Clients of any language read the wait from it. Five fields do not need a protobuf library:
//
//   Status    { int32 code = 1; string message = 2; repeated Any details = 3; }
//   Any       { string type_url = 1; bytes value = 2; }
//   RetryInfo { Duration retry_delay = 1; }      Duration { int64 seconds = 1; int32 nanos = 2; }

const RETRY_INFO_URL = 'type.googleapis.com/google.rpc.RetryInfo';
const NANOS_PER_MS = 1_000_000;
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

export interface RetryStatus {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number;
}

export function encodeRetryStatus({ code, message, retryAfterMs }: RetryStatus): Buffer {
  const delay = Buffer.concat([
    numberField(1, Math.floor(retryAfterMs / 1000)),
    numberField(2, (retryAfterMs % 1000) * NANOS_PER_MS),
  ]);
  const retryInfo = bytesField(1, delay);
  const any = Buffer.concat([bytesField(1, Buffer.from(RETRY_INFO_URL)), bytesField(2, retryInfo)]);
  return Buffer.concat([
    numberField(1, code),
    bytesField(2, Buffer.from(message)),
    bytesField(3, any),
  ]);
}

/** 0 is the default and is left out. */
function numberField(field: number, value: number): Uint8Array {
  return Buffer.from(value === 0 ? [] : [(field << 3) | WIRE_VARINT, ...varint(value)]);
}

function bytesField(field: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([(field << 3) | WIRE_BYTES, ...varint(value.length)]), value]);
}

/** Whole numbers below 2³¹: seven bits per byte, the lowest first. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}
