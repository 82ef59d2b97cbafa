// gRPC clients for tests: echo, health and reflection, with promises.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials as channelCredentials,
  Metadata,
  makeGenericClientConstructor,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthDefinition } from 'grpc-health-check';
import { type Echo, echoDefinition } from './echo-service.js';

export interface GrpcClientOptions {
  readonly token?: string;
  readonly credentials?: ChannelCredentials;
  readonly channel?: ChannelOptions;
}

type Callback<T> = (error: ServiceError | null, value: T) => void;

export interface EchoClient extends Client {
  say(echo: Echo, metadata: Metadata, callback: Callback<Echo>): void;
  repeat(echo: Echo, metadata: Metadata): ClientReadableStream<Echo>;
  chat(metadata: Metadata): ClientDuplexStream<Echo, Echo>;
}

interface HealthStatus {
  readonly status: string;
}
export interface HealthClient extends Client {
  check(request: { readonly service: string }, callback: Callback<HealthStatus>): void;
  list(
    request: object,
    callback: Callback<{ readonly statuses: Readonly<Record<string, HealthStatus>> }>,
  ): void;
  watch(request: { readonly service: string }): ClientReadableStream<HealthStatus>;
}

export interface ReflectionAnswer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] };
  readonly errorResponse?: { readonly errorCode: number };
}
export interface ReflectionClient extends Client {
  serverReflectionInfo(metadata: Metadata): ClientDuplexStream<object, ReflectionAnswer>;
}

export function createEchoClient(port: number, options: GrpcClientOptions = {}): EchoClient {
  return createClient<EchoClient>(echoDefinition, port, options);
}

export function createHealthClient(port: number, options: GrpcClientOptions = {}): HealthClient {
  return createClient<HealthClient>(healthDefinition, port, options);
}

export function createReflectionClient(
  version: 'v1' | 'v1alpha',
  port: number,
  options: GrpcClientOptions = {},
): ReflectionClient {
  const root = dirname(createRequire(import.meta.url).resolve('@grpc/reflection/package.json'));
  const file = join(root, `build/proto/grpc/reflection/${version}/reflection.proto`);
  const definition = loadSync(file)[`grpc.reflection.${version}.ServerReflection`];
  return createClient<ReflectionClient>(definition as ServiceDefinition, port, options);
}

function createClient<T extends Client>(
  definition: ServiceDefinition,
  port: number,
  { credentials = channelCredentials.createInsecure(), channel = {} }: GrpcClientOptions,
): T {
  const Constructor = makeGenericClientConstructor(definition, 'test');
  return new Constructor(`127.0.0.1:${port}`, credentials, {
    'grpc.use_local_subchannel_pool': 1,
    ...channel,
  }) as unknown as T;
}

export function withToken(token?: string): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

/** The answer, or the error as a value, for tests that check both. */
export function say(
  client: EchoClient,
  text: string,
  metadata = new Metadata(),
): Promise<{ readonly text?: string; readonly error?: ServiceError }> {
  return new Promise((resolve) => {
    client.say({ text }, metadata, (error, value) =>
      resolve(error ? { error } : { text: value.text }),
    );
  });
}

/** All messages of a stream and how it ended. */
export function collect<T>(
  stream: ClientReadableStream<T>,
): Promise<{ readonly messages: readonly T[]; readonly error?: ServiceError }> {
  const messages: T[] = [];
  return new Promise((resolve) => {
    stream.on('data', (message: T) => messages.push(message));
    stream.on('error', (error: ServiceError) => resolve({ messages, error }));
    stream.on('end', () => resolve({ messages }));
  });
}
