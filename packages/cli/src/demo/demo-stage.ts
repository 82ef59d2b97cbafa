// What an act of the demo uses: the nodes, timing, output, and the check of its result.
import { SynclineError } from '@syncline/kernel';
import type { CliWorld } from '../cli-world.js';
import { paintFor } from '../paint.js';
import type { DemoCluster } from './demo-cluster.js';

const READING_MS = 3_000;

export interface Act {
  readonly name: string;
  readonly title: string;
  play(stage: Stage): Promise<void>;
}

export interface StageOptions {
  /** Shorter pauses and less load, for scripts and tests. */
  readonly isFast: boolean;
  /** JSON lines instead of text. */
  readonly isJson: boolean;
}

export class Stage {
  readonly cluster: DemoCluster;
  readonly isFast: boolean;
  /** For files of the acts; removed at the end. */
  readonly directory: string;
  /** Fires to end the demo early. */
  readonly signal: AbortSignal;
  readonly #world: CliWorld;
  readonly #isJson: boolean;
  #act = '';

  constructor(
    deps: {
      readonly world: CliWorld;
      readonly cluster: DemoCluster;
      readonly directory: string;
      readonly signal: AbortSignal;
    },
    { isFast, isJson }: StageOptions,
  ) {
    this.cluster = deps.cluster;
    this.signal = deps.signal;
    this.directory = deps.directory;
    this.isFast = isFast;
    this.#world = deps.world;
    this.#isJson = isJson;
  }

  async play(act: Act): Promise<void> {
    this.signal.throwIfAborted();
    this.#act = act.name;
    this.#write({ kind: 'act', act: act.name, title: act.title }, (paint) =>
      paint('bold', `\n${act.name}: ${act.title}`),
    );
    await act.play(this);
  }

  /** Prints what happens, and pauses so that it can be read. `view` is the page of the dashboard that shows it. */
  async narrate(text: string, view?: string): Promise<void> {
    const url = view === undefined ? undefined : this.cluster.url(1, view);
    this.#write({ kind: 'step', act: this.#act, text, url }, (paint) => {
      const place = url === undefined ? '' : paint('dim', `  ${url}`);
      return `  ${text}${place}`;
    });
    if (!this.isFast) await pause(READING_MS, this.signal);
  }

  /** Prints the result of an act. Throws, with the figures, if the check failed. */
  check(isTrue: boolean, text: string, figures: Readonly<Record<string, number | string>>): void {
    this.#write({ kind: 'check', act: this.#act, ok: isTrue, text, figures }, (paint) =>
      isTrue ? paint('green', `  ✓ ${text}`) : paint('red', `  ✗ check failed: ${text}`),
    );
    if (isTrue) return;
    const found = JSON.stringify(figures);
    throw new SynclineError(
      'conflict',
      `the ${this.#act} part failed: expected "${text}", found ${found}`,
    );
  }

  started(): void {
    const nodes = this.cluster.nodes.map(({ nodeId }) => ({
      node: nodeId,
      url: this.cluster.url(nodeId, '/'),
    }));
    this.#write({ kind: 'started', nodes }, (paint) =>
      [
        `\n${paint('bold', 'Syncline demo')}: three nodes are running on this machine.`,
        `Open the dashboard: ${paint('cyan', this.cluster.url(1, '/'))}`,
      ].join('\n'),
    );
  }

  ended(actsCount: number): void {
    this.#write(
      { kind: 'ended', acts: actsCount },
      () => `\n${actsCount === 1 ? 'This part' : `All ${actsCount} parts`} passed.`,
    );
  }

  #write(json: object, words: (paint: ReturnType<typeof paintFor>) => string): void {
    const { stdout, environment } = this.#world;
    const line = this.#isJson ? JSON.stringify(json) : words(paintFor(stdout, environment));
    stdout.write(`${line}\n`);
  }
}

/** Polls until the condition holds. Rejects after a timeout, or when the demo ends. */
export async function until<T>(
  what: string,
  { signal }: Pick<Stage, 'signal'>,
  ask: () => Promise<T | undefined> | T | undefined,
  deadlineMs = 60_000,
): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() - startedMs > deadlineMs) {
      const message = `the demo timed out after ${deadlineMs / 1_000} s waiting for ${what}. The machine may be too busy; try again.`;
      throw new SynclineError('timeout', message);
    }
    await pause(50, signal);
  }
}

/** Rejects when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(SynclineError.from(signal.reason, 'aborted'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
