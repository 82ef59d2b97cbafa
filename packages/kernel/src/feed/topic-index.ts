// Finds by topic who wants a change, so that publishing does not ask each of a thousand narrow subscribers.

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

  /** Some may be deleted while one goes through them. */
  of(topic: string): Iterable<Subscriber> {
    return this.#byTopic.get(topic) ?? [];
  }
}
