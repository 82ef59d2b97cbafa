// What commander says about wrong usage, and of which command. It says it in the middle of parsing;
// the words for people need the names of the settings, which are loaded only then.
import type { Command, CommanderError } from 'commander';

export class WrongUsage extends Error {
  readonly command: Command;
  readonly said: CommanderError;

  constructor(command: Command, said: CommanderError) {
    super(said.message);
    this.command = command;
    this.said = said;
  }
}
