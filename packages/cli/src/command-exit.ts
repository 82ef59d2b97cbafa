// Thrown to exit with the exit code of a command that was run for the user, without a message of our own.
export class CommandExit extends Error {
  override readonly name = 'CommandExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}
