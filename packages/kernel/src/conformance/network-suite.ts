// The contract of every Network: TCP, TLS, the simulated one, and yours.
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { networkCloseCases } from './network-close-cases.js';
import { networkOpenCases } from './network-open-cases.js';
import type { NetworkSubject } from './network-pair.js';
import { networkTransferCases } from './network-transfer-cases.js';

/** `create` is called once per case. */
export function networkSuite(
  create: () => Promise<NetworkSubject & AsyncDisposable>,
): readonly ConformanceCase[] {
  return casesFor<NetworkSubject>(create, {
    ...networkOpenCases,
    ...networkTransferCases,
    ...networkCloseCases,
  });
}
