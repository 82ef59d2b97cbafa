// Every limit of the sets. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const setsLimits = defineLimits({
  keyBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Name of a set. Every operation that changes the set carries it. A longer one is refused.',
  },
  memberBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'One member. A longer one is refused.',
  },
  operationElementsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Elements that one operation changes. A larger command runs as several operations; a larger EXEC is refused.',
  },
  operationBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'One encoded operation. A larger command runs as several operations; a larger EXEC is refused.',
  },
  turnRecordBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Changes of one turn that are gathered for one write to the log. Above it the turn is written early.',
  },
  logSegmentBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'A segment of the log that has reached this size is followed by a new one.',
  },
  logReserveBytes: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'Kept free on disk so that removes still work when the disk is full.',
  },
  checkpointLogBytesMin: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'A checkpoint is written once the log since the last one exceeds this size and that of the last checkpoint.',
  },
  checkpointBlockBytesMax: {
    value: 16_384,
    unit: 'bytes',
    why: 'A block of a checkpoint, each with a checksum of its own, and one step of loading. A larger element passes alone.',
  },
  stopReplayBytesMax: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'A clean stop that would leave more of the log to replay writes a checkpoint first.',
  },
  pinsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Long reads and checkpoints at a time: each costs every write a little. One more aborts the oldest.',
  },
  pinEntriesMax: {
    value: 1_048_576,
    unit: 'entries',
    why: 'Elements dropped while long reads and checkpoints still need them. Above it the oldest of these is aborted.',
  },
  pinBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Memory of those elements. Above it the oldest long read or checkpoint is aborted.',
  },
  pullDotsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Missed elements that a pull gathers before it applies them at once. More are loaded as they come, while clients are answered -LOADING.',
  },
  pullBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of those elements. More are loaded as they come, while clients are answered -LOADING.',
  },
  pullFrameBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Elements that a node sends in one message of a pull. One that is larger passes alone.',
  },
  pullFramesAhead: {
    value: 4,
    unit: 'entries',
    why: 'Such messages that a pull asks for in advance.',
  },
  pullSymbolsSmall: {
    value: 16_384,
    unit: 'entries',
    why: 'Symbols that each side computes first to find missed removes: enough for about 11,900 of them.',
  },
  pullSymbolsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Symbols that each side computes if the first do not suffice. Above it all dots are listed.',
  },
  pullsServedMax: {
    value: 2,
    unit: 'entries',
    why: 'Pulls of peers that a node serves at a time. One more is answered `busy`.',
  },
  pullTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'A pull that takes longer is given up, unless it loads more elements than pullDotsMax.',
  },
  pullIdleMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A pull that makes no progress for this long is given up, by both sides.',
  },
  repairRecordBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'A record of the log that holds a part of a repair. A larger message of a pull is refused.',
  },
  refillBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Own operations of the log that a start hands to the mesh again, so that peers need no pull. Older ones are left out.',
  },
  pullIntervalMs: {
    value: 10_000,
    unit: 'ms',
    why: 'How often a node compares itself with a peer when nothing else asks for it, give or take a fifth.',
  },
  startupDelayMs: {
    value: 1_000,
    unit: 'ms',
    why: 'How long the first write waits for peers, which may know more of this node than its disk does.',
  },
  firstPullWaitMs: {
    value: 10_000,
    unit: 'ms',
    why: 'How long a start that reaches no peer waits for one before `/readyz` succeeds without a pull.',
  },
  divergedDotsMax: {
    value: 100,
    unit: 'entries',
    why: 'Dots that are logged when a node and a peer differ at the same version.',
  },
  gateHoldMs: {
    value: 25,
    unit: 'ms',
    why: 'A write larger than one operation lets waiting writes through this often.',
  },
  syncIntervalMs: {
    value: 1_000,
    unit: 'ms',
    why: 'In class buffered, what was written is synced to disk at the latest after this time.',
  },
  turnMembersMax: {
    value: 16_384,
    unit: 'entries',
    why: 'Members and names that a command reads within one turn. Commands that read more run in slices.',
  },
  turnBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of the members that a command reads within one turn. Commands that read more run in slices.',
  },
  turnPicksMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Random members that SRANDMEMBER picks within one turn: about 2 ms. More are picked in slices.',
  },
  turnTimeMs: {
    value: 2,
    unit: 'ms',
    why: 'How long a connection, a checkpoint or a long command holds the event loop before others get their turn.',
  },
  turnCommandsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Commands of one connection that run within a turn before other connections get theirs.',
  },
  resultBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Result of SINTER, SUNION, SDIFF, KEYS and SPOP. A larger one is refused; the STORE forms have no such limit.',
  },
  algebraSetsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Sets that SINTER, SUNION, SDIFF and their STORE forms read, empty ones aside. More are refused.',
  },
  transactionCommandsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Commands between MULTI and EXEC. One more is refused, and then EXEC is refused too.',
  },
  transactionBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Words between MULTI and EXEC. A command that exceeds it is refused, and then EXEC is refused too.',
  },
  transactionWordsMax: {
    value: 131_072,
    unit: 'entries',
    why: 'Words between MULTI and EXEC. EXEC looks at all of them within one turn. A command that exceeds it is refused.',
  },
  queuedBytesMax: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    why: 'Queued commands of all connections together. A command that exceeds it is refused, and then its EXEC is refused too.',
  },
  transactionMembersMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Members and names that one transaction reads. It runs within one turn, so one that reads more is refused.',
  },
  transactionReadBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of the members that one transaction reads, and of its reply. A transaction that exceeds it is refused.',
  },
  watchedKeysMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Keys that one connection watches. One more is refused.',
  },
  watchersMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Keys that all connections watch together. One more is refused.',
  },
  waitingCommandsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Blocked SYNCLINE.READ and WAIT commands. One more is refused.',
  },
  askedWordsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Words of COMMAND, CONFIG GET, CLIENT LIST, CLIENT KILL and INFO, which look at all of them within one turn. More are refused.',
  },
  scanCountMax: {
    value: 10_000,
    unit: 'entries',
    why: 'COUNT of SCAN and SSCAN. A larger one is reduced to this.',
  },
  patternBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Pattern of KEYS, SCAN and SSCAN. Matching takes up to pattern × text steps. A longer one is refused.',
  },
  patternStepsMax: {
    value: 16_777_216,
    unit: 'entries',
    why: 'Steps that the patterns of KEYS, SCAN and SSCAN take within one turn. A command that needs more is refused.',
  },
  lineBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'An inline command, or a line that holds a length. A longer one is a protocol error.',
  },
  argumentsMax: {
    value: 1_048_576,
    unit: 'entries',
    why: 'Words of one command. More are a protocol error.',
  },
  bulkBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One word of a command. A longer one is a protocol error.',
  },
  commandBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'One command. A larger one is a protocol error.',
  },
  commandTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A command must be complete this long after its first byte. Otherwise the connection is closed.',
  },
  unauthenticatedArgumentsMax: {
    value: 10,
    unit: 'entries',
    why: 'Words of a command from a client that has not authenticated yet.',
  },
  unauthenticatedBulkBytesMax: {
    value: 16_384,
    unit: 'bytes',
    why: 'One word of a command from a client that has not authenticated yet.',
  },
  unauthenticatedOutputBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'Unsent replies to a client that has not authenticated yet. Above this limit its connection is closed.',
  },
  unauthenticatedTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A client must authenticate within this time. Otherwise its connection is closed.',
  },
  outputPauseBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies to one connection. Above this limit nothing more is read from it.',
  },
  outputSlowBytes: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies to one connection. A connection that stays above this limit for outputSlowMs is closed.',
  },
  outputSlowMs: {
    value: 60_000,
    unit: 'ms',
    why: 'How long a connection may stay above outputSlowBytes before it is closed.',
  },
  outputBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies to one connection. Above this limit it is closed.',
  },
  heldBytesMax: {
    value: 512 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies and incomplete commands of all connections together. Above this limit the largest are closed.',
  },
  passwordGuessesMax: {
    value: 4,
    unit: 'attempts',
    why: 'Wrong passwords of an address that are answered at once. Later answers to it are delayed.',
  },
  clientNameBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'Name of a client, and of its library and version. A longer one is refused.',
  },
  passwordDelayMs: {
    value: 1_000,
    unit: 'ms',
    why: 'Delay of answers to an address that has sent too many wrong passwords.',
  },
  guessersMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Addresses whose wrong passwords are counted. The oldest is forgotten first.',
  },
});
