// The part of the outside world that commands may touch, as a value, so that tests can give another.
// Data goes to `stdout`, words to `stderr`.

export interface OutputStream {
  write(text: string): unknown;
  /** Whoever read it has gone, as after `| head`. */
  readonly isUnread?: boolean;
  readonly isTTY?: boolean;
  /** Of a terminal, now. */
  readonly columns?: number;
  readonly rows?: number;
}

/** `disconnect`: the process that started this one, and holds a channel to it or is npm, has gone. */
export type StopEvent = 'SIGINT' | 'SIGTERM' | 'disconnect';

export interface CliWorld {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls back each time. From then on the event no longer ends the process by itself. */
  onStopEvent(listener: (event: StopEvent) => void): void;
  /** Before Ctrl-Z puts the process to sleep `leave` is called, and `back` when it goes on. */
  onSuspend(leave: () => void, back: () => void): void;
  /** What was typed behind the question; undefined where there is no terminal to ask on. */
  ask(question: string): Promise<string | undefined>;
  /** Tells the process that started this one, if it holds a channel, that all listeners accept. */
  reportStarted(): void;
  /** From now on files and directories that this process creates are for its user only. */
  makeNewFilesPrivate(): void;
  /** Ends the process at once. */
  exitNow(code: number): void;
}

/** Words for people, in whole lines. */
export function say(world: CliWorld, text: string): void {
  world.stderr.write(`${text}\n`);
}
