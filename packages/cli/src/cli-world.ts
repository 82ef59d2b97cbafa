// The part of the outside world that commands may use, as a value that tests can replace. Data goes to
// `stdout`, messages to `stderr`.

export interface OutputStream {
  write(text: string): unknown;
  /** The reader has gone, as after `| head`. */
  readonly isUnread?: boolean;
  readonly isTTY?: boolean;
  /** Of a terminal, now. */
  readonly columns?: number;
  readonly rows?: number;
}

/**
 * `disconnect`: the process that started this one, and holds a channel to it or is npm, has gone. SIGHUP: its terminal
 * has gone.
 */
export type StopEvent = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'disconnect';

export interface CliWorld {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls back each time. From then on the event no longer ends the process by itself. */
  onStopEvent(listener: (event: StopEvent) => void): void;
  /** `leave` is called before Ctrl-Z suspends the process, and `back` when it resumes. */
  onSuspend(leave: () => void, back: () => void): void;
  /** The answer to a question; undefined without a terminal. */
  ask(question: string): Promise<string | undefined>;
  /** Notifies the parent process, if there is a channel, that all listeners accept. */
  reportStarted(): void;
  /** Makes new files and directories of this process accessible to its user only. */
  makeNewFilesPrivate(): void;
  /** Ends the process immediately. */
  exitNow(code: number): void;
}

/** Messages, in whole lines. */
export function say(world: CliWorld, text: string): void {
  world.stderr.write(`${text}\n`);
}
