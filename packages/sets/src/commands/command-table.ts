// Every command that Syncline answers, in one list. Arity, flags, COMMAND and docs/COMMANDS.md come from it.
import type { Metrics } from '@syncline/kernel';
import type { Command } from './command.js';

export interface CommandTableDeps {
  readonly metrics: Metrics;
}

export function createCommandTable(_deps: CommandTableDeps): readonly Command[] {
  return [];
}
