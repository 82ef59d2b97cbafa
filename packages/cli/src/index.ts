export { cliLimits } from './limits.js';
