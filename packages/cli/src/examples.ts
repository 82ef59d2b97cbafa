// Adds examples to the help of a command. They come first, since most users are looking for one.
//
// Every command loads this file, so it does not load the tables of character widths: examples are ASCII.
import type { Command } from 'commander';

export type Example = readonly [line: string, what: string];

export function addExamples(command: Command, examples: readonly Example[]): void {
  command.addHelpText('before', ({ command: shown }) => {
    const title = shown.createHelp().styleTitle('Examples:');
    const width = Math.max(...examples.map(([line]) => line.length));
    const lines = examples.map(([line, what]) => `  ${line.padEnd(width)}  ${what}\n`);
    return `${title}\n${lines.join('')}`;
  });
}
