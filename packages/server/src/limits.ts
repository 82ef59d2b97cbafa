// Every limit of the server that is not a setting. docs/LIMITS.md is generated from this list. The connection
// limits and idle timeouts of the listeners are settings (config/settings-schema.ts).
import { defineLimits } from '@syncline/kernel';

export const serverLimits = defineLimits({
  configFileBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Size of a configuration or TLS file. A larger one is refused at startup, because it is almost certainly the wrong file.',
  },
  secretFileBytesMax: {
    value: 4 * 1024,
    unit: 'bytes',
    why: 'Size of a token, password or secret file. A larger one is refused at startup: a token must fit into one header.',
  },
  authGuessesPerAddressMax: {
    value: 20,
    unit: 'entries',
    why: 'Wrong passwords and tokens from one address (IPv6: one /64) across all listeners. Above this limit, attempts from it are refused without being checked.',
  },
  authGuessRefillMs: {
    value: 3_000,
    unit: 'ms',
    why: 'Time after which an address that reached the limit may try once more.',
  },
  authAddressesMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Addresses whose failed logins are counted. Above this limit, the least recent one is forgotten.',
  },
  grpcUnauthenticatedStreamsPerSecondMax: {
    value: 200,
    unit: 'entries',
    why: 'Streams per second that a connection may open before one of its calls has presented the token. Above this limit, the connection is closed.',
  },
  grpcUnauthenticatedMs: {
    value: 3_000,
    unit: 'ms',
    why: 'How long a connection may stay open without presenting the token while more than 80% of the allowed connections are in use.',
  },
  httpHeaderBytesMax: {
    value: 16 * 1024,
    unit: 'bytes',
    why: 'Request line and headers together. Larger requests are refused with 431.',
  },
  httpHeadersMax: {
    value: 100,
    unit: 'entries',
    why: 'Headers per request. Requests with more are refused with 431.',
  },
  httpUrlBytesMax: {
    value: 4 * 1024,
    unit: 'bytes',
    why: 'Path and query of a request. The longest legitimate one has a job, a tag and a cursor. Longer ones are refused with 414.',
  },
  httpBodyBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Request body. The longest legitimate one has a payload of 64 KiB, with \\u escapes for all characters outside ASCII. Larger ones are refused with 413; the connection is closed if the client keeps sending this much more.',
  },
  httpBodyDepthMax: {
    value: 32,
    unit: 'levels',
    why: 'Nesting depth of objects and arrays in a request body. Deeper ones are refused with 400 before they are parsed.',
  },
  httpRequestsPerConnectionMax: {
    value: 4,
    unit: 'entries',
    why: 'Pipelined requests on one connection. Above this limit, the connection is closed.',
  },
  httpHeadersTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'Time to receive all headers, from the first byte or from connecting. Slower clients are disconnected.',
  },
  httpRequestTimeoutMs: {
    value: 30_000,
    unit: 'ms',
    why: 'Time to receive a whole request, body included. Slower requests are refused with 408.',
  },
  httpStallTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A client that reads none of its response for this long is disconnected.',
  },
  eventsCommentIntervalMs: {
    value: 10_000,
    unit: 'ms',
    why: 'Interval of the comments that keep an event stream open through proxies.',
  },
  livePagesMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Open dashboard pages. Further ones are refused with 503.',
  },
  liveDeltasMax: {
    value: 32,
    unit: 'entries',
    why: 'Recent changes kept for each open view. A page that missed more receives the full state again.',
  },
  livePartBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Size of one event with part of a job grid, before base64. A page that does not read holds one of them in memory.',
  },
  liveGridCellsMax: {
    value: 2_000_000,
    unit: 'entries',
    why: 'Cells in one job grid, one byte each. Tags above this limit are not drawn.',
  },
  liveGridsMax: {
    value: 32,
    unit: 'entries',
    why: 'Jobs whose grids are open at the same time. Further ones are refused with 503.',
  },
  liveJobsScannedMax: {
    value: 2_000,
    unit: 'entries',
    why: 'Jobs examined by one search in the dashboard.',
  },
  liveListMax: {
    value: 200,
    unit: 'entries',
    why: 'Rows in a dashboard list of jobs, sets or members.',
  },
  liveNameBytesMax: {
    value: 512,
    unit: 'bytes',
    why: 'Bytes shown of the name of a set or member. Longer names are truncated, and the page says so.',
  },
  liveCellsMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Cells of one tracker in the heat map; the highest ones are shown.',
  },
  callerReportsMax: {
    value: 256,
    unit: 'entries',
    why: 'Instances whose most throttled callers are kept. Above this limit, the least recent report is dropped.',
  },
  callersPerReportMax: {
    value: 20,
    unit: 'entries',
    why: "Callers in one such report, and in the dashboard's list.",
  },
  callerReportAgeMaxMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A report of callers is forgotten after this long: who is throttled changes within seconds.',
  },
  rateHistoryMax: {
    value: 120,
    unit: 'entries',
    why: "Samples per rate, one per second, for the dashboard's sparklines.",
  },
  pipelineReportsMax: {
    value: 256,
    unit: 'entries',
    why: 'Pipeline slots that report to this node. Above this limit, the least recent report is dropped.',
  },
  pipelineReportAgeMaxMs: {
    value: 3_600_000,
    unit: 'ms',
    why: 'A pipeline that has not reported for this long is forgotten.',
  },
  unsentBytesMax: {
    value: 192 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unread replies and events of all HTTP and gRPC connections together. Above this limit, the clients that have read nothing for longest are disconnected.',
  },
  connectionUnsentBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Replies on one gRPC connection that are unsent or expected for calls in progress. Further calls wait until some have been read.',
  },
  grpcAnswerBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'How much a gRPC call in progress counts towards connectionUnsentBytesMax, unless its method may return more.',
  },
  unsentStallMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A gRPC client that reads none of a reply for this long is disconnected. Subscriptions may stall for longer.',
  },
  grpcMessageBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Size of one received message, before and after decompression. Larger ones are refused with RESOURCE_EXHAUSTED.',
  },
  grpcStreamsPerConnectionMax: {
    value: 100,
    unit: 'entries',
    why: "Concurrent calls on one connection; further ones wait. Syncline's clients open another connection at 90.",
  },
  grpcRequestTimeoutMs: {
    value: 30_000,
    unit: 'ms',
    why: 'Time to receive the message of a call with a single request. Slower calls end with DEADLINE_EXCEEDED.',
  },
  grpcKeepaliveIntervalMs: {
    value: 30_000,
    unit: 'ms',
    why: 'Interval of keepalive pings, which detect dead clients.',
  },
  grpcKeepaliveTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A connection whose ping is not answered within this time is closed.',
  },
  grpcHealthWatchersMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Concurrent watchers of the health service, which needs no token. Further ones are refused with RESOURCE_EXHAUSTED.',
  },
  respStallTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A client that reads none of its pending replies for this long is disconnected.',
  },
  refusalsAtOnceMax: {
    value: 64,
    unit: 'connections',
    why: 'Connections above the RESP connection limit that receive an error reply at the same time; further ones are closed without one.',
  },
  lingerTimeoutMs: {
    value: 1_000,
    unit: 'ms',
    why: 'After the server ends a connection, it waits this long for the peer to close its side.',
  },
  stopOverrunMs: {
    value: 1_000,
    unit: 'ms',
    why: 'A slice that is still stopping this long after the grace period is abandoned.',
  },
  readinessIntervalMs: {
    value: 500,
    unit: 'ms',
    why: 'How often readiness is evaluated for gRPC health watchers, the log and the gauges.',
  },
  startReserveBytes: {
    value: 12 * 1024 * 1024,
    unit: 'bytes',
    why: 'Space reserved in the data directory so that a server can start on a full disk: LevelDB then writes its log, up to 8 MiB, into a table.',
  },
  startReserveRefillMs: {
    value: 5_000,
    unit: 'ms',
    why: 'How often the reserved space is restored after it was released, if there is room, and how often the server checks that its directories still exist.',
  },
  fairStreamBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Unread bytes in flight to one fair client. A client that does not read receives only the newest values later.',
  },
});
