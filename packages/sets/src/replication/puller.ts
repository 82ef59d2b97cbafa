// Pulls from one peer what this node has missed. Pure: `step` does a little work, `receive` takes a message.
//
//   opened ─▶ counting the dots that both have seen ─▶ gathering the payload
//                                                        └─▶ removes, if these dots differ ─▶ ready
//
// A dot that is live there and not here was never seen here, or was removed here; one that is live here and not
// there, though the peer has seen it, was removed there. Versions distinguish these cases. So adds are listed by the
// peer, and only missed removes need decoding, among dots that both have seen. What arrives is not trusted: a wrong
// dot ends the pull before anything has changed.
//
// S32  Dots added here since the pin count as missed removes if the peer has seen them and does not send them.
import { type Dot, SynclineError } from '@syncline/kernel';
import { RibltError } from '@syncline/riblt';
import { LiveDigest } from '../engine/live-digest.js';
import { AddedDots, DotPin } from '../engine/pins.js';
import type { SetsState } from '../engine/sets-state.js';
import { setsLimits } from '../limits.js';
import { DotSet } from './dot-set.js';
import { type DotDifferences, MissedRemoves } from './missed-removes.js';
import { Payload, PayloadWriter } from './payload.js';
import type { PullLimits } from './pull-limits.js';
import type { OfferMessage, PullMessage, SymbolsMessage } from './pull-messages.js';

export interface PullerDeps {
  readonly state: SetsState;
  readonly limits: PullLimits;
  send(message: PullMessage): void;
}

export interface PullerOptions {
  readonly session: number;
  /** Request a listing right away: symbols have failed before. */
  readonly listing: boolean;
}

/** `busy`: try later. `corrupt`: what the peer sent is inconsistent; request a listing next time. */
export type PullEnd = 'nothing' | 'busy' | 'diverged' | 'corrupt';

type Stage = 'opened' | 'counting' | 'gathering' | 'removes';

export class Puller {
  readonly session: number;
  readonly #deps: PullerDeps;
  readonly #options: PullerOptions;
  readonly #pin: DotPin;
  readonly #added: AddedDots;
  readonly #digest: Pick<LiveDigest, 'liveDots' | 'xor'>;
  readonly #common: LiveDigest;
  /** What the peer sent, encoded; and its dots, to detect one that is sent twice. */
  readonly #frames: Uint8Array[] = [];
  readonly #unseen = new DotSet();
  #framesBytes = 0;
  #framesAsked = 0;
  #framesReceived = 0;
  #isPayloadComplete = false;
  #offer: OfferMessage | undefined;
  #stage: Stage = 'opened';
  #end: PullEnd | 'ready' | undefined;
  #removes: MissedRemoves | undefined;
  #isEqual = false;
  readonly #dropsWriter = new PayloadWriter();
  readonly #drops: Uint8Array[] = [];

  /** Must be called between turns. Nothing is sent before `open`. */
  constructor(deps: PullerDeps, options: PullerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.session = options.session;
    this.#pin = new DotPin(deps.state, 'again');
    this.#added = new AddedDots(deps.state);
    const { liveDots, xor } = deps.state.digest;
    this.#digest = { liveDots, xor };
    this.#common = new LiveDigest(deps.state.ribltKey);
  }

  /** Called once everything in the pin is as durable as configured. */
  open(): void {
    const { session, listing } = this.#options;
    const { liveDots, xor } = this.#digest;
    const { version } = this.#pin;
    this.#deps.send({ kind: 'open', session, version, liveDots, xor, listing });
  }

  close(): void {
    this.#pin.close();
    this.#added.close();
  }

  get offer(): OfferMessage | undefined {
    return this.#offer;
  }

  /** More than fits in memory twice: to be loaded as it arrives. */
  get isLarge(): boolean {
    const { dotsMax, bytesMax } = this.#deps.limits;
    return (this.#offer?.unseen ?? 0) > dotsMax || this.#framesBytes > bytesMax;
  }

  /** The peer has the same version but different dots. */
  get isDiverged(): boolean {
    return this.#offer?.verdict === 'diverged';
  }

  /** The peer reported the version and digest of our pin: both nodes hold the same sets. */
  get isEqual(): boolean {
    return this.#isEqual;
  }

  /** What a divergence consists of, as far as it was found. */
  differences(): DotDifferences {
    return this.#removes?.differences() ?? { onlyHere: [], onlyThere: [] };
  }

  get symbolsCount(): number {
    return this.#removes?.symbolsCount ?? 0;
  }

  /** Payloads that arrived since the last call. */
  takeFrames(): readonly Uint8Array[] {
    this.#framesBytes = 0;
    return this.#frames.splice(0);
  }

  /**
   * What is to be dropped, as payloads, once the puller is ready. Called with the gate closed and between turns,
   * since it depends on what was added in the meantime.
   */
  drops(): readonly Uint8Array[] {
    if (this.#added.isBroken) throw brokenPin();
    this.#added.forEach((set, member, dot) => {
      if (!this.#unseen.has(dot.actor, dot.counter)) this.#drop(set, member, dot);
    });
    this.#flushDrops();
    return this.#drops;
  }

  /** Throws `invalid-argument` for what no honest peer sends. */
  receive(message: PullMessage): void {
    if (this.#end !== undefined) return;
    if (message.kind === 'offer') this.#receiveOffer(message);
    else if (message.kind === 'payload') this.#receivePayload(message.encoded);
    else if (message.kind === 'symbols') this.#receiveSymbols(message);
  }

  /**
   * Does a little work, between turns. 'wait': a message must arrive first. Throws `overloaded` when the pin is
   * broken.
   */
  step(): 'more' | 'wait' | 'ready' | PullEnd {
    if (this.#end !== undefined) return this.#end;
    if (this.#added.isBroken) throw brokenPin();
    try {
      switch (this.#stage) {
        case 'opened':
          return 'wait';
        case 'counting':
          return this.#count();
        case 'gathering':
          return this.#isPayloadComplete ? this.#compare() : 'wait';
        case 'removes':
          return this.#findRemoves();
      }
    } catch (thrown) {
      const isMalformed = thrown instanceof SynclineError && thrown.code === 'invalid-argument';
      if (!(thrown instanceof RibltError) && !isMalformed) throw thrown;
      this.#end = 'corrupt';
      return 'corrupt';
    }
  }

  #receiveOffer(offer: OfferMessage): void {
    const { verdict } = offer;
    if (verdict === 'nothing' || verdict === 'busy') {
      this.#end = verdict;
      const { liveDots, xor } = this.#digest;
      this.#isEqual =
        offer.version.equals(this.#pin.version) &&
        offer.common === liveDots &&
        offer.xor[0] === xor[0] &&
        offer.xor[1] === xor[1];
      return;
    }
    if (this.#offer !== undefined) return;
    if (verdict === 'diverged' && (offer.unseen > 0 || !offer.version.equals(this.#pin.version)))
      throw invalid('a peer that has diverged offers another version');
    this.#offer = offer;
    this.#added.limitTo(offer.version);
    this.#isPayloadComplete = offer.unseen === 0;
    const { framesAhead } = this.#deps.limits;
    if (offer.unseen > 0) this.#ask(framesAhead, 0);
    // Dots that it has not seen do not count. If it has seen everything, they are known already.
    this.#stage = offer.version.dominates(this.#pin.version) ? 'gathering' : 'counting';
  }

  #receiveSymbols(message: SymbolsMessage): void {
    try {
      this.#removes?.receive(message);
    } catch (thrown) {
      throw invalid(thrown instanceof RibltError ? thrown.message : String(thrown));
    }
  }

  #receivePayload(encoded: Uint8Array): void {
    const { offer } = this;
    if (offer === undefined || this.#isPayloadComplete) return;
    this.#framesReceived += 1;
    if (this.#framesReceived > this.#framesAsked)
      throw invalid('received a payload that was not requested');
    if (encoded.length > setsLimits.repairRecordBytesMax.value)
      throw invalid(`a payload of ${encoded.length} bytes is too large`);
    const payload = new Payload(encoded, 'invalid-argument');
    for (let index = 0; index < payload.length; index += 1) {
      const [actor, counter] = [payload.actorOf(index), payload.counterOf(index)];
      if (counter > offer.version.counterOf(actor))
        throw invalid('a payload has a dot that its sender has not seen');
      if (counter <= this.#pin.version.counterOf(actor))
        throw invalid('a payload has a dot that it was told to leave out');
      if (!this.#unseen.add(actor, counter)) throw invalid('a dot appears twice');
    }
    if (this.#unseen.size > offer.unseen || (payload.isLast && this.#unseen.size < offer.unseen))
      throw invalid(`a pull delivered ${this.#unseen.size} dots, but ${offer.unseen} were offered`);
    this.#frames.push(encoded);
    this.#framesBytes += encoded.length;
    this.#isPayloadComplete = payload.isLast;
    if (!payload.isLast) this.#ask(1, 0);
  }

  #ask(payloadFrames: number, symbolBlocks: number): void {
    this.#framesAsked += payloadFrames;
    this.#deps.send({ kind: 'more', session: this.session, payloadFrames, symbolBlocks });
  }

  #count(): 'more' {
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (dots) => {
      for (const dot of dots) if (this.#isCommon(dot)) this.#common.addDot(dot);
    });
    if (!isMore) this.#stage = 'gathering';
    return 'more';
  }

  #isCommon(dot: Dot): boolean {
    return this.#offer?.version.covers(dot) ?? false;
  }

  /** Nothing is repaired at equal versions, but what differs is found out. */
  #compare(): 'more' | 'ready' {
    const offer = this.#offer as OfferMessage;
    const { liveDots, xor } = this.#commonDigest();
    if (liveDots === offer.common && xor[0] === offer.xor[0] && xor[1] === offer.xor[1]) {
      if (this.isDiverged) throw invalid('a peer that has diverged shows the same digest');
      this.#end = 'ready';
      return 'ready';
    }
    const { limits, state } = this.#deps;
    this.#removes = new MissedRemoves(
      {
        pin: this.#pin,
        key: state.ribltKey,
        limits,
        offer,
        commonCount: liveDots,
        isDiverged: this.isDiverged,
        ask: (blocks) => this.#ask(0, blocks),
        found: (set, member, dot) => this.#drop(set, member, dot),
      },
      this.#options.listing,
    );
    this.#stage = 'removes';
    return 'more';
  }

  #findRemoves(): 'more' | 'wait' | 'ready' | 'diverged' {
    const step = this.#removes?.step() ?? 'found';
    if (step !== 'found') return step;
    this.#end = this.isDiverged ? 'diverged' : 'ready';
    return this.#end;
  }

  #commonDigest(): Pick<LiveDigest, 'liveDots' | 'xor'> {
    const isAll = this.#offer?.version.dominates(this.#pin.version) ?? false;
    return isAll ? this.#digest : this.#common;
  }

  #drop(set: Uint8Array, member: Uint8Array, dot: Dot): void {
    this.#dropsWriter.add(set, member, dot);
    if (this.#dropsWriter.bytes >= this.#deps.limits.frameBytes) this.#flushDrops();
  }

  #flushDrops(): void {
    if (this.#dropsWriter.bytes > 0) this.#drops.push(this.#dropsWriter.take(0, false));
  }
}

function invalid(why: string): SynclineError {
  return new SynclineError('invalid-argument', `malformed pull: ${why}`);
}

function brokenPin(): SynclineError {
  return new SynclineError('overloaded', 'too much was added while a pull was running');
}
