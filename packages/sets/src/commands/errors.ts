// Every error text that commands answer with. Clients and their tests compare them, so where Redis has the same
// error the text is the same to the letter; `redis-replies.int.test.ts` compares the long ones with redis-server.
import type { SynclineError } from '@syncline/kernel';
import { respErrorOf } from '@syncline/protocol';

export const errorTexts = {
  syntax: 'ERR syntax error',
  notInteger: 'ERR value is not an integer or out of range',
  notPositive: 'ERR value is out of range, must be positive',
  outOfLongRange:
    'ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807',
  outOfIntRange: 'ERR value is out of range, value must between -2147483648 and 2147483647',
  keysCountNotPositive: 'ERR numkeys should be greater than 0',
  keysCountTooLarge: "ERR Number of keys can't be greater than number of args",
  limitNegative: "ERR LIMIT can't be negative",
  invalidCursor: 'ERR invalid cursor',
  databaseOutOfRange: 'ERR DB index is out of range',
  timeoutNegative: 'ERR timeout is negative',
  timeoutNotInteger: 'ERR timeout is not an integer or out of range',
  lfuOff:
    'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.',

  multiNested: 'ERR MULTI calls can not be nested',
  watchInsideMulti: 'ERR WATCH inside MULTI is not allowed',
  execWithoutMulti: 'ERR EXEC without MULTI',
  discardWithoutMulti: 'ERR DISCARD without MULTI',
  execAborted: 'EXECABORT Transaction discarded because of previous errors.',
  notInsideMulti: 'ERR Command not allowed inside a transaction',
  transactionTooLarge: 'ERR transaction is larger than 65536 changes or 4 MiB',
  transactionReadsTooMuch:
    'ERR transaction reads more than 65536 members and names or 32 MiB, run such commands outside MULTI',
  transactionAnswersTooMuch:
    'ERR transaction result is larger than 32 MiB, run such commands outside MULTI',
  queueFull: 'ERR transaction is larger than 10000 commands, 131072 arguments or 64 MiB',
  queuesFull: 'ERR transactions of all clients are larger than 256 MiB, try again later',
  tooManyWatched: 'ERR too many watched keys, at most 1024 are allowed',
  tooManyWatchers: 'ERR too many keys are watched by all clients together, try again later',

  notAuthenticated: 'NOAUTH Authentication required.',
  wrongPassword: 'WRONGPASS invalid username-password pair or user is disabled.',
  noPasswordSet:
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
  helloNotAuthenticated:
    'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
  noProtocol: 'NOPROTO unsupported protocol version',
  protocolNotInteger: 'ERR Protocol version is not an integer or out of range',
  clientNameInvalid: 'ERR Client names cannot contain spaces, newlines or special characters.',
  clientNameTooLong: 'ERR client name is longer than 1024 bytes',
  noSuchClient: 'ERR No such client',
  clientIdNotPositive: 'ERR client-id should be greater than 0',
  clientIdInvalid: 'ERR Invalid client ID',

  clusterDisabled: 'ERR This instance has cluster support disabled',
  debugNotAllowed:
    'ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.',
  functionFlushOption: 'ERR FUNCTION FLUSH only supports SYNC|ASYNC option',
  functionFlushArguments:
    "ERR unknown subcommand or wrong number of arguments for 'FLUSH'. Try FUNCTION HELP.",
  commandInvalid: 'ERR Invalid command specified',
  commandArgumentsCount: 'ERR Invalid number of arguments specified for command',
  commandArguments: 'ERR Invalid arguments specified for command',
  commandHasNoKeys: 'ERR The command has no key arguments',

  loading: 'LOADING Syncline is loading its sets',
  closing: 'ERR server is shutting down',
  failed: 'MISCONF the last writes could not be made durable',
  outOfMemory: "OOM command not allowed when used memory > 'maxmemory'.",
  saveRunning: 'ERR Background save already in progress',
  rewriteRunning: 'ERR Background append only file rewriting already in progress',
  nothingToSaveTo: 'ERR this server runs with --memory and has no disk to save to',
  memberTooLong: 'ERR member is longer than 65536 bytes',
  keyTooLong: 'ERR key is longer than 4096 bytes',
  resultTooLarge: 'ERR result is larger than 32 MiB, use the STORE form',
  keysTooLarge: 'ERR result is larger than 32 MiB, use SCAN',
  popTooLarge: 'ERR result is larger than 32 MiB, pop fewer members at once',
  versionInvalid: 'ERR invalid version, expected node.epoch:counter,... or -',
  versionTooLong: 'ERR invalid version, more than 4096 entries',
  readTimeoutRange: 'ERR TIMEOUT must be a number of milliseconds from 0 to 60000',
  quorumRange: 'ERR QUORUM must be MAJORITY or a number of nodes, at least 1',
  readOnlyInside: 'ERR SYNCLINE.READ requires a read-only command',
  tooManyBlocked: 'ERR more than 10000 commands are blocked, try again later',
} as const;

/** The texts that name what was wrong. `name` is `config|set` for a subcommand. */
export const errorFor = {
  wrongArguments: (name: string) => `ERR wrong number of arguments for '${name}' command`,
  tooManyWords: (name: string, wordsMax: number) =>
    `ERR more than ${wordsMax} arguments for '${name}', send fewer at once`,
  unknownSubcommand: (command: string, subcommand: string) =>
    `ERR unknown subcommand '${cut(subcommand)}'. Try ${command.toUpperCase()} HELP.`,
  execRefused: (why: string) =>
    `EXECABORT Transaction discarded because of: ${why.replace(/^ERR /, '')}`,
  helloOption: (option: string) => `ERR Syntax error in HELLO option '${option}'`,
  clientType: (type: string) => `ERR Unknown client type '${type}'`,
  user: (user: string) => `ERR No such user '${user}'`,
  option: (option: string) => `ERR Unrecognized option '${option}'`,
  clientInfo: (option: string) =>
    `ERR ${option} cannot contain spaces, newlines or special characters.`,
  unknownSetting: (setting: string) =>
    `ERR Unknown option or number of arguments for CONFIG SET - '${setting}'`,
  setting: (setting: string, why: string) =>
    `ERR CONFIG SET failed (possibly related to argument '${setting}') - ${why}`,
  /** The syntax is right, but no node can have made this entry. */
  versionEntry: (entry: string) =>
    `ERR '${entry}' is out of range: a node must be 1 to 65535, an epoch 0 to 65535, a counter 1 to 2^53 - 1`,
  notReady: (version: string) => `NOTREADY ${version}`,
  noQuorum: (answers: number, wanted: number) => `NOQUORUM ${answers} of ${wanted} nodes responded`,
  failure: (error: SynclineError) => respErrorOf(error),
  unknownCommand,
} as const;

/**
 * `words` are the name and what follows it; Redis shows at most 128 bytes of the arguments. `remark` is undefined
 * for a name that Redis does not know either: then the text is Redis's own.
 */
function unknownCommand(words: readonly string[], remark: string | undefined): string {
  const [name = '', ...rest] = words;
  let shown = '';
  for (const word of rest) {
    if (shown.length >= WORDS_BYTES_MAX) break;
    shown += `'${untilNull(word).slice(0, WORDS_BYTES_MAX - shown.length)}' `;
  }
  const text = `ERR unknown command '${cut(name)}', with args beginning with: ${shown}`;
  if (remark === undefined) return text;
  return `${text}(Syncline supports only sets; COMMAND LIST lists the supported commands) ${remark}`.trimEnd();
}

/**
 * The prefixes of RESP errors, and when each is sent. Programs branch on them, so docs/ERRORS.md
 * lists them all.
 */
export const errorPrefixes = {
  ERR: 'Any other error: the request is invalid, or a limit was exceeded. The text says which.',
  EXECABORT:
    'EXEC: a queued command was refused, or EXEC itself. No part of the transaction has run.',
  LOADING: 'The node is still loading its sets. INFO shows the progress.',
  MISCONF: 'The change could not be stored and was rolled back: the disk is full or has failed.',
  NOAUTH: 'The server requires a password, and this connection has not sent it.',
  NOPROTO: 'HELLO asked for a protocol version other than 2 and 3.',
  NOQUORUM: 'SYNCLINE.READ QUORUM: too few nodes responded in time.',
  NOTREADY:
    'SYNCLINE.READ AFTER: this node did not apply that version in time. The version it has applied follows, in the format of SYNCLINE.VV.',
  OOM: 'The command may add members, and memory use is above `maxmemory`.',
  WRONGPASS: 'AUTH or HELLO: the password is wrong, or the user is not `default`.',
} as const;

const WORDS_BYTES_MAX = 128;

function cut(word: string): string {
  return untilNull(word).slice(0, WORDS_BYTES_MAX);
}

/** Redis prints words as C strings. */
function untilNull(word: string): string {
  const end = word.indexOf('\0');
  return end === -1 ? word : word.slice(0, end);
}
