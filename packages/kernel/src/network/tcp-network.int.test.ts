import { describe, it } from 'vitest';
import { networkSuite } from '../conformance/network-suite.js';
import { kernelLimits } from '../limits.js';
import { createSystemClock } from '../system-clock.js';
import { createTcpNetwork } from './tcp-network.js';

describe('the TCP network', () => {
  for (const { name, run } of networkSuite(async () => ({
    network: createTcpNetwork(),
    clock: createSystemClock(),
    host: '127.0.0.1',
    highWaterBytes: kernelLimits.connectionHighWaterBytes.value,
    transitBytesMax: 64 * 1024 * 1024, // what Linux may let the buffers of both sides grow to
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);
});
