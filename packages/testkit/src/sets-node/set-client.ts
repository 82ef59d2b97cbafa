// One client of the node: a RESP session without a socket. It sends random commands, some at once and cut anywhere,
// and records what it sent, what it was told, and what was stored at both moments.
import { assert, type Clock, type Durability } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import type { RespSession, Sets } from '@syncline/sets';
import { encodeCommand, RespReplies, type RespReply } from '@syncline/sets/testing';
import {
  type RandomCommand,
  RandomCommands,
  type RandomCommandsOptions,
} from './random-commands.js';
import type { Sent, SetsHistory } from './sets-history.js';

/** What a node may answer instead of a reply: its disk, its start or stop, a pin that was broken. */
const REFUSALS =
  /^(MISCONF|LOADING|ERR server is shutting down|EXECABORT|ERR Background save already|\w+ the sets changed too much)/;
const RECONNECT_MS_MAX = 100;

export interface SetClientDeps {
  readonly sets: Sets;
  readonly history: SetsHistory;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly told: ToldDurability;
  /** False when the process has ended: what it still says is heard by nobody. */
  readonly isAlive: () => boolean;
  /** False when nothing more is to be sent. */
  readonly isWanted: () => boolean;
  readonly onCut: () => void;
}

export interface SetClientOptions extends RandomCommandsOptions {
  /** Commands that are sent at once, at most. */
  readonly pipelineMax: number;
  readonly betweenMsMax: number;
}

/** Connects again whenever the node has closed the connection. */
export async function runClient(deps: SetClientDeps, options: SetClientOptions): Promise<void> {
  while (deps.isWanted()) {
    await new Connection(deps, options).run();
    await deps.clock.sleep(deps.random.float() * RECONNECT_MS_MAX);
  }
}

class Connection {
  readonly #deps: SetClientDeps;
  readonly #options: SetClientOptions;
  readonly #session: RespSession;
  readonly #commands: RandomCommands;
  readonly #sent: Sent[] = [];
  readonly #replies = new RespReplies();
  /** Of the command that is answered next. */
  #gathered: RespReply[] = [];
  #answeredCount = 0;
  #isEnded = false;
  #wake: () => void = () => {};

  constructor(deps: SetClientDeps, options: SetClientOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#commands = new RandomCommands(deps.random, options);
    deps.history.life.connections.push(this.#sent);
    const gone = new AbortController();
    const end = () => {
      this.#isEnded = true;
      this.#wake();
    };
    this.#session = deps.sets.connect({
      address: { host: '127.0.0.1', port: 1 },
      loopback: true,
      gone: gone.signal,
      cut: () => {
        deps.onCut();
        gone.abort();
        end();
      },
    });
    this.#session.writeTo({
      write: (chunk) => {
        if (!deps.isAlive() || this.#isEnded) return true;
        for (const reply of this.#replies.push(chunk)) this.#answered(reply);
        this.#wake();
        return true;
      },
      drained: () => Promise.resolve(),
      end,
    });
  }

  async run(): Promise<void> {
    const { clock, random, isWanted } = this.#deps;
    const { pipelineMax, betweenMsMax } = this.#options;
    while (isWanted() && !this.#isEnded) {
      this.#send(1 + Math.floor(random.float() * pipelineMax));
      while (this.#answeredCount < this.#sent.length && !this.#isEnded) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await clock.sleep(random.float() ** 3 * betweenMsMax);
    }
  }

  #send(count: number): void {
    const { history, random, told } = this.#deps;
    const chunks: Uint8Array[] = [];
    for (let index = 0; index < count; index += 1) {
      const command = this.#commands.next();
      told.sent(command);
      const storedBefore = history.life.appendedCount;
      this.#sent.push({ ...command, storedBefore, answer: undefined });
      chunks.push(...wholeOf(command).map(encodeCommand));
    }
    const bytes = Buffer.concat(chunks);
    const cut = Math.floor(random.float() * bytes.length);
    void this.#session.push(bytes.subarray(0, cut));
    void this.#session.push(bytes.subarray(cut));
  }

  #answered(reply: RespReply): void {
    const { history, told } = this.#deps;
    const sent = this.#sent[this.#answeredCount];
    assert(sent !== undefined, 'S20: an answer that nobody asked for');
    if (reply.type === '-')
      assert(REFUSALS.test(reply.text ?? ''), `${describe(sent)} got ${reply.text}`);
    this.#gathered.push(reply);
    if (this.#gathered.length < wholeOf(sent).length) return;
    const { appendedCount, syncedCount } = history.life;
    const storedAfter = told.now === 'synced' ? syncedCount : appendedCount;
    sent.answer = { replies: this.#gathered, storedAfter };
    this.#gathered = [];
    this.#answeredCount += 1;
    told.answered(sent);
    const [version, dots, xor] = (reply.items ?? []).map(({ text }) => text ?? '');
    if (sent.words[0]?.[0] === 'SYNCLINE.DIGEST' && version !== undefined)
      history.shown(version, `${dots} ${xor}`);
  }
}

/**
 * The class of durability that clients may count on: what the node was started with, and then what the last CONFIG SET
 * has answered. While one is in flight, and after two at once, it may be either.
 */
export class ToldDurability {
  #told: Durability | undefined;
  #inFlight = 0;
  #isUnsure = false;

  constructor(durability: Durability) {
    this.#told = durability;
  }

  get now(): Durability | undefined {
    return this.#told;
  }

  sent(command: RandomCommand): void {
    if (classOf(command) === undefined) return;
    this.#told = undefined;
    if (this.#inFlight > 0) this.#isUnsure = true;
    this.#inFlight += 1;
  }

  answered(sent: Sent): void {
    const asked = classOf(sent);
    if (asked === undefined) return;
    this.#inFlight -= 1;
    if (sent.answer?.replies[0]?.type !== '+') this.#isUnsure = true;
    if (this.#inFlight > 0) return;
    this.#told = this.#isUnsure ? undefined : asked;
    this.#isUnsure = false;
  }
}

function classOf({ words: [first] }: RandomCommand): Durability | undefined {
  if (first?.[0] !== 'CONFIG') return undefined;
  return first.at(-1) === 'always' ? 'synced' : 'buffered';
}

function wholeOf({ words, isTransaction }: RandomCommand): readonly (readonly string[])[] {
  return isTransaction ? [['MULTI'], ...words, ['EXEC']] : words;
}

/** Short enough to be read. */
export function describe({ words }: RandomCommand): string {
  const texts = words.map((command) =>
    command.length > 12
      ? `${command.slice(0, 6).join(' ')} … (${command.length})`
      : command.join(' '),
  );
  return texts.join(', ');
}
