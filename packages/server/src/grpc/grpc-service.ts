// What a slice provides to answer gRPC calls.
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';

export interface GrpcService {
  /** Full name, as in reflection and health: `syncline.jobs.v1.JobService`. */
  readonly name: string;
  readonly definition: ServiceDefinition;
  /**
   * Handlers as grpc-js calls them; they may be async. What they throw, reject with or pass to the callback
   * becomes a status by the error table. For a stream that may fail later, the handler's promise lasts until
   * then.
   */
  readonly implementation: UntypedServiceImplementation;
  /** Bytes of the largest answer of a method, by its name, where that is more than `grpcAnswerBytes`. */
  readonly answerBytesMax?: Readonly<Record<string, number>>;
  /**
   * Serialized FileDescriptorProtos of the service's file and of all that it imports. Loaded by the first
   * reflection call, because that is slow.
   */
  fileDescriptors(): Promise<readonly Uint8Array[]>;
}
