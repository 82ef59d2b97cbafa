// toy.v1.EchoService: the definition and the descriptor, which generated code would normally provide.
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';

export interface Echo {
  readonly text: string;
}

export const ECHO_SERVICE = 'toy.v1.EchoService';

const echo = { requestType: 'Echo', responseType: 'Echo', comment: '' };
const loaded = fromJSON({
  nested: {
    'toy.v1': {
      nested: {
        Echo: { fields: { text: { type: 'string', id: 1 } } },
        EchoService: {
          methods: {
            Say: echo,
            Repeat: { ...echo, responseStream: true },
            Chat: { ...echo, requestStream: true, responseStream: true },
          },
        },
      },
    },
  },
});

export const echoDefinition = loaded[ECHO_SERVICE] as ServiceDefinition;
export const echoDescriptors = async (): Promise<readonly Uint8Array[]> =>
  (loaded['toy.v1.Echo'] as MessageTypeDefinition<object, object>).fileDescriptorProtos;
