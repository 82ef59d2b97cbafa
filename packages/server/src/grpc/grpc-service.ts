// What a slice provides to answer gRPC calls.
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';

export interface GrpcService {
  /** Full name, as in reflection and health: `syncline.jobs.v1.JobService`. */
  readonly name: string;
  readonly definition: ServiceDefinition;
  /**
   * Handlers as grpc-js calls them; they may be async. Whatever they throw, reject with or pass to the callback
   * is converted to a status. For a stream that may fail later, the handler's promise settles when it ends.
   */
  readonly implementation: UntypedServiceImplementation;
  /** Size of the largest answer, by method name, for methods that may exceed `grpcAnswerBytes`. */
  readonly answerBytesMax?: Readonly<Record<string, number>>;
  /**
   * Serialized FileDescriptorProtos of the service's file and all its imports. Loaded by the first reflection
   * call, because loading them is slow.
   */
  fileDescriptors(): Promise<readonly Uint8Array[]>;
}
