// Carries commander's usage error and the command it is about. It is thrown while arguments are parsed; the full
// message needs the names of the settings, which are loaded only after that.
import type { Command, CommanderError } from 'commander';

export class WrongUsage extends Error {
  readonly command: Command;
  readonly error: CommanderError;

  constructor(command: Command, error: CommanderError) {
    super(error.message);
    this.command = command;
    this.error = error;
  }
}
