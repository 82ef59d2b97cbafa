// Every limit of the testkit's tools.
import { defineLimits } from '@syncline/kernel';

export const testkitLimits = defineLimits({
  faultLineBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Under way in one direction of a proxied connection: 100 ms of latency still carry 10 MiB/s. Then reading stops.',
  },
  outputTailBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The last output that is kept of a child process, per stream: enough to see why it failed.',
  },
});
