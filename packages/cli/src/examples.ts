// Adds examples to the help of a command. They come first, since most users are looking for one.
import type { Command } from 'commander';
import { renderColumns } from './columns.js';

export type Example = readonly [line: string, what: string];

export function addExamples(command: Command, examples: readonly Example[]): void {
  command.addHelpText('before', ({ command: shown }) => {
    const title = shown.createHelp().styleTitle('Examples:');
    return `${title}\n${renderColumns(examples, '  ')}`;
  });
}
