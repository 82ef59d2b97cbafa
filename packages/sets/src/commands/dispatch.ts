// From a parsed command to its answer.
import type { Metrics } from '@syncline/kernel';
import type { CommandContext } from './command.js';
import { createCommandTable } from './command-table.js';
import { CommandLookup } from './lookup.js';

export interface DispatchDeps {
  readonly metrics: Metrics;
}

/** A promise: the answer comes later, and what is behind it on the connection waits. It never rejects. */
export type Dispatch = (context: CommandContext) => void | Promise<void>;

export function createDispatch({ metrics }: DispatchDeps): Dispatch {
  const lookup = new CommandLookup(createCommandTable({ metrics }));
  return (context) => {
    const known = lookup.find(context.args, 0);
    return known?.command.run(context);
  };
}
