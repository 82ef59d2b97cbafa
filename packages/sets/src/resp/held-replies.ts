// Keeps replies back until the commit that they saw is settled, and lets them leave in order.
//
//   written ─▶ run: replies with the same commit ─▶ held ─ stored ──▶ output
//                                                       └─ undone ──▶ as many MISCONF errors
//
// A reply that waits for nothing leaves at once, unless one before it is held. Runs that lie behind each
// other in one buffer leave as one chunk.
//
// S5  No reply leaves before the commit that its command saw is as durable as configured.
import type { SynclineError } from '@syncline/kernel';
import { misconfText } from './misconf.js';
import type { ReplyWriter } from './reply-writer.js';
import type { SettledCommits } from './session-deps.js';
import type { SessionOutput } from './session-output.js';

export interface HeldRepliesDeps {
  readonly writer: ReplyWriter;
  readonly output: SessionOutput;
  readonly commits: SettledCommits;
  /** Fewer bytes are held than before. */
  onReleased(): void;
}

/** 0: these replies wait for nothing. */
interface Run {
  readonly commit: number;
  repliesCount: number;
  /** Where it ends among what is written. */
  end: number;
}

interface HeldRun {
  readonly commit: number;
  readonly repliesCount: number;
  readonly bytes: Uint8Array;
  isSettled: boolean;
  error: SynclineError | undefined;
}

export class HeldReplies {
  readonly #deps: HeldRepliesDeps;
  /** Written in this turn and not flushed. */
  #runs: Run[] = [];
  #lastRun: Run | undefined;
  #held: HeldRun[] = [];
  #heldBytes = 0;
  /** The commit of which we shall hear; 0: none. */
  #awaited = 0;
  #isEnding = false;

  constructor(deps: HeldRepliesDeps) {
    this.#deps = deps;
  }

  /** Bytes that wait for a commit, or behind one that does. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The reply that ends here, the newest one, has seen `commit`. */
  answered(commit: number): void {
    const last = this.#lastRun;
    const end = this.#deps.writer.length;
    if (last?.commit === commit) {
      last.repliesCount += 1;
      last.end = end;
      return;
    }
    this.#lastRun = { commit, repliesCount: 1, end };
    this.#runs.push(this.#lastRun);
  }

  /** Hands on a part of a reply that is still being made. All of that reply is stored, so it waits for nothing. */
  partDone(): void {
    this.answered(0);
    this.flush();
  }

  /** Hands on all replies that are complete. */
  flush(): void {
    const runs = this.#runs;
    const last = this.#lastRun;
    if (last === undefined) return;
    const bytes = this.#deps.writer.take(last.end);
    this.#runs = [];
    this.#lastRun = undefined;
    if (this.#held.length === 0 && runs.length === 1 && last.commit === 0) {
      this.#deps.output.write(bytes);
      return;
    }
    this.#hold(bytes, runs);
    this.#release();
  }

  /** No reply comes behind these. */
  end(): void {
    this.#isEnding = true;
    this.#endIfDone();
  }

  /** The client is gone. */
  drop(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }

  #hold(bytes: Uint8Array, runs: readonly Run[]): void {
    let start = 0;
    for (const { commit, repliesCount, end } of runs) {
      const part = runs.length === 1 ? bytes : bytes.subarray(start, end);
      this.#held.push({
        commit,
        repliesCount,
        bytes: part,
        isSettled: commit === 0,
        error: undefined,
      });
      start = end;
    }
    this.#heldBytes += bytes.length;
    this.#await();
  }

  /** Nothing leaves before the oldest run that is not settled, so that is the one to hear of. */
  #await(): void {
    if (this.#awaited !== 0) return;
    const oldest = this.#held.find((run) => !run.isSettled);
    if (oldest === undefined) return;
    this.#awaited = oldest.commit;
    this.#deps.commits.whenSettled(oldest.commit, this.#onSettled);
  }

  /** A commit is stored with all before it, and undone with all behind it. */
  readonly #onSettled = (error: SynclineError | undefined): void => {
    const commit = this.#awaited;
    this.#awaited = 0;
    for (const run of this.#held) {
      if (run.isSettled || (error === undefined && run.commit > commit)) continue;
      run.isSettled = true;
      run.error = error;
    }
    this.#release();
    this.#await();
  };

  #release(): void {
    let count = 0;
    let chunk: Uint8Array | undefined;
    for (const run of this.#held) {
      if (!run.isSettled) break;
      count += 1;
      this.#heldBytes -= run.bytes.length;
      const bytes = run.error === undefined ? run.bytes : refusals(run, run.error);
      const joined = chunk === undefined ? bytes : joinedView(chunk, bytes);
      if (joined === undefined && chunk !== undefined) this.#deps.output.write(chunk);
      chunk = joined ?? bytes;
    }
    if (count === this.#held.length) this.#held = [];
    else this.#held.splice(0, count);
    if (chunk === undefined) return;
    this.#deps.output.write(chunk);
    this.#endIfDone();
    this.#deps.onReleased();
  }

  #endIfDone(): void {
    if (this.#isEnding && this.#held.length === 0) this.#deps.output.end();
  }
}

function refusals({ repliesCount }: HeldRun, error: SynclineError): Uint8Array {
  const line = `-${misconfText(error).replaceAll(/[\r\n]/g, ' ')}\r\n`;
  return Buffer.from(line.repeat(repliesCount), 'latin1');
}

/** One view over both, if the second lies right behind the first. */
function joinedView(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const isBehind =
    first.buffer === second.buffer && first.byteOffset + first.length === second.byteOffset;
  if (!isBehind) return undefined;
  return new Uint8Array(first.buffer, first.byteOffset, first.length + second.length);
}
