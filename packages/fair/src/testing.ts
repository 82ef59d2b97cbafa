export {
  createEvaluation,
  type Evaluation,
  type EvaluationOptions,
  type EvaluationResult,
} from './evaluation/evaluate.js';
export { type ClientClass, type Scenario, scenarios } from './evaluation/scenario.js';
