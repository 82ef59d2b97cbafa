export type { FairStoreSubject } from './conformance/fair-store-subject.js';
export { fairStoreSuite } from './conformance/fair-store-suite.js';
export {
  createEvaluation,
  type Evaluation,
  type EvaluationOptions,
} from './evaluation/evaluate.js';
export { type ClientClass, type Scenario, scenarios } from './evaluation/scenario.js';
export type { Verdict } from './evaluation/verdict.js';
