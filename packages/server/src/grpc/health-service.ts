// grpc.health.v1.Health: the status of a service is the readiness of the slice behind it.
//
// Of grpc-health-check only the descriptors are used, for reflection. Its implementation remembers every service
// name that anyone has ever watched, and this service is open to unauthenticated clients.
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';
import { SynclineError } from '@syncline/kernel';
import type { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import type { Readiness } from '../readiness.js';
import type { GrpcService } from './grpc-service.js';
import {
  HEALTH_SERVICE,
  type HealthListResponse,
  type HealthRequest,
  type HealthResponse,
  healthDefinition,
  type ServingStatus,
} from './health-messages.js';

type WatchCall = ServerWritableStream<HealthRequest, HealthResponse>;

export interface HealthServiceDeps {
  readonly readiness: Readiness;
  readonly limits: LimitWatch;
}

export class HealthService {
  readonly #deps: HealthServiceDeps;
  /** The slice behind each service. */
  readonly #sliceOf: ReadonlyMap<string, string>;
  readonly #watchers = new Map<WatchCall, ServingStatus>();
  readonly #stopWatching: () => void;

  constructor(deps: HealthServiceDeps, sliceOf: ReadonlyMap<string, string>) {
    this.#deps = deps;
    this.#sliceOf = sliceOf;
    this.#stopWatching = deps.readiness.watch(() => this.#notifyAll());
  }

  readonly grpc: GrpcService = {
    name: HEALTH_SERVICE,
    definition: healthDefinition,
    async fileDescriptors() {
      const { service } = await import('grpc-health-check');
      return Object.values(service).flatMap((method) => method.requestType.fileDescriptorProtos);
    },
    implementation: {
      check: (
        { request }: ServerUnaryCall<HealthRequest, HealthResponse>,
        callback: sendUnaryData<HealthResponse>,
      ) => {
        const status = this.#statusOf(request.service);
        if (status === 'SERVICE_UNKNOWN') throw unknownService(request.service);
        callback(null, { status });
      },
      list: (_call: unknown, callback: sendUnaryData<HealthListResponse>) => {
        const names = ['', ...this.#sliceOf.keys()];
        const entries = names.map((name) => [name, { status: this.#statusOf(name) }] as const);
        callback(null, { statuses: Object.fromEntries(entries) });
      },
      watch: (call: WatchCall) => this.#watch(call),
    },
  };

  /** Notifies the watchers that the server is stopping, and ends their streams. */
  close(): void {
    this.#notifyAll();
    this.#stopWatching();
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  #statusOf(service: string): ServingStatus {
    const { readiness } = this.#deps;
    if (service === '') return readiness.isReady() ? 'SERVING' : 'NOT_SERVING';
    const slice = this.#sliceOf.get(service);
    if (slice === undefined) return 'SERVICE_UNKNOWN';
    return readiness.isSliceReady(slice) ? 'SERVING' : 'NOT_SERVING';
  }

  #watch(call: WatchCall): void {
    if (this.#watchers.size >= serverLimits.grpcHealthWatchersMax.value) {
      this.#deps.limits.reached('server', 'grpcHealthWatchersMax');
      throw new SynclineError('limit-exceeded', 'too many health watchers', {
        details: { limit: 'grpcHealthWatchersMax' },
      });
    }
    const status = this.#statusOf(call.request.service);
    this.#watchers.set(call, status);
    call.on('cancelled', () => this.#watchers.delete(call));
    call.on('drain', () => this.#notify(call));
    call.write({ status });
  }

  #notifyAll(): void {
    for (const call of this.#watchers.keys()) this.#notify(call);
  }

  /** A watcher that falls behind gets only the newest status when it reads again. */
  #notify(call: WatchCall): void {
    const status = this.#statusOf(call.request.service);
    if (status === this.#watchers.get(call) || call.writableNeedDrain) return;
    this.#watchers.set(call, status);
    call.write({ status });
  }
}

function unknownService(service: string): SynclineError {
  const name = JSON.stringify(service.slice(0, 100));
  return new SynclineError('not-found', `unknown service ${name}`);
}
