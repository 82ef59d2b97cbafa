export { type ClockSubject, clockSuite } from './conformance/clock-suite.js';
export type { ConformanceCase } from './conformance/conformance-case.js';
export type { NetworkSubject } from './conformance/network-pair.js';
export { networkSuite } from './conformance/network-suite.js';
export { type RandomSubject, randomSuite } from './conformance/random-suite.js';
export { checkFeedComplete, checkFeedStream } from './feed/feed-checker.js';
