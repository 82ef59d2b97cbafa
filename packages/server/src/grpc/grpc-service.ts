// What a slice gives the server to answer gRPC calls.
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';

export interface GrpcService {
  /** Full name, as in reflection and health: `syncline.jobs.v1.JobService`. */
  readonly name: string;
  readonly definition: ServiceDefinition;
  /**
   * Handlers as grpc-js calls them; they may be async. What they throw, reject with or hand to the
   * callback becomes a status by the error table. A stream that may fail later is a handler whose
   * promise lasts until then.
   */
  readonly implementation: UntypedServiceImplementation;
  /** Serialized FileDescriptorProtos of the service's file and of all that it imports. */
  readonly fileDescriptors: readonly Uint8Array[];
}
