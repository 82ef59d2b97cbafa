// Encodes and decodes the messages of grpc.health.v1. They are few and will not change, and a library would take
// longer to load than the rest of the gRPC listener.
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { WireReader, WireWriter } from '@syncline/kernel/wire';

export const HEALTH_SERVICE = 'grpc.health.v1.Health';

const STATUSES = { SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const;

export type ServingStatus = keyof typeof STATUSES;
export interface HealthRequest {
  readonly service: string;
}
export interface HealthResponse {
  readonly status: ServingStatus;
}
export interface HealthListResponse {
  readonly statuses: Readonly<Record<string, HealthResponse>>;
}

const writer = new WireWriter();

/** Throws if the bytes are not a valid message. Unknown fields are skipped. */
export function parseHealthRequest(bytes: Uint8Array): HealthRequest {
  const reader = new WireReader('HealthCheckRequest', bytes);
  let service = '';
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) service = reader.text();
    else reader.skip();
  }
  return { service };
}

export function encodeHealthResponse({ status }: HealthResponse): Buffer {
  writer.clear();
  writer.uint(1, STATUSES[status]);
  return writer.copy();
}

export function encodeHealthListResponse({ statuses }: HealthListResponse): Buffer {
  writer.clear();
  for (const [name, { status }] of Object.entries(statuses)) {
    const entry = writer.begin(1);
    writer.text(1, name);
    const response = writer.begin(2);
    writer.uint(1, STATUSES[status]);
    writer.end(response);
    writer.end(entry);
  }
  return writer.copy();
}

export const healthDefinition: ServiceDefinition = {
  check: methodOf('Check', encodeHealthResponse),
  list: methodOf('List', encodeHealthListResponse),
  watch: { ...methodOf('Watch', encodeHealthResponse), responseStream: true },
};

/** HealthListRequest has no fields, so it can be read as a HealthRequest without a service. */
function methodOf<Response>(
  name: string,
  responseSerialize: (response: Response) => Buffer,
): MethodDefinition<HealthRequest, Response> {
  return {
    path: `/${HEALTH_SERVICE}/${name}`,
    originalName: name,
    requestStream: false,
    responseStream: false,
    requestSerialize: onlyServed,
    requestDeserialize: parseHealthRequest,
    responseSerialize,
    responseDeserialize: onlyServed,
  };
}

function onlyServed(): never {
  throw new Error('the service is served here, not called');
}
