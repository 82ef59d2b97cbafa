// SetState over HTTP/2 as gRPC frames it, without a gRPC library: for a load of thousands of writes a second, of
// which grpc-js would take a whole core for the side of the clients alone.
import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import type { StateWrite } from '@syncline/jobs';
import { encode, SERVICE, setState } from '@syncline/jobs/grpc';
import { Slots } from './slots.js';

export interface LeanCalls extends AsyncDisposable {
  /** Rejects with the status of a call that was refused. */
  setState(write: StateWrite): Promise<void>;
}

/** Compressed or not, and the length. */
const PREFIX_BYTES = 5;
const HEADERS = {
  ':method': 'POST',
  ':path': `/${SERVICE}/${setState.name}`,
  'content-type': 'application/grpc',
  te: 'trailers',
} as const;

/** A server refuses more on one connection. */
const CALLS_AT_ONCE = 100;

export async function openLeanCalls(address: string): Promise<LeanCalls> {
  const session = connect(`http://${address}`);
  await once(session, 'connect');
  const slots = new Slots(CALLS_AT_ONCE);
  return {
    setState: (write) => slots.run(() => call(session, messageOf(write))),
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}

function messageOf(write: StateWrite): Buffer {
  const { payload, ifVersion, durability, ...plain } = write;
  const payloadJson = payload && JSON.stringify(payload);
  const bytes = encode(setState.request, { ...plain, payloadJson, ifVersion, durability });
  const message = Buffer.alloc(PREFIX_BYTES + bytes.length);
  message.writeUInt32BE(bytes.length, 1);
  message.set(bytes, PREFIX_BYTES);
  return message;
}

function call(session: ClientHttp2Session, message: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = session.request(HEADERS);
    let refusal: string | undefined = 'no status';
    const note = ({ 'grpc-status': status, 'grpc-message': said }: IncomingHttpHeaders) => {
      if (status !== undefined)
        refusal = status === '0' ? undefined : `${String(status)}: ${String(said)}`;
    };
    request.on('response', note); // of a call that was refused at once
    request.on('trailers', note);
    request.on('error', reject);
    // Not before: until then it counts among the open ones of its connection.
    request.on('close', () => {
      if (refusal === undefined) resolve();
      else reject(new Error(`setState ended with ${refusal}`));
    });
    request.resume();
    request.end(message);
  });
}
