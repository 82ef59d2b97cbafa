// Clients of the job service that send arbitrary bytes, and record how they are refused.
import {
  Client,
  type ClientReadableStream,
  credentials,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import { jobCalls, SERVICE, type SubscribeRequest } from '@syncline/jobs/grpc';
import { encode } from '@syncline/kernel/wire';

export interface Refusal {
  /** The gRPC or HTTP status. */
  readonly status: number;
  readonly code: unknown;
  readonly details: unknown;
  readonly message: string;
}

const pass = (bytes: Uint8Array) => Buffer.from(bytes);

export class JobsRawClient implements Disposable {
  readonly #client: Client;

  /** Uses its own connection. */
  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
  }

  /** The reply, or why there is none. */
  call(method: string, request: Uint8Array): Promise<Uint8Array | Refusal> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        `/${SERVICE}/${method}`,
        pass,
        (bytes) => bytes,
        request,
        (error: ServiceError | null, answer?: Uint8Array) =>
          resolve(error === null ? (answer ?? new Uint8Array()) : refusalOf(error)),
      );
    });
  }

  /** A stream that is not read until its events are listened to. */
  subscribe(request: Uint8Array): ClientReadableStream<Uint8Array> {
    const path = `/${SERVICE}/${jobCalls.subscribe.name}`;
    const stream = this.#client.makeServerStreamRequest(path, pass, (bytes) => bytes, request);
    stream.on('error', () => undefined); // the status says the same
    return stream;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** How a stream ends. It is read to its end. */
export function endOf(stream: ClientReadableStream<Uint8Array>): Promise<Refusal> {
  return new Promise((resolve) => {
    stream.on('status', (status: StatusObject) => resolve(refusalOf(status)));
    stream.resume();
  });
}

export function encodeSubscribe(jobId: string, more: Partial<SubscribeRequest> = {}): Uint8Array {
  return encode(jobCalls.subscribe.request, {
    jobId,
    scope: {},
    includeLeases: false,
    includeJob: false,
    bufferEvents: 0,
    bufferBytes: 0,
    ...more,
  });
}

/** Gives up after 10 s without a reply: refusals are immediate. */
export async function askHttp(url: string, init: RequestInit = {}): Promise<Refusal> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000), ...init });
  const body = await response.text();
  const isProblem = body.startsWith('{');
  const problem = (isProblem ? JSON.parse(body) : {}) as Readonly<Record<string, unknown>>;
  const { code, details, detail } = problem;
  return {
    status: response.status,
    code,
    details,
    message: typeof detail === 'string' ? detail : body,
  };
}

function refusalOf({
  code: status,
  details: message,
  metadata,
}: ServiceError | StatusObject): Refusal {
  const [code] = metadata.get('syncline-code');
  const [details] = metadata.get('syncline-details');
  return { status, code, details: JSON.parse(String(details ?? '{}')), message };
}
