// Carries whole messages from one simulated machine to another, and loses, duplicates and reorders them.
//
// The Network port is a byte stream and hides such faults, but a protocol still encounters them: it reconnects,
// resends, and receives late replies. A core that survives a message link survives any transport. The messages are
// values of the core; no bytes are needed.
import type { EventOwner } from '../event-queue.js';
import type { Scheduler } from '../scheduler.js';
import type { Link } from './link.js';

export interface MessageLinkDeps<Message> {
  readonly scheduler: Scheduler;
  readonly link: Link;
  /** The process that receives messages now; without one they are lost. */
  readonly receiver: () => EventOwner | undefined;
  readonly deliver: (message: Message) => void;
}

export class MessageLink<Message> {
  readonly #deps: MessageLinkDeps<Message>;

  constructor(deps: MessageLinkDeps<Message>) {
    this.#deps = deps;
  }

  /** Never fails and gives no feedback: the message arrives once, twice or not at all. */
  send(message: Message): void {
    const { link } = this.#deps;
    if (link.happens(link.profile.lossProbability)) return;
    this.#sendCopy(message);
    while (link.happens(link.profile.duplicateProbability)) this.#sendCopy(message);
  }

  /** Each copy has its own delay, so that copies and messages overtake each other. */
  #sendCopy(message: Message): void {
    const { scheduler, link, receiver, deliver } = this.#deps;
    const subject = `${link.from}>${link.to}`;
    const arrive = () => {
      const owner = receiver();
      if (owner === undefined || !link.isOpen) return;
      scheduler.after(0, { kind: 'message', subject, owner, run: () => deliver(message) });
    };
    scheduler.after(link.delayMs(), { kind: 'message-sent', subject, run: arrive });
  }
}
