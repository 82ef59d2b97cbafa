// Thrown to exit with this code and without a message: the code of a command that was run for the user, or 130 after
// Ctrl-C.
export class CommandExit extends Error {
  override readonly name = 'CommandExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}
