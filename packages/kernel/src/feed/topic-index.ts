// Finds the subscribers of a change by topic, so that publishing does not test each of a thousand narrow subscriptions.

export class TopicIndex<Subscriber> {
  readonly #byTopic = new Map<string, Set<Subscriber>>();

  add(topics: readonly string[], subscriber: Subscriber): void {
    for (const topic of topics) {
      const there = this.#byTopic.get(topic);
      if (there) there.add(subscriber);
      else this.#byTopic.set(topic, new Set([subscriber]));
    }
  }

  delete(topics: readonly string[], subscriber: Subscriber): void {
    for (const topic of topics) {
      const there = this.#byTopic.get(topic);
      there?.delete(subscriber);
      if (there?.size === 0) this.#byTopic.delete(topic);
    }
  }

  /** Entries may be deleted during the iteration. */
  of(topic: string): Iterable<Subscriber> {
    return this.#byTopic.get(topic) ?? [];
  }
}
