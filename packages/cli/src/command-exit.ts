// The exit code of a command that was run for the user: it is passed on unchanged, with no message of ours.
export class CommandExit extends Error {
  override readonly name = 'CommandExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}
