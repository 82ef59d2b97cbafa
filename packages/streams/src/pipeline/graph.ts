// The description of a pipeline: nodes that know their inputs, states and sinks. Nothing runs yet.
//
// Everything that a checkpoint must find again has a uid chosen by the author. Invalid uids are rejected rather than
// altered: two that differ only in punctuation must stay distinct, and a renamed operator must be detected.
import {
  type OptionNames,
  refuseUnknownOptions,
  SynclineError,
  suggestion,
} from '@syncline/kernel';
import type { OutboxSink, Sink } from '../ends/sink.js';
import type { EndPorts, Json, Source } from '../ends/source.js';
import type { StateDescription } from '../state/state-backend.js';
import { createStateSchema, isUid } from '../state/state-schema.js';
import type { DeclaredState } from '../store/pipeline-states.js';
import type { Operator, OperatorEnv } from './operator.js';

export type AnySink = Sink<unknown> | OutboxSink;

/** How the records of a source become items with event times. */
export interface SourceOptions<T> {
  /** Receives the records that cannot be decoded. Default `'fail'`: the run stops. */
  readonly onBad?: AnySink | 'fail';
  /** Event time of an item in ms. Required by windows and event timers. */
  readonly eventTime?: (item: T) => number;
  /** How far behind the highest event time so far an item may arrive. Default 0. */
  readonly outOfOrderMs?: number;
  /**
   * A partition that delivers nothing for this long no longer holds back event time. Default: never. It
   * depends on the clock, so two runs over the same input may differ.
   */
  readonly idleAfterMs?: number;
}

const SOURCE_OPTIONS: OptionNames<SourceOptions<unknown>> = {
  onBad: true,
  eventTime: true,
  outOfOrderMs: true,
  idleAfterMs: true,
};

export interface SourceNode {
  readonly source: Source<unknown, Json>;
  readonly options: SourceOptions<unknown>;
  readonly node: GraphNode;
}

export interface GraphNode {
  readonly name: string;
  readonly inputs: readonly GraphNode[];
  /** Set for stateful operators: names their states in checkpoints. */
  readonly uid?: string;
  /** Its uid in earlier checkpoints. */
  readonly was?: string;
  readonly states: Readonly<Record<string, StateDescription>>;
  readonly onError?: AnySink;
  readonly late?: AnySink;
  readonly sink?: AnySink;
  /** Downstream of it, items are on the worker that owns their key. */
  readonly isExchange?: boolean;
  /** Undefined for sources and sinks, which the run creates itself. */
  readonly create?: (env: OperatorEnv) => Operator;
}

export interface Graph {
  readonly name: string;
  readonly sources: readonly SourceNode[];
  /** In topological order. */
  readonly nodes: readonly GraphNode[];
  /** By uid, each once. */
  readonly sinks: ReadonlyMap<string, AnySink>;
}

/** Collects the nodes of one graph. */
export class GraphBuilder {
  readonly sources: SourceNode[] = [];
  readonly nodes: GraphNode[] = [];
  readonly #uids = new Map<string, string>();
  readonly #sinks = new Map<string, AnySink>();
  readonly #written = new Set<AnySink>();

  addSource(source: Source<unknown, Json>, options: SourceOptions<unknown>): GraphNode {
    this.claim(source.uid, 'a source');
    refuseUnknownOptions(options, `source "${source.uid}"`, SOURCE_OPTIONS);
    if (options.onBad !== undefined && options.onBad !== 'fail')
      this.useSink(checkSink(options.onBad, 'onBad', 'fail'));
    const node: GraphNode = { name: source.uid, inputs: [], states: {} };
    this.sources.push({ source, options, node });
    this.nodes.push(node);
    return node;
  }

  add(node: GraphNode): GraphNode {
    for (const input of node.inputs) this.#checkMine(input);
    if (node.uid !== undefined) this.claim(node.uid, 'an operator');
    if (node.onError !== undefined) this.useSink(checkSink(node.onError, 'onError'));
    if (node.late !== undefined) this.useSink(checkSink(node.late, 'late', 'drop'));
    if (node.sink !== undefined) {
      if (this.#written.has(node.sink)) {
        throw invalid('uid', `sink "${node.sink.uid}" receives two streams; merge them first`);
      }
      this.#written.add(node.sink);
      this.useSink(node.sink);
    }
    this.nodes.push(node);
    return node;
  }

  /** One sink may take the dead letters of several operators. */
  useSink(sink: AnySink): void {
    const known = this.#sinks.get(sink.uid);
    if (known === sink) return;
    this.claim(sink.uid, 'a sink');
    this.#sinks.set(sink.uid, sink);
  }

  claim(uid: string, what: string): void {
    if (!isUid(uid)) {
      throw invalid(
        'uid',
        `uid ${JSON.stringify(uid)} of ${what} does not match [a-z][a-z0-9-]{0,62}; choose another one`,
      );
    }
    const other = this.#uids.get(uid);
    if (other !== undefined) {
      throw invalid('uid', `uid "${uid}" is used twice, by ${other} and by ${what}`);
    }
    this.#uids.set(uid, what);
  }

  build(name: string): Graph {
    if (!isUid(name)) {
      throw invalid(
        'name',
        `pipeline name ${JSON.stringify(name)} does not match [a-z][a-z0-9-]{0,62}`,
      );
    }
    if (this.sources.length === 0) throw invalid('source', `pipeline "${name}" has no source`);
    for (const source of this.sources) this.#checkUsed(source);
    return { name, sources: this.sources, nodes: this.nodes, sinks: this.#sinks };
  }

  /** Any operator may have an effect, since it calls a function of the user. */
  #checkUsed({ source, options, node }: SourceNode): void {
    const { onBad = 'fail' } = options;
    if (onBad !== 'fail' || this.nodes.some(({ inputs }) => inputs.includes(node))) return;
    throw invalid(
      'source',
      `source "${source.uid}" is never used: no operator or sink receives its records. ` +
        'End its stream with .to(sink), or remove the source.',
    );
  }

  /** A node can only read nodes that were added before it, so a graph has no cycles. */
  #checkMine(input: GraphNode): void {
    if (this.nodes.includes(input)) return;
    throw invalid('input', `"${input.name}" belongs to another pipeline, or would make a cycle`);
  }
}

/** Marks an option as a function that is required. */
export const FUNCTION = 'a function';

/** Throws `invalid-argument`: definitions may come from a program without types. */
export function checkDefinition(
  kind: string,
  definition: { readonly uid: string },
  known: object,
): void {
  const where = `${kind} "${definition.uid}"`;
  refuseUnknownOptions(definition, where, known);
  for (const [name, rule] of Object.entries(known)) {
    const value = definition[name as 'uid'] as unknown;
    if (rule === FUNCTION && typeof value !== 'function')
      throw invalid(name, `${where} needs ${name}, which must be a function`);
  }
}

/** Throws `invalid-argument`. `word` is what `option` may be instead of a sink. */
export function checkSink(given: unknown, option: string, word?: string): AnySink {
  const sink = given as Partial<AnySink> | null | undefined;
  if (typeof sink?.mark === 'function') return given as AnySink;
  const shown = String(given);
  const wanted = word === undefined ? 'a sink' : `a sink, or '${word}'`;
  const hint = word === undefined ? '' : suggestion(shown, [word]);
  throw invalid(option, `${option} is ${shown}; expected ${wanted}.${hint}`);
}

/** Whether all items of a node have a key. */
export function isKeyed({ isExchange = false, inputs }: GraphNode): boolean {
  return isExchange || (inputs.length > 0 && inputs.every(isKeyed));
}

/** The sources upstream of a node. */
export function sourcesOf(graph: Graph, node: GraphNode): readonly SourceNode[] {
  const seen = new Set<GraphNode>();
  const visit = (each: GraphNode) => {
    if (seen.has(each)) return;
    seen.add(each);
    for (const input of each.inputs) visit(input);
  };
  visit(node);
  return graph.sources.filter((source) => seen.has(source.node));
}

/** The states of all operators. */
export function declareStates(graph: Graph, keyGroups: number): readonly DeclaredState[] {
  return graph.nodes.flatMap(({ uid, was, states }) =>
    Object.entries(states).map(([name, description]) => {
      const schema = createStateSchema(`${uid}/${name}`, description, keyGroups);
      const migrateFrom = (description.migrateFrom ?? []).map((codec) => ({ ...schema, codec }));
      return { schema, storedAs: was === undefined ? schema.uid : `${was}/${name}`, migrateFrom };
    }),
  );
}

/** Passes the ports to the sources and sinks of a graph. */
export function attachEnds({ sources, sinks }: Graph, ports: EndPorts): void {
  for (const { source } of sources) source.attach?.(ports);
  for (const sink of sinks.values()) if (!('kind' in sink)) sink.attach?.(ports);
}

export function invalid(field: string, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field } });
}
