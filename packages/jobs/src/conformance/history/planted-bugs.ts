// Stores with one bug each, to show that the checkers find them. The bug is in what subscribers see, or in what the
// store writes; everything else is the unchanged store.
import type {
  JobEvent,
  JobStore,
  JobSubscription,
  StoreSubscribeOptions,
} from '../../job-store.js';
import { isInReplay } from '../trace/job-trace.js';

/** What a subscriber gets instead of what the store sends. */
type Distortion = (
  events: AsyncIterable<JobEvent>,
  options: StoreSubscribeOptions,
) => AsyncIterable<JobEvent>;

type StreamBug =
  | 'replay out of order'
  | 'resume repeats a change'
  | 'every fifth change is dropped'
  | 'a state is mixed of two writes'
  | 'resume begins one change too late'
  | 'live comes before its change'
  | 'unwritten cells are made up';

export type PlantedBug = StreamBug | 'the store writes by itself';

export function plantBug(store: JobStore, bug: PlantedBug): JobStore {
  return new Proxy(store, {
    get(target, name) {
      const isGhostly = bug === 'the store writes by itself';
      if (name === 'setState' && isGhostly) return ghostWrites(target);
      if (name === 'subscribe' && !isGhostly) return subscribeWith(target, DISTORTIONS[bug]);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function subscribeWith(store: JobStore, distort: Distortion): JobStore['subscribe'] {
  return (jobId, options) => {
    const subscription = store.subscribe(jobId, options);
    const distorted = distort(subscription, options);
    return {
      [Symbol.asyncIterator]: () => distorted[Symbol.asyncIterator](),
      batches: () => singly(distorted),
      get cursor() {
        return subscription.cursor;
      },
      [Symbol.asyncDispose]: () => subscription[Symbol.asyncDispose](),
    } satisfies JobSubscription;
  };
}

/** After each write, makes another one to the same cell, which no one sent. */
function ghostWrites(store: JobStore): JobStore['setState'] {
  return async (write, call) => {
    const answer = await store.setState(write, call);
    const { ifVersion: _, ...ghost } = write;
    await store.setState({ ...ghost, message: 'ghost', eventId: `ghost-${write.eventId}` }, call);
    return answer;
  };
}

const DISTORTIONS: Readonly<Record<StreamBug, Distortion>> = {
  async *'replay out of order'(events) {
    let held: JobEvent | undefined;
    for await (const event of events) {
      yield event.kind === 'snapshot' || held === undefined ? event : held;
      if (event.kind !== 'snapshot' && held !== undefined) yield event;
      held = event.kind === 'snapshot' && held === undefined ? event : undefined;
    }
  },
  async *'resume repeats a change'(events, { after }) {
    let isFirst = after !== undefined && !isInReplay(after);
    for await (const event of events) {
      yield event;
      if (event.kind !== 'change' || !isFirst) continue;
      isFirst = false;
      yield event;
    }
  },
  async *'every fifth change is dropped'(events) {
    let count = 0;
    for await (const event of events) {
      if (event.kind === 'change') count += 1;
      if (event.kind !== 'change' || count % 5 !== 0) yield event;
    }
  },
  async *'a state is mixed of two writes'(events) {
    let message = '';
    for await (const event of events) {
      if (event.kind === 'snapshot') {
        yield { ...event, state: { ...event.state, message } };
        message = event.state.message;
      } else yield event;
    }
  },
  async *'resume begins one change too late'(events, { after }) {
    let isFirst = after !== undefined && !isInReplay(after);
    for await (const event of events) {
      const isSkipped = isFirst && event.kind === 'change';
      if (isSkipped) isFirst = false;
      else yield event;
    }
  },
  async *'live comes before its change'(events) {
    for await (const event of events) {
      if (event.kind === 'change')
        yield { kind: 'live', revision: event.state.revision, cursor: event.cursor };
      yield event;
    }
  },
  async *'unwritten cells are made up'(events) {
    for await (const event of events) {
      yield event;
      if (event.kind === 'snapshot')
        yield { ...event, state: { ...event.state, tag: 'expected', version: 0, eventId: '' } };
    }
  },
};

async function* singly(events: AsyncIterable<JobEvent>): AsyncGenerator<readonly JobEvent[]> {
  for await (const event of events) yield [event];
}
