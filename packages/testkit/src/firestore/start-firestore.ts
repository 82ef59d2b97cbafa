// A Firestore for one test: the emulator behind the gate, in this process, on a free loopback port.
import { FirestoreServiceV1Impl } from '@firestore-emulator/server/dist/server/FirestoreServiceV1Impl/index.js';
import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { FirestoreGate } from './firestore-gate.js';

// Without credentials the client would query the cloud's metadata server.
const NO_CREDENTIALS = { client_email: 'nobody@localhost', private_key: 'none' };

export interface FirestoreSettings {
  readonly host: string;
  readonly ssl: false;
  readonly credentials: { readonly client_email: string; readonly private_key: string };
}

export interface TestFirestore extends AsyncDisposable {
  readonly gate: FirestoreGate;
  /** The settings that the real client needs. */
  readonly settings: FirestoreSettings;
}

export interface TestFirestoreOptions {
  /** False: the emulator as it is, which loses updates. Default true. */
  readonly isIsolating?: boolean;
}

export async function startFirestore(options: TestFirestoreOptions = {}): Promise<TestFirestore> {
  const gate = new FirestoreGate({ isIsolating: options.isIsolating ?? true });
  const server = new Server();
  const definition = FirestoreServiceV1Impl.definition as unknown as ServiceDefinition;
  server.addService(definition, gate.handlers());
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return {
    gate,
    settings: { host: `127.0.0.1:${port}`, ssl: false, credentials: NO_CREDENTIALS },
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}
