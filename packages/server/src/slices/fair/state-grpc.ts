// fair.state.v1.StateService for grpc-js. The service has its own codec, so gRPC only moves bytes; the descriptors
// are only used for reflection.
import type { GrpcService } from '../../grpc/grpc-service.js';
import {
  runSyncCall,
  type SyncCall,
  type SyncCallDeps,
  type SyncCallOptions,
} from './sync-call.js';

const NAME = 'fair.state.v1.StateService';

export function stateGrpcService(deps: SyncCallDeps, options: SyncCallOptions): GrpcService {
  return {
    name: NAME,
    definition: {
      sync: {
        path: `/${NAME}/Sync`,
        originalName: 'Sync',
        requestStream: true,
        responseStream: true,
        requestSerialize: asBuffer,
        requestDeserialize: (bytes) => bytes,
        responseSerialize: asBuffer,
        responseDeserialize: (bytes) => bytes,
      },
    },
    implementation: handlers(deps, options),
    fileDescriptors: async () =>
      (await import('@syncline/protocol/fair-state')).fairStateFileDescriptors(),
  };
}

function handlers(deps: SyncCallDeps, options: SyncCallOptions) {
  return { sync: (call: SyncCall) => runSyncCall(deps, call, options) };
}

/** Without copying: a broadcast is encoded once for all streams. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
