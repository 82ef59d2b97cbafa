// Finds what a peer has removed and this node still has: dots that both have seen and only this node holds.
//
//   sketching ─▶ symbols: decode ─────────────┐        a larger sketch if the first is not enough
//       └─▶ gathering ─▶ listing: subtract ───┴─▶ finding their elements ─▶ found
//
// The cost of symbols depends on the difference, that of a listing on the size of the set. If a listing is cheaper,
// or symbols have failed before, it is used immediately. Dots that only the peer holds were removed here, and concern
// only the peer. What is decoded is not trusted: each dot must have been seen by both sides, and ours must be live in
// the pin.
import { type ActorId, type Dot, dot as dotOf, formatDot, SynclineError } from '@syncline/kernel';
import { Decoder, RibltError, type RibltKey, Sketch, SymbolBlock } from '@syncline/riblt';
import type { DotPin } from '../engine/pins.js';
import { setsLimits } from '../limits.js';
import { decodeListing } from './dot-listing.js';
import { DotSet } from './dot-set.js';
import { isListingCheaper, type PullLimits } from './pull-limits.js';
import type { OfferMessage, SymbolsMessage } from './pull-messages.js';

/** The minimum number of symbols for a difference. Until then two blocks are requested at a time. */
const SYMBOLS_PER_DOT = 1.25;
/** A block has at most this fraction of those before it. */
const NEXT_BLOCK = 1.0625;
const DIVERGED_DOTS_MAX = setsLimits.divergedDotsMax.value / 2;

/** As text, `node.epoch:counter`. */
export interface DotDifferences {
  readonly onlyHere: readonly string[];
  readonly onlyThere: readonly string[];
}

export interface MissedRemovesDeps {
  readonly pin: DotPin;
  readonly key: RibltKey;
  readonly limits: PullLimits;
  readonly offer: OfferMessage;
  /** How many of our dots the peer has seen. */
  readonly commonCount: number;
  /** The peer differs at the same version: dots are only reported, and their elements are not looked up. */
  readonly isDiverged: boolean;
  /** Requests blocks of symbols from the peer. */
  ask(blocks: number): void;
  /** An element has lost this dot elsewhere. */
  found(set: Uint8Array, member: Uint8Array, dot: Dot): void;
}

type Stage = 'sketching' | 'symbols' | 'gathering' | 'listing' | 'finding';

export class MissedRemoves {
  readonly #deps: MissedRemovesDeps;
  readonly #decoder: Decoder;
  readonly #blocks: SymbolsMessage[] = [];
  #stage: Stage = 'gathering';
  #sketch: Sketch | undefined;
  #symbolsCount = 0;
  #blocksAsked = 0;
  #blocksReceived = 0;
  /** Our dots that the peer has seen; those that it lists are removed. */
  #mine = new DotSet();
  #missed = new DotSet();
  /** Dots that only the peer holds, up to as many as a divergence reports. */
  readonly #theirs: Dot[] = [];
  #foundCount = 0;

  constructor(deps: MissedRemovesDeps, asksForListing: boolean) {
    this.#deps = deps;
    this.#decoder = new Decoder(deps.key, { symbolsMax: deps.limits.symbolsMax });
    this.#ask(1);
    if (asksForListing || isListingCheaper(deps.offer.common, 0)) this.#startGathering();
    else this.#startSketch(deps.limits.symbolsSmall);
  }

  /** Symbols that were decoded. */
  get symbolsCount(): number {
    return this.#symbolsCount;
  }

  /** Dots that only one side holds, up to as many of each as are logged. Complete once they are found. */
  differences(): DotDifferences {
    const onlyHere: string[] = [];
    for (const actor of this.#missed.actors())
      for (const { from, length } of this.#missed.runs(actor))
        for (let at = 0; at < length && onlyHere.length < DIVERGED_DOTS_MAX; at += 1)
          onlyHere.push(formatDot({ actor, counter: from + at }));
    return { onlyHere, onlyThere: this.#theirs.map(formatDot) };
  }

  receive(message: SymbolsMessage): void {
    this.#blocksReceived += 1;
    if (this.#blocksReceived > this.#blocksAsked)
      throw new RibltError('corrupt', 'received symbols that were not requested');
    this.#blocks.push(message);
  }

  /** Does a little work, between turns. Throws a RibltError for what no honest peer sends. */
  step(): 'more' | 'wait' | 'found' {
    switch (this.#stage) {
      case 'sketching':
        return this.#buildSketch();
      case 'symbols':
        return this.#decode();
      case 'gathering':
        return this.#gather();
      case 'listing':
        return this.#subtractListing();
      case 'finding':
        return this.#find();
    }
  }

  #ask(blocks: number): void {
    this.#blocksAsked += blocks;
    this.#deps.ask(blocks);
  }

  #startSketch(symbols: number): void {
    this.#sketch = new Sketch(symbols, this.#deps.key);
    this.#startWalk('sketching');
  }

  #buildSketch(): 'more' {
    const { pin, limits, offer } = this.#deps;
    const isMore = pin.step(limits.stepRows, (dots) => {
      for (const dot of dots)
        if (offer.version.covers(dot))
          this.#sketch?.add(dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter | 0);
    });
    if (!isMore) this.#stage = 'symbols';
    return 'more';
  }

  #decode(): 'more' | 'wait' {
    const message = this.#blocks[0];
    if (message === undefined) return 'wait';
    if (message.listing !== undefined) {
      this.#startGathering();
      return 'more';
    }
    const { limits, offer } = this.#deps;
    const sketch = this.#sketch as Sketch;
    const { from, sums, checks, counts } = message;
    const to = from + counts.length;
    if (to > sketch.symbolsCount && sketch.symbolsCount < limits.symbolsMax) {
      this.#startSketch(limits.symbolsMax);
      return 'more';
    }
    if (from !== this.#symbolsCount || to > sketch.symbolsCount)
      throw new RibltError('corrupt', `symbols from ${from} on, expected ${this.#symbolsCount}`);
    this.#blocks.shift();
    this.#symbolsCount = to;
    const itemsCount = offer.common;
    const remote = SymbolBlock.fromColumns({ from, itemsCount, sums, checks, counts });
    if (this.#decoder.push(remote, sketch.block(from, to)) === 'done')
      this.#startFindingElements(this.#decodedDots());
    else this.#requestSymbols();
    return 'more';
  }

  /** At least as many dots differ as the counts do; up to that number symbols are requested in advance. */
  #requestSymbols(): void {
    const { commonCount, offer } = this.#deps;
    const differences = Math.abs(commonCount - offer.common);
    const isFar = this.#symbolsCount * NEXT_BLOCK ** 2 < differences * SYMBOLS_PER_DOT;
    const expected = this.#blocksAsked - this.#blocksReceived + this.#blocks.length;
    const missing = (isFar ? 2 : 1) - expected;
    if (missing > 0) this.#ask(missing);
  }

  #decodedDots(): DotSet {
    const { offer, pin } = this.#deps;
    const missed = new DotSet();
    for (const [words, isMine] of [
      [this.#decoder.onlyLocal(), true],
      [this.#decoder.onlyRemote(), false],
    ] as const)
      for (let at = 0; at < words.length; at += 3) {
        const dot = toDot(words, at);
        if (!offer.version.covers(dot) || !pin.version.covers(dot))
          throw new RibltError('corrupt', 'a decoded dot was not seen by both sides');
        if (isMine) missed.add(dot.actor, dot.counter);
        else if (this.#theirs.length < DIVERGED_DOTS_MAX) this.#theirs.push(dot);
      }
    return missed;
  }

  #startGathering(): void {
    this.#sketch = undefined;
    this.#mine = new DotSet();
    this.#startWalk('gathering');
  }

  #gather(): 'more' {
    const { pin, limits, offer } = this.#deps;
    const isMore = pin.step(limits.stepRows, (dots) => {
      for (const dot of dots) if (offer.version.covers(dot)) this.#mine.add(dot.actor, dot.counter);
    });
    if (!isMore) this.#stage = 'listing';
    return 'more';
  }

  #subtractListing(): 'more' | 'wait' {
    const message = this.#blocks.shift();
    if (message === undefined) return 'wait';
    const { listing, last } = message;
    if (listing === undefined)
      throw new RibltError('corrupt', 'received symbols instead of a listing');
    const { version } = this.#deps.offer;
    decodeListing(listing, (actor, from, length) => {
      if (from + length - 1 > version.counterOf(actor))
        throw new RibltError('corrupt', 'a listed dot was not seen by its sender');
      if (this.#deps.isDiverged) this.#recordPeerDots(actor, from, length);
      this.#mine.deleteRun(actor, from, length);
    });
    if (last) this.#startFindingElements(this.#mine);
    else this.#ask(1);
    return 'more';
  }

  #recordPeerDots(actor: ActorId, from: number, length: number): void {
    for (let at = 0; at < length && this.#theirs.length < DIVERGED_DOTS_MAX; at += 1)
      if (!this.#mine.has(actor, from + at)) this.#theirs.push({ actor, counter: from + at });
  }

  #startFindingElements(missed: DotSet): void {
    this.#missed = missed;
    this.#sketch = undefined;
    this.#startWalk('finding');
  }

  /** What was dropped here since the pin was taken is visited too, so all of them must be found. */
  #find(): 'more' | 'found' {
    const { pin, limits, found, isDiverged } = this.#deps;
    if (isDiverged) return 'found';
    const isMore =
      this.#missed.size > 0 &&
      pin.step(limits.stepRows, (dots, set, member) => {
        for (const dot of dots) {
          if (!this.#missed.has(dot.actor, dot.counter)) continue;
          this.#foundCount += 1;
          found(set, member(), dot);
        }
      });
    if (isMore) return 'more';
    if (this.#foundCount !== this.#missed.size)
      throw new RibltError('corrupt', 'a decoded dot was not live here');
    return 'found';
  }

  #startWalk(stage: Stage): void {
    this.#deps.pin.rewind();
    this.#stage = stage;
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
