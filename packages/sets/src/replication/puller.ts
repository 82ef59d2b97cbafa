// Pulls from one peer what this node has missed. Pure: `step` does a little work, `receive` takes a message.
//
//   opened ─▶ offered: payload arrives, and the dots that both have seen are counted
//               └▶ symbols or a listing, if these differ ─▶ found: what the peer has seen removed ─▶ ready
//
// A dot that is live there and not here was never seen here, or was removed here; one that is live here and not there,
// though the peer has seen it, was removed there. Versions tell which. So adds are listed by the peer, and only
// missed removes need decoding, among dots that both have seen. What arrives is not trusted: a wrong dot ends the
// pull before anything has changed.
//
// S32  Dots added here since the pin count as missed removes if the peer has seen them and does not bring them.
import { type Dot, dot as dotOf, SynclineError } from '@syncline/kernel';
import { Decoder, RibltError, Sketch, SymbolBlock } from '@syncline/riblt';
import { AddedDots } from '../engine/added-dots.js';
import { LiveDigest } from '../engine/live-digest.js';
import { DotPin } from '../engine/pins.js';
import type { SetsState } from '../engine/sets-state.js';
import { setsLimits } from '../limits.js';
import { decodeListing } from './dot-listing.js';
import { DotSet } from './dot-set.js';
import { Payload, PayloadWriter } from './payload.js';
import { isListingCheaper, type PullLimits } from './pull-limits.js';
import type { OfferMessage, PullMessage, SymbolsMessage } from './pull-messages.js';

/** Symbols that a difference needs at least; up to here two blocks are asked for at a time. */
const SYMBOLS_PER_DOT = 1.25;

export interface PullerDeps {
  readonly state: SetsState;
  readonly limits: PullLimits;
  send(message: PullMessage): void;
}

export interface PullerOptions {
  readonly session: number;
  /** Ask for a listing at once: symbols have failed before. */
  readonly listing: boolean;
}

/** `busy`: try later. `corrupt`: what the peer sent does not fit, ask for a listing next time. */
export type PullEnd = 'nothing' | 'busy' | 'diverged' | 'corrupt';

type Stage =
  | 'opened'
  | 'counting'
  | 'gathering'
  | 'sketching'
  | 'symbols'
  | 'gatheringMine'
  | 'listing'
  | 'finding';

export class Puller {
  readonly session: number;
  readonly #deps: PullerDeps;
  readonly #options: PullerOptions;
  readonly #pin: DotPin;
  readonly #added: AddedDots;
  readonly #digest: Pick<LiveDigest, 'liveDots' | 'xor'>;
  readonly #common: LiveDigest;
  readonly #decoder: Decoder;
  /** What the peer brings, encoded; with its dots, to notice one that comes twice. */
  readonly #frames: Uint8Array[] = [];
  readonly #unseen = new DotSet();
  #framesBytes = 0;
  #isPayloadComplete = false;
  #offer: OfferMessage | undefined;
  #stage: Stage = 'opened';
  #end: PullEnd | 'ready' | undefined;
  #blocks: SymbolsMessage[] = [];
  #sketch: Sketch | undefined;
  #symbolsCount = 0;
  #blocksAsked = 0;
  #blocksTaken = 0;
  /** Dots of ours that the peer has seen; those that it lists are taken out. */
  #mine: DotSet | undefined;
  #missed = new DotSet();
  #missedFound = 0;
  readonly #dropsWriter = new PayloadWriter();
  readonly #drops: Uint8Array[] = [];

  /** Between turns. Nothing is sent before `open`. */
  constructor(deps: PullerDeps, options: PullerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.session = options.session;
    this.#pin = new DotPin(deps.state, 'again');
    this.#added = new AddedDots(deps.state);
    const { liveDots, xor } = deps.state.digest;
    this.#digest = { liveDots, xor };
    this.#common = new LiveDigest(deps.state.ribltKey);
    this.#decoder = new Decoder(deps.state.ribltKey, { symbolsMax: deps.limits.symbolsMax });
  }

  /** To be called once all that the pin holds is as durable as configured. */
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

  /** More than fits in memory twice: to be loaded as it comes. */
  get isLarge(): boolean {
    const { dotsMax, bytesMax } = this.#deps.limits;
    return (this.#offer?.unseen ?? 0) > dotsMax || this.#framesBytes > bytesMax;
  }

  get symbolsCount(): number {
    return this.#symbolsCount;
  }

  get unseenCount(): number {
    return this.#unseen.size;
  }

  get missedCount(): number {
    return this.#missed.size;
  }

  /** Payloads that arrived since the last call. */
  takeFrames(): readonly Uint8Array[] {
    this.#framesBytes = 0;
    return this.#frames.splice(0);
  }

  /**
   * What is to be dropped, as payloads; once it is ready. With the gate closed and between turns, since it depends on
   * what was added meanwhile.
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
    else if (message.kind === 'symbols' && this.#offer !== undefined) this.#blocks.push(message);
  }

  /** A little work, between turns. 'wait': a message must come first. Throws `overloaded` when the pin is broken. */
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
        case 'sketching':
          return this.#buildSketch();
        case 'symbols':
          return this.#decode();
        case 'gatheringMine':
          return this.#gatherMine();
        case 'listing':
          return this.#compareListing();
        case 'finding':
          return this.#find();
      }
    } catch (thrown) {
      if (!(thrown instanceof RibltError)) throw thrown;
      this.#end = 'corrupt';
      return 'corrupt';
    }
  }

  #receiveOffer(offer: OfferMessage): void {
    if (offer.verdict !== 'pull') {
      this.#end = offer.verdict;
      return;
    }
    if (this.#offer !== undefined) return;
    this.#offer = offer;
    this.#added.limitTo(offer.version);
    this.#isPayloadComplete = offer.unseen === 0;
    const { framesAhead } = this.#deps.limits;
    if (offer.unseen > 0) this.#ask(framesAhead, 0);
    // Dots that it has not seen do not count. If it has seen everything, they are known already.
    this.#stage = offer.version.dominates(this.#pin.version) ? 'gathering' : 'counting';
  }

  #receivePayload(encoded: Uint8Array): void {
    const { offer } = this;
    if (offer === undefined || this.#isPayloadComplete) return;
    if (encoded.length > setsLimits.repairRecordBytesMax.value)
      throw invalid(`a payload of ${encoded.length} bytes is too large`);
    const payload = new Payload(encoded, 'invalid-argument');
    for (let index = 0; index < payload.length; index += 1) {
      const [actor, counter] = [payload.actorOf(index), payload.counterOf(index)];
      if (counter > offer.version.counterOf(actor))
        throw invalid('a payload has a dot that its sender has not seen');
      if (counter <= this.#pin.version.counterOf(actor))
        throw invalid('a payload has a dot that was asked not to be sent');
      if (!this.#unseen.add(actor, counter)) throw invalid('a dot comes twice');
    }
    if (this.#unseen.size > offer.unseen || (payload.isLast && this.#unseen.size < offer.unseen))
      throw invalid(`a pull brings ${this.#unseen.size} dots where ${offer.unseen} were offered`);
    this.#frames.push(encoded);
    this.#framesBytes += encoded.length;
    this.#isPayloadComplete = payload.isLast;
    if (!payload.isLast) this.#ask(1, 0);
  }

  #ask(payloadFrames: number, symbolBlocks: number): void {
    this.#blocksAsked += symbolBlocks;
    this.#deps.send({ kind: 'more', session: this.session, payloadFrames, symbolBlocks });
  }

  #count(): 'more' {
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (_set, _member, dots) => {
      for (const dot of dots)
        if (this.#isCommon(dot))
          this.#common.add(dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter | 0);
    });
    if (!isMore) this.#stage = 'gathering';
    return 'more';
  }

  #isCommon(dot: Dot): boolean {
    return this.#offer?.version.covers(dot) ?? false;
  }

  #compare(): 'more' | 'ready' {
    const offer = this.#offer as OfferMessage;
    const { liveDots, xor } = this.#commonDigest();
    if (liveDots === offer.common && xor[0] === offer.xor[0] && xor[1] === offer.xor[1]) {
      this.#end = 'ready';
      return 'ready';
    }
    this.#ask(0, 1);
    if (this.#options.listing || isListingCheaper(offer.common, 0)) this.#startMine();
    else this.#startSketch(this.#deps.limits.symbolsSmall);
    return 'more';
  }

  #commonDigest(): Pick<LiveDigest, 'liveDots' | 'xor'> {
    const isAll = this.#offer?.version.dominates(this.#pin.version) ?? false;
    return isAll ? this.#digest : this.#common;
  }

  #startSketch(symbols: number): void {
    this.#sketch = new Sketch(symbols, this.#deps.state.ribltKey);
    this.#pin.rewind();
    this.#stage = 'sketching';
  }

  #buildSketch(): 'more' {
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (_set, _member, dots) => {
      for (const dot of dots)
        if (this.#isCommon(dot))
          this.#sketch?.add(dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter | 0);
    });
    if (!isMore) this.#stage = 'symbols';
    return 'more';
  }

  #startMine(): void {
    this.#sketch = undefined;
    this.#mine = new DotSet();
    this.#pin.rewind();
    this.#stage = 'gatheringMine';
  }

  #gatherMine(): 'more' {
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (_set, _member, dots) => {
      for (const dot of dots) if (this.#isCommon(dot)) this.#mine?.add(dot.actor, dot.counter);
    });
    if (!isMore) this.#stage = 'listing';
    return 'more';
  }

  #decode(): 'more' | 'wait' {
    const message = this.#blocks[0];
    if (message === undefined) return 'wait';
    if (message.listing !== undefined) {
      this.#startMine();
      return 'more';
    }
    const sketch = this.#sketch as Sketch;
    const offer = this.#offer as OfferMessage;
    const { from, sums, checks, counts } = message;
    const to = from + counts.length;
    if (to > sketch.symbolsCount && sketch.symbolsCount < this.#deps.limits.symbolsMax) {
      this.#startSketch(this.#deps.limits.symbolsMax);
      return 'more';
    }
    if (from !== this.#symbolsCount || to > sketch.symbolsCount)
      throw new RibltError('corrupt', `symbols from ${from} on, expected ${this.#symbolsCount}`);
    this.#blocks.shift();
    this.#blocksTaken += 1;
    this.#symbolsCount = to;
    const remote = SymbolBlock.fromColumns({
      from,
      itemsCount: offer.common,
      sums,
      checks,
      counts,
    });
    if (this.#decoder.push(remote, sketch.block(from, to)) === 'done') {
      this.#startFinding(this.#decodedDots());
      return 'more';
    }
    this.#askForSymbols();
    return 'more';
  }

  /** At least so many differ as the counts do; up to there symbols are asked for ahead. */
  #askForSymbols(): void {
    const offer = this.#offer as OfferMessage;
    const differences = Math.abs(this.#commonDigest().liveDots - offer.common);
    const isFar = this.#symbolsCount * 1.125 < differences * SYMBOLS_PER_DOT;
    const missing = (isFar ? 2 : 1) - (this.#blocksAsked - this.#blocksTaken);
    if (missing > 0) this.#ask(0, missing);
  }

  #decodedDots(): DotSet {
    const { version } = this.#offer as OfferMessage;
    const missed = new DotSet();
    for (const [words, isMine] of [
      [this.#decoder.onlyLocal(), true],
      [this.#decoder.onlyRemote(), false],
    ] as const)
      for (let at = 0; at < words.length; at += 3) {
        const dot = toDot(words, at);
        if (!version.covers(dot) || !this.#pin.version.covers(dot))
          throw new RibltError('corrupt', 'a decoded dot was not seen by both sides');
        if (isMine) missed.add(dot.actor, dot.counter);
      }
    return missed;
  }

  #compareListing(): 'more' | 'wait' {
    const message = this.#blocks.shift();
    if (message === undefined) return 'wait';
    const { listing, last } = message;
    if (listing === undefined) throw new RibltError('corrupt', 'symbols come after a listing');
    const { version } = this.#offer as OfferMessage;
    decodeListing(listing, (actor, from, length) => {
      if (from + length - 1 > version.counterOf(actor))
        throw new RibltError('corrupt', 'a listed dot was not seen by its sender');
      this.#mine?.deleteRun(actor, from, length);
    });
    if (last) this.#startFinding(this.#mine as DotSet);
    else this.#ask(0, 1);
    return 'more';
  }

  #startFinding(missed: DotSet): void {
    this.#missed = missed;
    this.#sketch = undefined;
    this.#pin.rewind();
    this.#stage = 'finding';
  }

  /** Their elements. What was dropped here since the pin is passed too, so that all must be found. */
  #find(): 'more' | 'ready' {
    const isMore =
      this.#missed.size > 0 &&
      this.#pin.step(this.#deps.limits.stepRows, (set, member, dots) => {
        for (const dot of dots) {
          if (!this.#missed.has(dot.actor, dot.counter)) continue;
          this.#missedFound += 1;
          this.#drop(set, member, dot);
        }
      });
    if (isMore) return 'more';
    if (this.#missedFound !== this.#missed.size)
      throw new RibltError('corrupt', 'a decoded dot was not live here');
    this.#end = 'ready';
    return 'ready';
  }

  #drop(set: Uint8Array, member: Uint8Array, dot: Dot): void {
    this.#dropsWriter.add(set, member, dot);
    if (this.#dropsWriter.bytes >= this.#deps.limits.frameBytes) this.#flushDrops();
  }

  #flushDrops(): void {
    if (this.#dropsWriter.bytes > 0) this.#drops.push(this.#dropsWriter.take(0, false));
  }
}

function toDot(words: Uint32Array, at: number): Dot {
  const counter = (words[at + 1] as number) * 2 ** 32 + (words[at + 2] as number);
  try {
    return dotOf(words[at] as number as Dot['actor'], counter);
  } catch (thrown) {
    throw new RibltError('corrupt', SynclineError.from(thrown).message);
  }
}

function invalid(why: string): SynclineError {
  return new SynclineError('invalid-argument', `malformed pull: ${why}`);
}

function brokenPin(): SynclineError {
  return new SynclineError('overloaded', 'too much was added while a pull was running');
}
