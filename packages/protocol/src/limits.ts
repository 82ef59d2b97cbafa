// Every limit of the protocol package. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const protocolLimits = defineLimits({
  errorMessageBytesMax: {
    value: 2_048,
    unit: 'bytes',
    why: 'A longer error message is truncated on the wire. gRPC sends it in a header, where a byte may take three, and peers may refuse headers above 16 KiB.',
  },
  errorDetailsBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Error details whose JSON is longer are left out on the wire, for the same reason.',
  },
});
