// The limits of the testkit.
import { defineLimits } from '@syncline/kernel';

export const testkitLimits = defineLimits({
  faultLineBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes in flight in one direction of a proxied connection: enough for 10 MiB/s with 100 ms of latency. Above this limit, reading stops.',
  },
  outputTailBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The last output that is kept of a child process, per stream: enough to see why it failed.',
  },
});
