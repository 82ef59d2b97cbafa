// The interface through which a slice (fair, jobs, sets, streams) plugs into the server.
//
// The library of a slice knows nothing about sockets. An adapter in this package wraps it as a Slice; the server
// provides storage, time and configuration, opens the listeners that the slice needs, and moves bytes.
//
// Lifecycle guarantees:
// - `start` is called once. When it resolves, every contribution works; lengthy loading may continue in the
//   background, with a `not-ready` health. If it rejects, the slice has released its resources.
// - No connection, call or request arrives before `start` has resolved.
// - `deps.draining` fires when a shutdown begins. The slice then ends its long-lived streams promptly; calls that
//   have already arrived are still answered.
// - `stop` is called once, when no gRPC call, HTTP request or RESP session is left. The mesh is still open, so
//   that peers get the last changes; the server closes it after the slices. When `stop` resolves, everything that
//   was acknowledged is as durable as promised. The signal fires when the grace period is over.
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
  /** Every metric that the slice reports; any other name is a bug. */
  readonly metrics: MetricDefinitions;
  /** Shown as `syncline_limit{package="<name>"}`. */
  readonly limits: Readonly<Record<string, Limit>>;
  /** The listeners that it uses besides HTTP. Declared, so that a configuration can be checked before the start. */
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
   * Undefined without peers. A slice registers its channel; the slice that knows the node's epoch opens the mesh.
   * The server accepts connections for the mesh and closes it.
   */
  readonly mesh: Mesh | undefined;
  /** Fires when the server begins to stop. */
  readonly draining: AbortSignal;
  /** Opens the slice's own store, in memory with `--memory`. Call it at most once; the server closes the store. */
  openStorage(): Promise<Storage>;
  /** The slice's own directory, if it keeps files instead of a store; undefined with `--memory`. */
  openFiles(): Promise<Files | undefined>;
  /**
   * Shuts down the whole server cleanly, because the slice can neither continue nor recover. The process exits
   * with the first such error. A failed `start` rejects instead.
   */
  fail(error: SynclineError): void;
  /** Records that one of the slice's limits was reached, for the log, /metrics and /api/status. */
  limitReached(limit: string): void;
}

/** What a started slice contributes. A listener that no slice declares is not opened. */
export interface RunningSlice {
  readonly grpc?: readonly GrpcService[];
  /** Paths are below /api/<name>. */
  readonly http?: readonly HttpRoute[];
  /** At most one slice of a server may provide RESP sessions. */
  readonly resp?: RespSessions;
  /** Its views on the dashboard. */
  readonly views?: readonly LiveView[];
  /** Counters whose rates the dashboard shows. */
  readonly rates?: readonly RateDefinition[];
  /** Called often and from many places, so it must be cheap and free of side effects. */
  status(): SliceStatus;
  stop(signal: AbortSignal): Promise<void>;
}

export interface SliceStatus {
  readonly health: SliceHealth;
  /** Values for /api/status. Plain JSON; no keys, elements or tokens. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** `not-ready` is temporary (loading, no peer yet); `failed` lasts until a restart, and /healthz fails. */
export type SliceHealth =
  | { readonly kind: 'ready' /** A warning. */; readonly reason?: string }
  | { readonly kind: 'not-ready'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };
