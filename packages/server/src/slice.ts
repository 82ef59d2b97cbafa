// The one interface through which a slice (fair, jobs, sets) plugs into the server.
//
// A slice library knows no sockets. An adapter in this package wraps it as a Slice; the server gives it
// storage, time and configuration, opens the listeners that its contributions need, and moves bytes.
//
// Promises, in the order of a life:
// - `start` is called once. When it resolves every contribution works; long loading continues in the background
// with a `not-ready` health. If it rejects, the slice has released its resources.
// - No connection, call or request arrives before `start` has resolved.
// - `deps.draining` fires when a stop begins. The slice then ends its long-lived streams cleanly and soon;
// calls that have arrived are still answered.
// - `stop` is called once, when no gRPC call, HTTP request or RESP session is left. The mesh still stands, so
//   that peers get the last changes; the server closes it behind the slices. When `stop` resolves all that was
//   acknowledged is as durable as promised. The signal means: the grace time is over, give up.
// - Storage is closed after `stop`, never before.
import type {
  Clock,
  Files,
  Limit,
  Logger,
  MetricDefinitions,
  Metrics,
  Random,
  Storage,
  SynclineError,
} from '@syncline/kernel';
import type { Mesh } from '@syncline/mesh';
import type { ServerConfig } from './config/server-config.js';
import type { LiveView } from './dashboard/live-view.js';
import type { RateDefinition } from './dashboard/rate-history.js';
import type { GrpcService } from './grpc/grpc-service.js';
import type { HttpRoute } from './http/http-route.js';
import type { RespSessions } from './resp/resp-session.js';

export interface Slice {
  /** Lower-case letters. Names the routes /api/<name>, the directory DIR/<name> and the metrics. */
  readonly name: string;
  /** Every metric that the slice reports; another name is a bug. */
  readonly metrics: MetricDefinitions;
  /** Shown as `syncline_limit{package="<name>"}`. */
  readonly limits: Readonly<Record<string, Limit>>;
  /** Where it answers, besides HTTP. Known before the start, so that a wrong setup is refused early. */
  readonly listeners: readonly ('grpc' | 'resp')[];
  start(deps: SliceDeps): Promise<RunningSlice>;
}

export interface SliceDeps {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * Undefined without peers. The slice registers its channel, and the one that knows the node's epoch opens the mesh.
   * The server accepts its connections and closes it.
   */
  readonly mesh: Mesh | undefined;
  /** Fires when the server begins to stop. */
  readonly draining: AbortSignal;
  /** The slice's own store, in memory with `--memory`. Call it once at most; the server closes it. */
  openStorage(): Promise<Storage>;
  /** The slice's own directory, for one that keeps files instead of a store; undefined with `--memory`. */
  openFiles(): Promise<Files | undefined>;
  /**
   * Shuts the whole server down cleanly: the slice can neither continue nor recover, and continuing would do
   * harm. The first error is what the process ends with; a failed `start` rejects instead.
   */
  fail(error: SynclineError): void;
  /** Counts that one of the slice's limits was reached, for the log, /metrics and /api/status. */
  limitReached(limit: string): void;
}

/** What a started slice contributes. A listener that no slice declares is not opened. */
export interface RunningSlice {
  readonly grpc?: readonly GrpcService[];
  /** Paths are below /api/<name>. */
  readonly http?: readonly HttpRoute[];
  /** One slice of a server may speak RESP. */
  readonly resp?: RespSessions;
  /** What the dashboard can show of it. */
  readonly views?: readonly LiveView[];
  /** Counters whose rates the dashboard draws. */
  readonly rates?: readonly RateDefinition[];
  /** Called often and from many places: cheap, and without side effects. */
  status(): SliceStatus;
  stop(signal: AbortSignal): Promise<void>;
}

export interface SliceStatus {
  readonly health: SliceHealth;
  /** Values for /api/status. Plain JSON; no keys, elements or tokens. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** `not-ready` may pass (loading, no peer yet); `failed` lasts until a restart, and /healthz says so. */
export type SliceHealth =
  | { readonly kind: 'ready' /** A remark although it is ready. */; readonly reason?: string }
  | { readonly kind: 'not-ready'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };
