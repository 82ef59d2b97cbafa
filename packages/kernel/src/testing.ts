export type { ConformanceCase } from './conformance/conformance-case.js';
