// toy.v1.EchoService, made from a descriptor alone, as the generated code of a slice would bring it.

import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { assert } from '@syncline/kernel';

export interface Echo {
  readonly text: string;
}

const file = create(FileDescriptorProtoSchema, {
  name: 'toy/v1/echo.proto',
  package: 'toy.v1',
  syntax: 'proto3',
  messageType: [
    {
      name: 'Echo',
      field: [
        {
          name: 'text',
          number: 1,
          type: FieldDescriptorProto_Type.STRING,
          label: FieldDescriptorProto_Label.OPTIONAL,
        },
      ],
    },
  ],
  service: [
    {
      name: 'EchoService',
      method: [
        { name: 'Say', inputType: '.toy.v1.Echo', outputType: '.toy.v1.Echo' },
        {
          name: 'Repeat',
          inputType: '.toy.v1.Echo',
          outputType: '.toy.v1.Echo',
          serverStreaming: true,
        },
        {
          name: 'Chat',
          inputType: '.toy.v1.Echo',
          outputType: '.toy.v1.Echo',
          clientStreaming: true,
          serverStreaming: true,
        },
      ],
    },
  ],
});

export const ECHO_SERVICE = 'toy.v1.EchoService';
export const echoDescriptor = toBinary(FileDescriptorProtoSchema, file);
export const echoDefinition: ServiceDefinition = {
  say: methodOf('Say', false, false),
  repeat: methodOf('Repeat', false, true),
  chat: methodOf('Chat', true, true),
};

const message = messageOf('toy.v1.Echo');

function methodOf(name: string, requestStream: boolean, responseStream: boolean) {
  return {
    path: `/${ECHO_SERVICE}/${name}`,
    requestStream,
    responseStream,
    requestSerialize: encode,
    requestDeserialize: decode,
    responseSerialize: encode,
    responseDeserialize: decode,
  };
}

function encode({ text }: Echo): Buffer {
  const echo = { ...create(message), text };
  return Buffer.from(toBinary(message, echo));
}

function decode(bytes: Buffer): Echo {
  return fromBinary(message, bytes) as unknown as Echo;
}

function messageOf(name: string): DescMessage {
  const found = createFileRegistry(file, () => undefined).getMessage(name);
  assert(found !== undefined, `${name} is in the descriptor`);
  return found;
}
