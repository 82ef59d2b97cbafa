// Every limit of the sets. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const setsLimits = defineLimits({
  keyBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Name of a set. It stands in the key of each of its members. A longer one is refused.',
  },
  memberBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'One member. A longer one is refused.',
  },
  operationElementsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Elements that one operation changes. Larger commands run as several operations; a larger EXEC is refused.',
  },
  operationBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'One encoded operation. Larger commands run as several; a larger EXEC is refused.',
  },
  headEntriesMax: {
    value: 524_288,
    unit: 'entries',
    why: 'Changed elements that are not folded yet. Beyond, clients are not read until a fold is done.',
  },
  headBytesMax: {
    value: 128 * 1024 * 1024,
    unit: 'bytes',
    why: 'Journal that is not folded yet. Beyond, clients are not read until a fold is done.',
  },
  foldEntriesMin: {
    value: 131_072,
    unit: 'entries',
    why: 'Changed elements at which folding starts, however busy the node is.',
  },
  foldBatchEntriesMax: {
    value: 2_048,
    unit: 'entries',
    why: 'Changed elements of one synced batch, and those of the operation that fills it. Other writes wait while it is handed to the storage.',
  },
  foldBatchBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of one synced batch, about: it ends with the operation that passes them.',
  },
  foldIdleMs: { value: 100, unit: 'ms', why: 'Without a write for this long, folding starts.' },
  foldAgeMs: { value: 5_000, unit: 'ms', why: 'What is not folded gets no older than this.' },
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
    value: 65_536,
    unit: 'bytes',
    why: 'A block of a checkpoint, each with a checksum of its own. A larger element passes alone.',
  },
  stopReplayBytesMax: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'A clean stop that would leave more of the log to replay writes a checkpoint first.',
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
  gateHoldMs: {
    value: 25,
    unit: 'ms',
    why: 'A write larger than one operation lets waiting writes through this often.',
  },
  syncIntervalMs: {
    value: 1_000,
    unit: 'ms',
    why: 'In class buffered the disk is synced this often, if anything was written.',
  },
  cacheBytesMax: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    why: 'Sets that are wholly in memory. Those not used for longest leave.',
  },
  turnMembersMax: {
    value: 16_384,
    unit: 'entries',
    why: 'Members that a command walks within one turn. Larger sets are read through a view, in slices.',
  },
  turnBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Members of a set that a command walks within one turn. Larger sets are read through a view, in slices.',
  },
  turnReadsMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Sets or members that a command asks for by name within one turn. More are asked for in slices.',
  },
  turnPicksMax: {
    value: 256,
    unit: 'entries',
    why: 'Random members that a command shows within one turn, however large the set is. More are picked in slices.',
  },
  mergedSetsMax: {
    value: 64,
    unit: 'entries',
    why: 'Sets that SUNION and its kind read side by side. Each costs a page of memory; further ones take their turn.',
  },
  turnTimeMs: {
    value: 2,
    unit: 'ms',
    why: 'A connection, a fold or a long command holds the event loop for so long, then others get their turn.',
  },
  turnCommandsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Commands of one connection in a turn. Then others get theirs.',
  },
  resultBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Result of SINTER, SUNION, SDIFF and KEYS. A larger one is refused; the STORE forms have no such limit.',
  },
  transactionCommandsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Commands between MULTI and EXEC. One more is refused, and so is the EXEC.',
  },
  transactionBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Arguments between MULTI and EXEC. More is refused, and so is the EXEC.',
  },
  transactionWordsMax: {
    value: 131_072,
    unit: 'entries',
    why: 'Words of all commands between MULTI and EXEC. They are looked up within one turn. More is refused.',
  },
  queuedBytesMax: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    why: 'Queued commands of all connections together. One more is refused, and so is its EXEC.',
  },
  transactionMembersMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Members and names that one transaction reads. It runs within a turn, so larger sets are refused in it.',
  },
  transactionReadBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Members that one transaction reads, and its answer. More is refused, and nothing of it is done.',
  },
  watchedKeysMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Sets that one connection watches. One more is refused.',
  },
  watchersMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Keys that all connections watch together. A watched set stays in memory. One more is refused.',
  },
  waitingCommandsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Blocked WAIT and SYNCLINE.READ commands. One more is refused.',
  },
  askedWordsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Words of COMMAND, CONFIG GET, CLIENT LIST, CLIENT KILL or INFO. They are looked at within a turn. More are refused.',
  },
  scanCountMax: { value: 10_000, unit: 'entries', why: 'COUNT of a scan. More is taken as this.' },
  patternBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Pattern of KEYS, SCAN or SSCAN. Each member costs up to pattern × member steps. A longer one is refused.',
  },
  patternStepsMax: {
    value: 16_777_216,
    unit: 'entries',
    why: 'Steps that patterns of KEYS, SCAN or SSCAN take within one turn. One that needs more is refused.',
  },
  lineBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'An inline command, or a line with a length. A longer one is a protocol error.',
  },
  argumentsMax: {
    value: 1_048_576,
    unit: 'entries',
    why: 'Words of one command. More is a protocol error.',
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
    why: 'Half a command may lie for so long. Then the connection is closed.',
  },
  unauthenticatedArgumentsMax: {
    value: 10,
    unit: 'entries',
    why: 'Words of a command before AUTH, where a password is set.',
  },
  unauthenticatedBulkBytesMax: {
    value: 16_384,
    unit: 'bytes',
    why: 'One word before AUTH, where a password is set.',
  },
  unauthenticatedOutputBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'Unsent replies before AUTH. Beyond, the connection is closed.',
  },
  unauthenticatedTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A connection may take so long to AUTH. Then it is closed.',
  },
  outputPauseBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies of a connection above which nothing more is read from it.',
  },
  outputSlowBytes: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies that may stand for outputSlowMs. Then the connection is closed.',
  },
  outputSlowMs: { value: 60_000, unit: 'ms', why: 'See outputSlowBytes.' },
  outputBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies of a connection. Beyond, it is closed.',
  },
  heldBytesMax: {
    value: 512 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent replies and half commands of all connections together. Beyond, those with most are closed.',
  },
  passwordGuessesMax: {
    value: 4,
    unit: 'attempts',
    why: 'Wrong passwords of an address that are answered at once. Further answers come a second late.',
  },
  clientNameBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'What a client says of itself: its name, its library. It is kept for as long as the connection stands.',
  },
  passwordDelayMs: {
    value: 1_000,
    unit: 'ms',
    why: 'Answers to an address that guesses passwords come so late.',
  },
  guessersMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Addresses whose wrong passwords are counted. The oldest is forgotten first.',
  },
});
