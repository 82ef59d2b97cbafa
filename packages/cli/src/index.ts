export { type CommandHelp, describeCli } from './command-help.js';
export { cliLimits } from './limits.js';
