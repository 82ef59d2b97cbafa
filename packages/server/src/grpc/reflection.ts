// Server reflection (v1 and v1alpha), so that grpcurl and similar tools work without a .proto file.
//
// The library and the descriptors take longer to load than the rest of the gRPC listener, and most servers never
// need them. So the first call loads them, before its messages are read.
import type {
  MethodDefinition,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { assert, type Logger } from '@syncline/kernel';
import { statusFrom } from './call-status.js';
import type { GrpcService } from './grpc-service.js';

const METHOD = 'ServerReflectionInfo';

type Stream = {
  write(message: unknown): boolean;
  pause(): void;
  resume(): void;
  once(event: 'drain', listener: () => void): void;
};

interface LoadedMethod {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handle: (call: Stream) => void;
}

export function addReflection(
  server: Server,
  services: readonly GrpcService[],
  { logger }: { readonly logger: Logger },
): void {
  let loading: Promise<ReadonlyMap<string, LoadedMethod>> | undefined;
  for (const version of ['v1', 'v1alpha']) {
    const path = `/grpc.reflection.${version}.ServerReflection/${METHOD}`;
    let method: LoadedMethod | undefined;
    const codec = (): LoadedMethod['definition'] => {
      assert(method !== undefined, 'the first call has loaded the method');
      return method.definition;
    };
    const definition: ServiceDefinition = {
      [METHOD]: {
        path,
        requestStream: true,
        responseStream: true,
        requestSerialize: (message) => codec().requestSerialize(message),
        requestDeserialize: (bytes) => codec().requestDeserialize(bytes),
        responseSerialize: (message) => codec().responseSerialize(message),
        responseDeserialize: (bytes) => codec().responseDeserialize(bytes),
      },
    };
    const answer = async (call: ServerDuplexStream<unknown, unknown>): Promise<void> => {
      try {
        loading ??= loadMethods(services);
        method = (await loading).get(path);
        method?.handle(call);
      } catch (thrown) {
        loading = undefined; // a later call tries again: the process may have run out of file descriptors
        call.emit('error', statusFrom(thrown, logger, { method: path }));
      }
    };
    server.addService(definition, { [METHOD]: answer as never });
  }
}

async function loadMethods(
  services: readonly GrpcService[],
): Promise<ReadonlyMap<string, LoadedMethod>> {
  const { ReflectionService } = await import('@grpc/reflection');
  const reflection = new ReflectionService(await packageOf(services), {
    services: services.map((service) => service.name),
  });
  const methods = new Map<string, LoadedMethod>();
  reflection.addToServer({
    addService(definitions: ServiceDefinition, implementation: UntypedServiceImplementation) {
      const definition = definitions[METHOD];
      const handler = withBackpressure(implementation)[METHOD];
      assert(definition !== undefined && handler !== undefined, 'reflection has one method');
      methods.set(definition.path, { definition, handle: handler as never });
    },
  });
  return methods;
}

/** The library uses only the descriptors of each entry. */
async function packageOf(services: readonly GrpcService[]): Promise<PackageDefinition> {
  const entries = services.map(async (service) => {
    const descriptors = await service.fileDescriptors();
    const entry = {
      format: 'Protocol Buffer 3 DescriptorProto',
      type: {},
      fileDescriptorProtos: descriptors.map((bytes) => Buffer.from(bytes)),
    };
    return [service.name, entry] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as unknown as PackageDefinition;
}

/** The library answers each request immediately; this makes a client that does not read wait. */
export function withBackpressure(
  implementation: UntypedServiceImplementation,
): UntypedServiceImplementation {
  return Object.fromEntries(
    Object.entries(implementation).map(([name, handler]) => [
      name,
      (call: Stream) => {
        const write = call.write.bind(call);
        call.write = (message) => {
          const hasRoom = write(message);
          if (!hasRoom) {
            call.pause();
            call.once('drain', () => call.resume());
          }
          return hasRoom;
        };
        (handler as (call: Stream) => void)(call);
      },
    ]),
  );
}
