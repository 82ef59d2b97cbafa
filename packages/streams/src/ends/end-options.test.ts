// Sources and sinks refuse options that they do not have, and name the nearest one.
import { expect, test } from 'vitest';
import { callbackSink, createDeduplicator } from './callback-sink.js';
import { fileSink } from './file-sink.js';
import { jsonlSource } from './jsonl-source.js';
import { memorySource } from './memory-source.js';
import { natsSource } from './nats-source.js';
import { redisKvSink } from './redis-kv-sink.js';
import { redisStreamSink } from './redis-stream-sink.js';
import { redisStreamSource } from './redis-stream-source.js';
import { transactionSink } from './transaction-sink.js';

const url = 'redis://127.0.0.1:6379';

test.each<[string, (options: never) => unknown, object, string]>([
  ['jsonlSource', jsonlSource, { uid: 'in', files: [], folow: true }, 'follow'],
  ['jsonlSource', jsonlSource, { uid: 'in', file: 'a.jsonl' }, 'files'],
  ['memorySource', memorySource, { uid: 'in', partition: {} }, 'partitions'],
  ['redisStreamSource', redisStreamSource, { uid: 'in', url, streams: ['a'], ak: 'trim' }, 'ack'],
  ['natsSource', natsSource, { uid: 'in', server: 'nats://a', streams: ['a'] }, 'servers'],
  ['fileSink', fileSink, { uid: 'out', dri: 'out' }, 'dir'],
  ['callbackSink', callbackSink, { uid: 'out', cal: async () => {} }, 'call'],
  ['transactionSink', transactionSink, { uid: 'out', traget: {} }, 'target'],
  ['redisKvSink', redisKvSink, { uid: 'out', url, prefx: 'a:' }, 'prefix'],
  ['redisStreamSink', redisStreamSink, { uid: 'out', ulr: url, stream: 'a' }, 'url'],
  ['createDeduplicator', createDeduplicator, { windowIDs: 1, window: 1 }, 'windowIds'],
])('%s refuses a misspelled option', (name, create, options, nearest) => {
  const message = new RegExp(`^unknown option ".+" of ${name}\\. Did you mean "${nearest}"\\?$`);
  expect(() => create(options as never)).toThrow(message);
});

test.each<[(options: never) => unknown, object, string]>([
  [jsonlSource, { uid: 'in' }, 'jsonlSource needs the option files: a list of paths'],
  [fileSink, { uid: 'out' }, 'fileSink needs the option dir: a directory'],
  [callbackSink, { uid: 'out' }, 'callbackSink needs the option call: a function'],
  [transactionSink, { uid: 'out' }, 'transactionSink needs the option target: a TransactionTarget'],
  [redisKvSink, { uid: 'out', prefix: 'a:' }, `redisKvSink needs the option url: as in ${url}`],
])('%o refuses %j, in which an option is missing', (create, options, message) => {
  expect(() => create(options as never)).toThrow(message);
});
