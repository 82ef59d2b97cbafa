import { EventEmitter } from 'node:events';
import type { UntypedHandleCall } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { withBackpressure } from './reflection.js';

test('the service pauses for a client that sends requests but does not read', () => {
  const journal: string[] = [];
  let hasRoom = true;
  const call = Object.assign(new EventEmitter(), {
    write: (message: unknown) => {
      journal.push(`write ${String(message)}`);
      return hasRoom;
    },
    pause: () => journal.push('pause'),
    resume: () => journal.push('resume'),
  });
  const answerAll = (stream: typeof call): void => {
    stream.on('data', (question) => stream.write(question));
  };
  const { ask } = withBackpressure({ ask: answerAll as unknown as UntypedHandleCall });
  (ask as unknown as typeof answerAll)(call);

  call.emit('data', 1);
  hasRoom = false;
  call.emit('data', 2);
  call.emit('drain');
  expect(journal).toEqual(['write 1', 'write 2', 'pause', 'resume']);
});
