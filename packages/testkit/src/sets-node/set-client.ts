// One client of the node: a RESP session without a socket. It sends random commands, some at once and cut
// anywhere, and writes down what it sent, what it was told, and what was stored at both moments.
import { assert, type Clock } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import type { RespSession, Sets } from '@syncline/sets';
import { type RandomCommand, RandomCommands } from './random-commands.js';
import { RespReplies, type RespReply } from './resp-replies.js';
import type { Sent, SetsLife } from './sets-life.js';
import type { SetsPlan } from './sets-plan.js';

/** What a node may answer instead of a reply: its disk, or its stop. */
const REFUSALS = /^(MISCONF|ERR server is shutting down|EXECABORT)/;
/** And where so little fits into memory that the sets of a transaction do not. */
const SMALL_CACHE_REFUSALS = /^ERR transaction reads /;

export interface SetClientDeps {
  readonly sets: Sets;
  readonly life: SetsLife;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** Of each command, before it is sent and when it is answered. */
  readonly onSent: (command: RandomCommand) => void;
  readonly onAnswered: (sent: Sent) => void;
}

export class SetClient {
  readonly #deps: SetClientDeps;
  readonly #plan: SetsPlan;
  readonly #session: RespSession;
  readonly #commands: RandomCommands;
  readonly #sent: Sent[] = [];
  readonly #replies = new RespReplies();
  /** Of the command that is answered next. */
  #gathered: RespReply[] = [];
  #answeredCount = 0;
  #isEnded = false;
  #wake: () => void = () => {};

  constructor(deps: SetClientDeps, plan: SetsPlan) {
    this.#deps = deps;
    this.#plan = plan;
    this.#commands = new RandomCommands(deps.random, plan);
    deps.life.clients.push(this.#sent);
    const gone = new AbortController();
    this.#session = deps.sets.connect({
      address: { host: '127.0.0.1', port: 1 },
      loopback: true,
      gone: gone.signal,
      cut: () => gone.abort(),
    });
    this.#session.writeTo({
      write: (chunk) => {
        for (const reply of this.#replies.push(chunk)) this.#answered(reply);
        this.#wake();
        return true;
      },
      drained: () => Promise.resolve(),
      end: () => {
        this.#isEnded = true;
        this.#wake();
      },
    });
  }

  /** Until `isLoading` is false, or the node has closed the connection. */
  async run(isLoading: () => boolean): Promise<void> {
    const { clock, random } = this.#deps;
    while (isLoading() && !this.#isEnded) {
      this.#send(1 + Math.floor(random.float() * this.#plan.pipelineMax));
      while (this.#answeredCount < this.#sent.length && !this.#isEnded) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await clock.sleep(random.float() ** 3 * this.#plan.betweenMsMax);
    }
  }

  #send(count: number): void {
    const { life, random, onSent } = this.#deps;
    const chunks: Buffer[] = [];
    for (let index = 0; index < count; index += 1) {
      const command = this.#commands.next();
      onSent(command);
      this.#sent.push({ ...command, storedBefore: life.storedCount, answer: undefined });
      for (const words of wholeOf(command)) chunks.push(encode(words));
    }
    const bytes = Buffer.concat(chunks);
    const cut = Math.floor(random.float() * bytes.length);
    void this.#session.push(bytes.subarray(0, cut));
    void this.#session.push(bytes.subarray(cut));
  }

  #answered(reply: RespReply): void {
    const sent = this.#sent[this.#answeredCount];
    assert(sent !== undefined, 'nobody asked for this answer');
    if (reply.type === '-') this.#checkRefusal(sent, reply.text ?? '');
    this.#gathered.push(reply);
    if (this.#gathered.length < wholeOf(sent).length) return;
    sent.answer = { replies: this.#gathered, storedAfter: this.#deps.life.storedCount };
    this.#gathered = [];
    this.#answeredCount += 1;
    this.#deps.onAnswered(sent);
  }

  #checkRefusal({ words }: Sent, text: string): void {
    const isExpected =
      REFUSALS.test(text) || (this.#plan.isCacheSmall && SMALL_CACHE_REFUSALS.test(text));
    assert(isExpected, `${words.map((command) => command.join(' ')).join(', ')} got ${text}`);
  }
}

function wholeOf({ words, isTransaction }: RandomCommand): readonly (readonly string[])[] {
  return isTransaction ? [['MULTI'], ...words, ['EXEC']] : words;
}

function encode(words: readonly string[]): Buffer {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`, 'latin1');
}
