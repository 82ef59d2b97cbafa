// Clients of the job service that send whatever bytes they are told to, and see how they are refused.
import {
  Client,
  type ClientReadableStream,
  credentials,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import { encode, SERVICE, type SubscribeRequest, subscribe } from '@syncline/jobs/grpc';

export interface Refusal {
  /** Of gRPC or of HTTP. */
  readonly status: number;
  readonly code: unknown;
  readonly details: unknown;
  readonly message: string;
}

const pass = (bytes: Uint8Array) => Buffer.from(bytes);

export class JobsRawClient implements Disposable {
  readonly #client: Client;

  /** Shares its connection with nobody. */
  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
  }

  /** The answer, or why there is none. */
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

  /** A stream that nobody reads until its events are listened to. */
  subscribe(request: Uint8Array): ClientReadableStream<Uint8Array> {
    const path = `/${SERVICE}/${subscribe.name}`;
    const stream = this.#client.makeServerStreamRequest(path, pass, (bytes) => bytes, request);
    stream.on('error', () => undefined); // the status tells the same
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
  return encode(subscribe.request, {
    jobId,
    scope: undefined,
    after: '',
    includeLeases: false,
    includeJob: false,
    overflow: undefined,
    bufferEvents: 0,
    bufferBytes: 0,
    ...more,
  });
}

/** Gives up on an answer of more than 10 s: refusals come at once. */
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
