export { cliLimits } from './limits.js';
export { main } from './main.js';
