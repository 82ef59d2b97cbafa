// Imports the given module and prints the URL of everything that was loaded for it, as JSON.
import { register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';

const { port1, port2 } = new MessageChannel();
const hooks = `
  let port;
  export const initialize = (data) => { port = data.port; };
  export async function load(url, context, next) {
    port.postMessage(url);
    return await next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  data: { port: port2 },
  transferList: [port2],
});

const { createRequire } = await import('node:module');
await import(process.argv[2] ?? '');
const urls = Object.keys(createRequire(import.meta.url).cache); // CommonJS dependencies of CommonJS
for (;;) {
  const received = receiveMessageOnPort(port1);
  if (received === undefined) break;
  urls.push(String(received.message));
}
process.stdout.write(JSON.stringify([...new Set(urls)]));
process.exit(0);
