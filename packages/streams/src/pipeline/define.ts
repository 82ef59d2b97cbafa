// `definePipeline`: how users define a pipeline. The result is a recipe from which every start builds a new graph, so
// that runs never share operators.
import { type OptionNames, refuseUnknownOptions } from '@syncline/kernel';
import type { OutboxSink, Sink } from '../ends/sink.js';
import type { Json, Source } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Codec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import type { Key } from '../state/key.js';
import { aggregate, type StateDescription, versioned } from '../state/state-backend.js';
import { type VersionKind, type VersionOf, versionsOf } from '../state/version.js';
import { DedupeOperator, SEEN, seenCodec } from './dedupe.js';
import {
  type AnySink,
  checkDefinition,
  checkSink,
  FUNCTION,
  type Graph,
  GraphBuilder,
  type GraphNode,
  invalid,
  isKeyed,
  type SourceOptions,
} from './graph.js';
import { heldCodec } from './held-items.js';
import {
  type ProcessContext,
  type ProcessHandlers,
  ProcessOperator,
  type StateDescriptions,
} from './process.js';
import { BUFFER, NEWEST, ReorderOperator } from './reorder.js';
import { expandItems, filterItems, keyItems, mapItems, mergeStreams } from './stateless.js';
import { TIMERS, type TimerKind, timersCodec } from './timers.js';
import { PanesCodec, type Tumbling, WINDOWS, type WindowOf, WindowOperator } from './window.js';

export interface Pipeline {
  readonly name: string;
  /** Builds a new graph, one for each run. */
  build(): Graph;
}

/** A sink that accepts items of this type. */
export type SinkFor<T> = Sink<T> | OutboxSink;

export interface OperatorOptions {
  /** Receives the items for which the operator throws. Default: the run stops with `bad-record`. */
  readonly onError?: SinkFor<unknown>;
}

export interface KeyedOperatorOptions extends OperatorOptions {
  /** Names the operator's state in checkpoints. */
  readonly uid: string;
  /** Its former uid, if it was renamed. */
  readonly was?: string;
}

export interface ProcessDefinition<K extends Key, T, States extends StateDescriptions, U>
  extends KeyedOperatorOptions {
  readonly state?: States;
  onItem(item: T, context: ProcessContext<K, States, U>): void;
  onTimer?(
    timer: { readonly kind: TimerKind; readonly atMs: number },
    context: ProcessContext<K, States, U>,
  ): void;
}

export interface ReduceDefinition<T, A> extends KeyedOperatorOptions {
  /** Default: JSON. */
  readonly codec?: Codec<A>;
  initial(): A;
  add(value: A, item: T): A;
}

export interface DedupeDefinition<T> extends KeyedOperatorOptions {
  id(item: T): Key;
  readonly keepMs: number;
}

export interface WindowDefinition<T, A> extends ReduceDefinition<T, A> {
  /** Receives the items that arrive behind the watermark; `'drop'` only counts them. */
  readonly late: SinkFor<T> | 'drop';
}

export interface ReorderDefinition<T, Kind extends VersionKind> extends KeyedOperatorOptions {
  readonly versionKind: Kind;
  /** Undefined for a record that only seals versions. */
  version(item: T): VersionOf<Kind> | undefined;
  /** Default: JSON. */
  readonly codec?: Codec<T>;
  /** `sealed` (default) waits until no older version can arrive; `lww` (last write wins) applies items immediately. */
  readonly policy?: 'sealed' | 'lww';
  /**
   * How a partition declares versions complete: its versions are never more than `lag` below its highest one, or
   * `by` returns the version up to which a record declares it complete. Required by policy `sealed`.
   */
  readonly sealed?: { readonly lag: number } | { by(item: T): VersionOf<Kind> | undefined };
  /** Receives the items that arrive at or below a sealed version. Required by policy `sealed`. */
  readonly late?: SinkFor<T> | 'drop';
  /** When the buffer is full: stop the run (default), or release the lowest versions early. */
  readonly onFull?: 'fail' | 'release';
  readonly itemsMax?: number;
  readonly bytesMax?: number;
}

export interface Stream<T> {
  map<U>(fn: (item: T) => U, options?: OperatorOptions): Stream<U>;
  filter(fn: (item: T) => boolean, options?: OperatorOptions): Stream<T>;
  flatMap<U>(fn: (item: T) => Iterable<U>, options?: OperatorOptions): Stream<U>;
  merge(...others: readonly Stream<T>[]): Stream<T>;
  keyBy<K extends Key>(fn: (item: T) => K, options?: OperatorOptions): KeyedStream<K, T>;
  to(sink: SinkFor<T>): void;
}

export interface KeyedStream<K extends Key, T> extends Stream<T> {
  /** Runs your code for each item, with the states and timers of its key. */
  process<States extends StateDescriptions = Record<never, never>, U = unknown>(
    definition: ProcessDefinition<K, T, States, U>,
  ): Stream<U>;
  /** Emits the updated value of the key after each item. */
  reduce<A>(definition: ReduceDefinition<T, A>): Stream<{ readonly key: K; readonly value: A }>;
  /** Passes on the first item with each id. Ids are forgotten after `keepMs` of event time. */
  dedupe(definition: DedupeDefinition<T>): KeyedStream<K, T>;
  reorder<Kind extends VersionKind>(definition: ReorderDefinition<T, Kind>): KeyedStream<K, T>;
  window<A>(window: Tumbling, definition: WindowDefinition<T, A>): Stream<WindowOf<K, A>>;
}

export interface PipelineBuilder {
  source<T, P extends Json>(source: Source<T, P>, options?: SourceOptions<T>): Stream<T>;
}

const OPERATOR: OptionNames<OperatorOptions> = { onError: true };
const KEYED: OptionNames<KeyedOperatorOptions> = { uid: true, was: true, ...OPERATOR };
const PROCESS: OptionNames<ProcessDefinition<Key, unknown, StateDescriptions, unknown>> = {
  ...KEYED,
  state: true,
  onItem: FUNCTION,
  onTimer: true,
};
const REDUCE: OptionNames<ReduceDefinition<unknown, unknown>> = {
  ...KEYED,
  codec: true,
  initial: FUNCTION,
  add: FUNCTION,
};
const WINDOW: OptionNames<WindowDefinition<unknown, unknown>> = { ...REDUCE, late: true };
const DEDUPE: OptionNames<DedupeDefinition<unknown>> = { ...KEYED, id: FUNCTION, keepMs: true };
const REORDER: OptionNames<ReorderDefinition<unknown, VersionKind>> = {
  ...KEYED,
  versionKind: true,
  version: FUNCTION,
  codec: true,
  policy: true,
  sealed: true,
  late: true,
  onFull: true,
  itemsMax: true,
  bytesMax: true,
};

/** Validates the graph immediately: errors are thrown here, not when the pipeline starts. */
export function definePipeline(name: string, build: (p: PipelineBuilder) => void): Pipeline {
  const buildGraph = () => {
    const graph = new GraphBuilder();
    build({
      source: (source, options = {}) =>
        new GraphStream(graph, graph.addSource(source, options as SourceOptions<unknown>)) as never,
    });
    return graph.build(name);
  };
  buildGraph();
  return { name, build: buildGraph };
}

const NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;

type Create = Pick<GraphNode, 'create' | 'isExchange'> & { readonly states?: GraphNode['states'] };

/** Implements both `Stream` and `KeyedStream`; the types decide which methods a caller sees. */
class GraphStream implements KeyedStream<Key, unknown> {
  readonly #graph: GraphBuilder;
  readonly node: GraphNode;

  constructor(graph: GraphBuilder, node: GraphNode) {
    this.#graph = graph;
    this.node = node;
  }

  map(fn: (item: unknown) => unknown, options?: OperatorOptions): never {
    return this.#stateless('map', options, { create: (env) => mapItems(env, fn) });
  }

  filter(fn: (item: unknown) => boolean, options?: OperatorOptions): never {
    return this.#stateless('filter', options, { create: (env) => filterItems(env, fn) });
  }

  flatMap(fn: (item: unknown) => Iterable<unknown>, options?: OperatorOptions): never {
    return this.#stateless('flatMap', options, { create: (env) => expandItems(env, fn) });
  }

  keyBy(fn: (item: unknown) => Key, options?: OperatorOptions): never {
    const create: Create['create'] = (env) => keyItems(env, fn);
    return this.#stateless('keyBy', options, { create, isExchange: true });
  }

  merge(...others: readonly unknown[]): never {
    const inputs = [this, ...(others as readonly GraphStream[])].map(({ node }) => node);
    const name = this.#numbered('merge');
    return this.#next({ name, inputs, states: {}, create: mergeStreams });
  }

  to(sink: AnySink): void {
    checkSink(sink, 'to');
    this.#graph.add({ name: sink.uid, inputs: [this.node], states: {}, sink });
  }

  process(definition: ProcessDefinition<Key, unknown, StateDescriptions, unknown>): never {
    checkDefinition('process', definition, PROCESS);
    return this.#process(definition);
  }

  #process(definition: ProcessDefinition<Key, unknown, StateDescriptions, unknown>): never {
    const { state = {}, onItem, onTimer } = definition;
    for (const name of Object.keys(state)) {
      if (!NAME.test(name)) {
        throw invalid('state', `state name ${JSON.stringify(name)} does not match ${NAME.source}`);
      }
    }
    const handlers: ProcessHandlers = {
      onItem: onItem.bind(definition),
      ...(onTimer !== undefined && {
        onTimer: onTimer.bind(definition),
      }),
    };
    const timers: Record<string, StateDescription> =
      onTimer === undefined ? {} : { [TIMERS]: describe(timersCodec) };
    const names = Object.keys(state);
    return this.#keyed(definition, {
      states: { ...state, ...timers },
      create: (env) => new ProcessOperator(env, names, handlers),
    });
  }

  reduce(definition: ReduceDefinition<unknown, unknown>): never {
    checkDefinition('reduce', definition, REDUCE);
    const { codec = jsonCodec(), ...rest } = definition;
    const state = { value: describe(codec) };
    return this.#process({
      ...rest,
      state,
      onItem(item, context) {
        const states = context.state as unknown as {
          readonly value: { update(fn: (value: unknown) => unknown): unknown };
        };
        const value = states.value.update((before) =>
          definition.add(before === undefined ? definition.initial() : before, item),
        );
        context.emit({ key: context.key, value });
      },
    });
  }

  dedupe(definition: DedupeDefinition<unknown>): never {
    checkDefinition('dedupe', definition, DEDUPE);
    const { keepMs } = definition;
    if (!Number.isSafeInteger(keepMs) || keepMs < 0) {
      throw invalid('keepMs', `dedupe "${definition.uid}" needs keepMs in whole milliseconds`);
    }
    return this.#keyed(definition, {
      states: { [SEEN]: describe(seenCodec) },
      create: (env) => new DedupeOperator(env, (item) => definition.id(item), keepMs),
    });
  }

  reorder(definition: ReorderDefinition<unknown, VersionKind>): never {
    checkDefinition('reorder', definition, REORDER);
    const { uid, policy = 'sealed', sealed, late, versionKind, onFull = 'fail' } = definition;
    const codec = definition.codec ?? jsonCodec();
    if (policy === 'sealed' && sealed === undefined) {
      throw invalid('sealed', `reorder "${uid}" needs \`sealed\`, or \`policy: 'lww'\``);
    }
    if (policy === 'sealed' && late === undefined) throw lateMissing('reorder', uid);
    if (sealed !== undefined && 'lag' in sealed && versionKind === 'logical-time') {
      throw invalid(
        'sealed',
        `reorder "${uid}": a lag needs number or bigint versions; use \`by\``,
      );
    }
    const versions = versionsOf(versionKind);
    const states: Record<string, StateDescription> = {
      [NEWEST]: versioned(codec, versionKind),
    };
    if (policy === 'sealed') states[BUFFER] = describe(heldCodec(codec, versions as never));
    const rules = {
      policy,
      versions: versions as never,
      version: (item: unknown) => definition.version(item),
      sealed: sealed as never,
      onFull,
      itemsMax: definition.itemsMax ?? streamsLimits.reorderItemsMax.value,
      bytesMax: definition.bytesMax ?? streamsLimits.reorderBytesMax.value,
      codec,
    };
    return this.#keyed(
      definition,
      { states, create: (env) => new ReorderOperator(env, rules) },
      late,
    );
  }

  window(window: Tumbling, definition: WindowDefinition<unknown, unknown>): never {
    checkDefinition('window', definition, WINDOW);
    const { uid, late } = definition;
    if ((late as unknown) === undefined) throw lateMissing('window', uid);
    const codec = definition.codec ?? jsonCodec();
    const panes = new PanesCodec(codec);
    const rules = {
      window,
      panes,
      initial: () => definition.initial(),
      add: (value: unknown, item: unknown) => definition.add(value, item),
      accept(value: unknown) {
        if (codec.normalise !== undefined) return codec.normalise(value);
        codec.check?.(value);
        return value;
      },
    };
    return this.#keyed(
      definition,
      {
        states: { [WINDOWS]: describe(panes) },
        create: (env) => new WindowOperator(env, rules),
      },
      late,
    );
  }

  #stateless(kind: string, options: OperatorOptions | undefined, made: Create): never {
    refuseUnknownOptions(options ?? {}, kind, OPERATOR);
    const name = this.#numbered(kind);
    const inputs = [this.node];
    const onError = options?.onError;
    return this.#next({
      name,
      inputs,
      states: {},
      ...made,
      ...(onError !== undefined && { onError }),
    });
  }

  #keyed(
    { uid, was, onError }: KeyedOperatorOptions,
    { states = {}, create }: Create,
    late?: unknown,
  ): never {
    if (!isKeyed(this.node)) throw invalid('keyBy', `operator "${uid}" needs keyBy before it`);
    return this.#next({
      name: uid,
      uid,
      inputs: [this.node],
      states,
      ...(create !== undefined && { create }),
      ...(was !== undefined && { was }),
      ...(onError !== undefined && { onError }),
      ...(late !== undefined && late !== 'drop' && { late: late as AnySink }),
    });
  }

  #next(node: GraphNode): never {
    return new GraphStream(this.#graph, this.#graph.add(node)) as never;
  }

  /** Operators without a uid are named by their position, in messages only. */
  #numbered(kind: string): string {
    return `${kind}#${this.#graph.nodes.length}`;
  }
}

function describe<V>(codec: Codec<V>): StateDescription {
  return aggregate(codec);
}

function lateMissing(operator: string, uid: string): Error {
  return invalid(
    'late',
    `${operator} "${uid}" does not say what happens to late items: give it \`late\` with a sink, or 'drop'`,
  );
}
