// Server reflection (v1 and v1alpha) over the descriptors that the services bring along, so that
// grpcurl and its like work without a .proto file.
import type { Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import type { GrpcService } from './grpc-service.js';

type Stream = {
  write(message: unknown): boolean;
  pause(): void;
  resume(): void;
  once(event: 'drain', listener: () => void): void;
};

export function addReflection(server: Server, services: readonly GrpcService[]): void {
  const reflection = new ReflectionService(packageOf(services), {
    services: services.map((service) => service.name),
  });
  reflection.addToServer({
    addService(definition: ServiceDefinition, implementation: UntypedServiceImplementation) {
      server.addService(definition, withBackpressure(implementation));
    },
  });
}

/** The library reads the descriptors from any entry and cares for nothing else in it. */
function packageOf(services: readonly GrpcService[]): PackageDefinition {
  return Object.fromEntries(
    services.map((service) => [
      service.name,
      {
        format: 'Protocol Buffer 3 DescriptorProto',
        type: {},
        fileDescriptorProtos: service.fileDescriptors.map((bytes) => Buffer.from(bytes)),
      },
    ]),
  ) as unknown as PackageDefinition;
}

/** The library answers each question at once. A client that asks and does not read must wait. */
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
