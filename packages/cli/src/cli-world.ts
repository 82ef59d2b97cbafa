// Everything outside the process that commands may use, as an interface that tests can replace. Data goes to
// `stdout`, messages go to `stderr`.

export interface OutputStream {
  write(text: string): unknown;
  /** The reader has closed the pipe, as with `| head`. */
  readonly isUnread?: boolean;
  readonly isTTY?: boolean;
  /** The current size, if it is a terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

/** `disconnect`: the parent process (npm, or one with an IPC channel) has exited. SIGHUP: the terminal was closed. */
export type StopEvent = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'disconnect';

export interface CliWorld {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls back for each event. From then on, these events no longer end the process by themselves. */
  onStopEvent(listener: (event: StopEvent) => void): void;
  /** `leave` is called before Ctrl-Z suspends the process, and `back` when it resumes. */
  onSuspend(leave: () => void, back: () => void): void;
  /** Asks the user and returns the answer; undefined if stdin is not a terminal. */
  ask(question: string): Promise<string | undefined>;
  /** Notifies the parent process over the IPC channel, if there is one, that the node is ready. */
  reportStarted(): void;
  /** Makes new files and directories of this process accessible to its user only. */
  makeNewFilesPrivate(): void;
  /** Ends the process immediately. */
  exitNow(code: number): void;
}

/** Prints a message and a newline to standard error. */
export function say(world: CliWorld, text: string): void {
  world.stderr.write(`${text}\n`);
}
