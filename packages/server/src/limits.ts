// Every limit of the server that is not a setting. docs/LIMITS.md is made from this list. How many
// connections each listener takes, and how long they may idle, are settings (config/settings-schema.ts).
import { defineLimits } from '@syncline/kernel';

export const serverLimits = defineLimits({
  configFileBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'A larger configuration or TLS file is refused at start: it is surely the wrong file.',
  },
  secretFileBytesMax: {
    value: 4 * 1024,
    unit: 'bytes',
    why: 'A larger token, password or secret is refused at start: it must fit into one header.',
  },
  authGuessesPerAddressMax: {
    value: 20,
    unit: 'entries',
    why: 'Wrong passwords and tokens from one address (IPv6: one /64), over all listeners, before it is refused unheard.',
  },
  authGuessRefillMs: {
    value: 3_000,
    unit: 'ms',
    why: 'How long it takes until an address may try one more wrong password or token.',
  },
  authAddressesMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Addresses whose failed logins are counted. Above this limit the one that failed longest ago is forgotten.',
  },
  grpcUnprovenStreamsPerSecondMax: {
    value: 200,
    unit: 'entries',
    why: 'Streams per second that a connection may open before one of its calls has shown the token. Above this limit it is cut.',
  },
  grpcUnprovenMs: {
    value: 3_000,
    unit: 'ms',
    why: 'How long a connection may stay without a call that shows a token while more than 80 % of the connections are in use.',
  },
  httpHeaderBytesMax: {
    value: 16 * 1024,
    unit: 'bytes',
    why: 'Request line and headers together; tokens and cookies of browsers fit well. Beyond it: 431.',
  },
  httpHeadersMax: {
    value: 100,
    unit: 'entries',
    why: 'Headers of one request. Beyond it: 431.',
  },
  httpUrlBytesMax: {
    value: 4 * 1024,
    unit: 'bytes',
    why: 'Path and query of a request. Our longest has a job, a tag and a cursor. Beyond it: 414.',
  },
  httpBodyBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Body of a request. Beyond it: 413. So much more may follow an answer, then the connection is cut.',
  },
  httpRequestsPerConnectionMax: {
    value: 4,
    unit: 'entries',
    why: 'Requests at once on one connection, sent before their answers. Beyond it: the connection is cut.',
  },
  httpHeadersTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'From the first byte, or from connecting, to the last header. Cuts clients that drip bytes.',
  },
  httpRequestTimeoutMs: {
    value: 30_000,
    unit: 'ms',
    why: 'From the first byte to the last of a request, body included. Beyond it: 408.',
  },
  httpStallTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A client that takes no byte of its answer for this long is cut, so that none can hold one.',
  },
  eventsCommentIntervalMs: {
    value: 10_000,
    unit: 'ms',
    why: 'An event stream gets a comment this often, so that proxies keep it open.',
  },
  livePagesMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Open pages of the dashboard. A further one is refused with 503. Each holds two numbers and a socket.',
  },
  liveDeltasMax: {
    value: 32,
    unit: 'entries',
    why: 'Recent changes kept per view that is on screen. A page that missed more gets the whole picture again.',
  },
  livePartBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'One event with a part of a job grid, before base64. A page that does not read holds one of them.',
  },
  liveGridCellsMax: {
    value: 2_000_000,
    unit: 'entries',
    why: 'Cells of one job grid, one byte each. Tags beyond it are not drawn.',
  },
  liveGridsMax: {
    value: 32,
    unit: 'entries',
    why: 'Jobs whose grids are on screen at once. A further one is refused with 503.',
  },
  liveJobsScannedMax: {
    value: 2_000,
    unit: 'entries',
    why: 'Jobs that the list of the dashboard looks at when it searches.',
  },
  liveListMax: {
    value: 200,
    unit: 'entries',
    why: 'Rows of a list in the dashboard: jobs, sets or members.',
  },
  liveNameBytesMax: {
    value: 512,
    unit: 'bytes',
    why: 'Shown of the name of a set or of a member. A longer one is cut, and the page says so.',
  },
  liveCellsMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Cells of one tracker in the heat map: the highest ones.',
  },
  callerReportsMax: {
    value: 256,
    unit: 'entries',
    why: 'Instances whose most throttled callers are kept. Beyond it the one that was silent longest is dropped.',
  },
  callersPerReportMax: {
    value: 20,
    unit: 'entries',
    why: 'Callers in one such report, and in the list of the dashboard.',
  },
  callerReportAgeMaxMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A report of callers is forgotten after this long: who is throttled changes within seconds.',
  },
  rateHistoryMax: {
    value: 120,
    unit: 'entries',
    why: 'Samples of a rate, one per second, for the sparklines of the dashboard.',
  },
  pipelineReportsMax: {
    value: 256,
    unit: 'entries',
    why: 'Slots of pipelines that report to this node. Beyond it the one that was silent longest is dropped.',
  },
  pipelineReportAgeMaxMs: {
    value: 3_600_000,
    unit: 'ms',
    why: 'A pipeline that has not reported for this long is forgotten.',
  },
  grpcMessageBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One received message, also after decompression. Beyond it: RESOURCE_EXHAUSTED.',
  },
  grpcStreamsPerConnectionMax: {
    value: 100,
    unit: 'entries',
    why: 'Calls at once on one connection; further ones wait. Our clients open another one at 90.',
  },
  grpcRequestTimeoutMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A call with a single request whose message has not arrived by then: DEADLINE_EXCEEDED.',
  },
  grpcKeepaliveIntervalMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A connection is pinged this often, so that a dead client is noticed.',
  },
  grpcKeepaliveTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A ping that is not answered by then ends the connection.',
  },
  grpcHealthWatchersMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Health is open to all, so its watchers are counted. Beyond it: RESOURCE_EXHAUSTED.',
  },
  respStallTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A client that takes nothing of its replies for this long, while more wait, is cut.',
  },
  refusalsAtOnceMax: {
    value: 64,
    unit: 'connections',
    why: 'RESP connections beyond the limit that are being answered; further ones are closed unread.',
  },
  lingerTimeoutMs: {
    value: 1_000,
    unit: 'ms',
    why: 'A connection that we have ended waits so long for its peer behind its last byte, then it is dropped.',
  },
  stopOverrunMs: {
    value: 1_000,
    unit: 'ms',
    why: 'A slice that still stops this long after the grace time is left behind.',
  },
  readinessIntervalMs: {
    value: 500,
    unit: 'ms',
    why: 'How late a gRPC health watcher, the log and the gauges learn that a check has changed.',
  },
  startReserveBytes: {
    value: 12 * 1024 * 1024,
    unit: 'bytes',
    why: 'Kept free in the data directory so that a server can start on a full disk: LevelDB turns its log, at most 8 MiB, into a table.',
  },
  startReserveRefillMs: {
    value: 5_000,
    unit: 'ms',
    why: 'How often the reserve of the data directory is refilled, if it was given up and there is room.',
  },
  fairStreamBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'On its way to one client of fair. A client that has not taken it gets the newest values later, and none of those between.',
  },
});
