// Serves one pull: sends a peer what it has missed. Pure: `step` does a little work, `receive` takes a message.
//
//   counting ─▶ offer ─▶ payload: live dots that the peer has not seen, with their elements
//                          └▶ symbols of the live dots that both have seen, or a listing of them
//
// At equal versions with unequal dots the offer says `diverged`, and only symbols or a listing follow.
//
// All of it is read from one pin, so the peer gets the state of one moment, whatever is written in the meantime.
// Nothing is sent without credit.
//
// S31  What is sent comes from the pin, not from the live state.
import { VersionVector } from '@syncline/kernel';
import { Sketch } from '@syncline/riblt';
import { LiveDigest } from '../engine/live-digest.js';
import { DotPin } from '../engine/pins.js';
import type { SetsState } from '../engine/sets-state.js';
import { encodeListing } from './dot-listing.js';
import { DotSet } from './dot-set.js';
import { PayloadWriter } from './payload.js';
import { blockEnd, isListingCheaper, type PullLimits } from './pull-limits.js';
import type { MoreMessage, OfferMessage, OpenMessage, PullMessage } from './pull-messages.js';

const NO_BYTES = new Uint8Array(0);

export interface PullServerDeps {
  readonly state: SetsState;
  readonly limits: PullLimits;
  send(message: PullMessage): void;
}

/** The reply to a peer that needs nothing; undefined if it has something to pull, or differs at the same version. */
export function answerAtOnce(state: SetsState, open: OpenMessage): OfferMessage | undefined {
  const { version, liveDots, xor } = state.digestNow();
  if (!open.version.dominates(version)) return undefined;
  const isSame = liveDots === open.liveDots && xor[0] === open.xor[0] && xor[1] === open.xor[1];
  if (!isSame && version.dominates(open.version)) return undefined;
  const { session } = open;
  return { kind: 'offer', session, verdict: 'nothing', version, unseen: 0, common: liveDots, xor };
}

export function busyOffer(session: number): OfferMessage {
  const version = new VersionVector();
  return { kind: 'offer', session, verdict: 'busy', version, unseen: 0, common: 0, xor: [0, 0] };
}

type Stage = 'counting' | 'payload' | 'answering' | 'sketching' | 'symbols' | 'listing' | 'listed';

export class PullServer {
  readonly session: number;
  readonly #deps: PullServerDeps;
  readonly #open: OpenMessage;
  readonly #pin: DotPin;
  readonly #common: LiveDigest;
  readonly #writer = new PayloadWriter();
  #unseen = 0;
  #stage: Stage = 'counting';
  #payloadCredit = 0;
  #symbolCredit = 0;
  #sketch: Sketch | undefined;
  #symbolsSent = 0;
  #listed: DotSet | undefined;
  #chunks: Generator<Uint8Array> | undefined;
  #nextChunk: Uint8Array | undefined;

  /** Must be called between turns. */
  constructor(deps: PullServerDeps, open: OpenMessage) {
    this.#deps = deps;
    this.#open = open;
    this.session = open.session;
    this.#pin = new DotPin(deps.state, 'again');
    this.#common = new LiveDigest(deps.state.ribltKey);
  }

  close(): void {
    this.#pin.close();
  }

  receive({ payloadFrames, symbolBlocks }: MoreMessage): void {
    this.#payloadCredit += payloadFrames;
    this.#symbolCredit += symbolBlocks;
  }

  /**
   * Does a little work, between turns. 'wait': a message must arrive first. Throws `overloaded` when the pin is
   * broken.
   */
  step(): 'more' | 'wait' {
    switch (this.#stage) {
      case 'counting':
        return this.#count();
      case 'payload':
        return this.#sendPayload();
      case 'answering':
        return this.#startAnswer();
      case 'sketching':
        return this.#buildSketch();
      case 'symbols':
        return this.#sendSymbols();
      case 'listing':
        return this.#buildListing();
      case 'listed':
        return this.#sendListing();
    }
  }

  #count(): 'more' {
    const { version } = this.#open;
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (dots) => {
      for (const dot of dots) {
        if (version.covers(dot)) this.#common.addDot(dot);
        else this.#unseen += 1;
      }
    });
    if (isMore) return 'more';
    const { liveDots: common, xor } = this.#common;
    this.#deps.send({
      kind: 'offer',
      session: this.session,
      // At equal versions both must hold the same dots. The peer may still request symbols, to log what differs.
      verdict: this.#open.version.dominates(this.#pin.version) ? 'diverged' : 'pull',
      version: this.#pin.version,
      unseen: this.#unseen,
      common,
      xor,
    });
    this.#startWalk(this.#unseen > 0 ? 'payload' : 'answering');
    return 'more';
  }

  #sendPayload(): 'more' | 'wait' {
    if (this.#payloadCredit === 0) return 'wait';
    const { version } = this.#open;
    const { limits } = this.#deps;
    const isMore = this.#pin.step(limits.stepRows, (dots, set, member) => {
      for (const dot of dots) if (!version.covers(dot)) this.#writer.add(set, member(), dot);
    });
    if (isMore && this.#writer.bytes < limits.frameBytes) return 'more';
    this.#payloadCredit -= 1;
    const { session } = this;
    const encoded = this.#writer.take(session, !isMore);
    this.#deps.send({ kind: 'payload', session, encoded });
    if (!isMore) this.#stage = 'answering';
    return 'more';
  }

  /** The first credit for symbols requests them. */
  #startAnswer(): 'more' | 'wait' {
    if (this.#symbolCredit === 0) return 'wait';
    if (this.#open.listing || isListingCheaper(this.#common.liveDots, 0))
      return this.#startListing();
    return this.#startSketch(this.#deps.limits.symbolsSmall);
  }

  #startSketch(symbols: number): 'more' {
    this.#sketch = new Sketch(symbols, this.#deps.state.ribltKey);
    this.#startWalk('sketching');
    return 'more';
  }

  #buildSketch(): 'more' {
    const { version } = this.#open;
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (dots) => {
      for (const dot of dots)
        if (version.covers(dot))
          this.#sketch?.add(dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter | 0);
    });
    if (!isMore) this.#stage = 'symbols';
    return 'more';
  }

  #sendSymbols(): 'more' | 'wait' {
    if (this.#symbolCredit === 0) return 'wait';
    const sketch = this.#sketch as Sketch;
    const { symbolsMax } = this.#deps.limits;
    const from = this.#symbolsSent;
    if (isListingCheaper(this.#common.liveDots, from)) return this.#startListing();
    if (from === sketch.symbolsCount)
      return from < symbolsMax ? this.#startSketch(symbolsMax) : this.#startListing();
    const to = Math.min(blockEnd(from), sketch.symbolsCount);
    const { sums, checks, counts } = sketch.block(from, to).toColumns();
    this.#symbolCredit -= 1;
    this.#symbolsSent = to;
    const { session } = this;
    this.#deps.send({
      kind: 'symbols',
      session,
      from,
      sums,
      checks,
      counts,
      listing: undefined,
      last: false,
    });
    return 'more';
  }

  #startListing(): 'more' {
    this.#sketch = undefined;
    this.#listed = new DotSet();
    this.#startWalk('listing');
    return 'more';
  }

  #buildListing(): 'more' {
    const { version } = this.#open;
    const isMore = this.#pin.step(this.#deps.limits.stepRows, (dots) => {
      for (const dot of dots) if (version.covers(dot)) this.#listed?.add(dot.actor, dot.counter);
    });
    if (isMore) return 'more';
    this.#chunks = encodeListing(this.#listed as DotSet);
    this.#nextChunk = this.#chunks.next().value as Uint8Array;
    this.#stage = 'listed';
    return 'more';
  }

  #sendListing(): 'more' | 'wait' {
    const listing = this.#nextChunk;
    if (listing === undefined || this.#symbolCredit === 0) return 'wait';
    const next = this.#chunks?.next();
    this.#nextChunk = next?.done === false ? next.value : undefined;
    this.#symbolCredit -= 1;
    this.#deps.send({
      kind: 'symbols',
      session: this.session,
      from: 0,
      sums: NO_BYTES,
      checks: NO_BYTES,
      counts: new Int32Array(0),
      listing,
      last: this.#nextChunk === undefined,
    });
    return 'more';
  }

  #startWalk(stage: Stage): void {
    this.#pin.rewind();
    this.#stage = stage;
  }
}
