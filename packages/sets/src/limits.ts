// Every limit of the sets. docs/LIMITS.md is generated from this list.
import { defineLimits, type Limit } from '@syncline/kernel';

const limitIn =
  (unit: Limit['unit']) =>
  (value: number, why: string): Limit => ({ value, unit, why });
const bytes = limitIn('bytes');
const entries = limitIn('entries');
const ms = limitIn('ms');

export const setsLimits = defineLimits({
  keyBytesMax: bytes(
    4_096,
    'Name of a set. Every operation that changes the set carries it. A longer one is refused.',
  ),
  memberBytesMax: bytes(65_536, 'One member. A longer one is refused.'),
  operationElementsMax: entries(
    65_536,
    'Elements that one operation changes. A larger command runs as several operations; a larger EXEC is refused.',
  ),
  operationBytesMax: bytes(
    4 * 1024 * 1024,
    'One encoded operation. A larger command runs as several operations; a larger EXEC is refused.',
  ),
  turnRecordBytesMax: bytes(
    1024 * 1024,
    'Changes of one turn that are collected for one write to the log. Above this limit, the turn is written early.',
  ),
  logSegmentBytesMax: bytes(
    64 * 1024 * 1024,
    'When a segment of the log reaches this size, a new one is started.',
  ),
  logReserveBytes: bytes(
    8 * 1024 * 1024,
    'Kept free on disk so that removes still work when the disk is full.',
  ),
  checkpointLogBytesMin: bytes(
    64 * 1024 * 1024,
    'A checkpoint is written once the log since the last one exceeds both this size and the size of that checkpoint.',
  ),
  checkpointBlockBytesMax: bytes(
    16_384,
    'A block of a checkpoint, each with its own checksum, and one step of loading. A larger element gets its own block.',
  ),
  stopReplayBytesMax: bytes(
    8 * 1024 * 1024,
    'A clean stop that would leave more of the log to replay writes a checkpoint first.',
  ),
  pinsMax: entries(
    1_024,
    'Concurrent long reads and checkpoints: each makes every write slightly more expensive. One more aborts the oldest.',
  ),
  pinEntriesMax: entries(
    1_048_576,
    'Removed elements that long reads and checkpoints still need. Above this limit, the oldest of these is aborted.',
  ),
  pinBytesMax: bytes(
    64 * 1024 * 1024,
    'Memory of those elements. Above this limit, the oldest long read or checkpoint is aborted.',
  ),
  pullDotsMax: entries(
    262_144,
    'Missed elements that a pull collects and applies at once. If there are more, they are loaded as they arrive, while clients get -LOADING.',
  ),
  pullBytesMax: bytes(
    64 * 1024 * 1024,
    'Bytes of those elements. If there are more, they are loaded as they arrive, while clients get -LOADING.',
  ),
  pullFrameBytes: bytes(
    256 * 1024,
    'Elements that a node sends in one message of a pull. A larger element gets its own message.',
  ),
  pullFramesAhead: entries(4, 'Messages that a pull requests in advance.'),
  pullSymbolsSmall: entries(
    16_384,
    'Symbols that each side computes first to find missed removes: enough for about 11,900 of them.',
  ),
  pullSymbolsMax: entries(
    262_144,
    'Symbols that each side computes if the first ones are not enough. Above this limit, all dots are listed.',
  ),
  pullsServedMax: entries(
    2,
    'Pulls by peers that a node serves at the same time. One more gets the reply `busy`.',
  ),
  pullTimeoutMs: ms(
    60_000,
    'A pull that takes longer is abandoned, unless it loads more elements than pullDotsMax.',
  ),
  pullIdleMs: ms(10_000, 'A pull that makes no progress for this long is abandoned by both sides.'),
  repairRecordBytesMax: bytes(
    1024 * 1024,
    'A log record that holds part of a repair. A larger pull message is refused.',
  ),
  refillBytesMax: bytes(
    64 * 1024 * 1024,
    'Operations of this node from the log that are passed to the mesh again at startup, so that peers need no pull. Older ones are left out.',
  ),
  pullIntervalMs: ms(
    10_000,
    'How often a node compares its state with a peer when nothing else triggers it, plus or minus 20%.',
  ),
  startupDelayMs: ms(
    1_000,
    'How long the first write after startup waits for peers, which may have writes of this node that its disk has lost.',
  ),
  firstPullWaitMs: ms(
    10_000,
    'How long a starting node that cannot reach any peer waits before `/readyz` succeeds without a pull.',
  ),
  versionEntriesWarning: entries(
    1_024,
    'Entries of the version vector, one per node and unclean stop, above which a node logs a warning when it connects to its peers. At 4,096 entries, nodes can no longer connect to each other.',
  ),
  divergedDotsMax: entries(
    100,
    'Dots that are logged when a node and a peer differ at the same version.',
  ),
  gateHoldMs: ms(25, 'How often a write larger than one operation lets waiting writes through.'),
  syncIntervalMs: ms(
    1_000,
    'With durability `buffered`, writes are synced to disk after this time at the latest.',
  ),
  turnMembersMax: entries(
    16_384,
    'Members and names that a command reads within one turn. Commands that read more run in steps.',
  ),
  turnBytesMax: bytes(
    1024 * 1024,
    'Bytes of the members that a command reads within one turn. Commands that read more run in steps.',
  ),
  turnPicksMax: entries(
    4_096,
    'Random members that SRANDMEMBER picks within one turn: about 2 ms. More are picked in steps.',
  ),
  turnTimeMs: ms(
    2,
    'How long a connection, a checkpoint or a long command may occupy the event loop before others get a turn.',
  ),
  turnTotalMs: ms(
    5,
    'How long all connections together may occupy the event loop within a turn. The others run in the next turn.',
  ),
  turnCommandsMax: entries(
    1_024,
    'Commands of one connection that run within a turn before other connections get theirs.',
  ),
  resultBytesMax: bytes(
    32 * 1024 * 1024,
    'Result of SINTER, SUNION, SDIFF, KEYS and SPOP. A larger one is refused; the STORE forms have no such limit.',
  ),
  algebraSetsMax: entries(
    16_384,
    'Sets that SINTER, SUNION, SDIFF and their STORE forms may name. More are refused.',
  ),
  transactionCommandsMax: entries(
    10_000,
    'Commands between MULTI and EXEC. One more is refused, and then EXEC is refused too.',
  ),
  transactionBytesMax: bytes(
    64 * 1024 * 1024,
    'Bytes of all arguments between MULTI and EXEC. A command that exceeds it is refused, and then EXEC is refused too.',
  ),
  transactionWordsMax: entries(
    131_072,
    'Arguments between MULTI and EXEC. EXEC processes all of them within one turn. A command that exceeds it is refused.',
  ),
  queuedBytesMax: bytes(
    256 * 1024 * 1024,
    'Queued commands of all connections together. A command that exceeds it is refused, and then its EXEC is refused too.',
  ),
  transactionMembersMax: entries(
    65_536,
    'Members and names that one transaction reads. It runs within one turn, so one that reads more is refused.',
  ),
  transactionReadBytesMax: bytes(
    32 * 1024 * 1024,
    'Bytes of the members that one transaction reads, and of its reply. A transaction that exceeds it is refused.',
  ),
  watchedKeysMax: entries(1_024, 'Keys that one connection watches. One more is refused.'),
  watchersMax: entries(65_536, 'Keys that all connections watch together. One more is refused.'),
  waitingCommandsMax: entries(
    10_000,
    'Blocked SYNCLINE.READ and WAIT commands. One more is refused.',
  ),
  askedWordsMax: entries(
    1_024,
    'Arguments of COMMAND, CONFIG GET, CLIENT LIST, CLIENT KILL and INFO, which process all of them within one turn. More are refused.',
  ),
  scanCountMax: entries(10_000, 'COUNT of SCAN and SSCAN. A larger one is reduced to this.'),
  patternBytesMax: bytes(
    4_096,
    'Pattern of KEYS, SCAN and SSCAN. Matching takes up to pattern × text steps. A longer one is refused.',
  ),
  patternStepsMax: entries(
    16_777_216,
    'Steps that the patterns of KEYS, SCAN and SSCAN take within one turn. A command that needs more is refused.',
  ),
  lineBytesMax: bytes(
    65_536,
    'An inline command, or a line that holds a length. A longer one is a protocol error.',
  ),
  argumentsMax: entries(1_048_576, 'Arguments of one command. More are a protocol error.'),
  bulkBytesMax: bytes(1024 * 1024, 'One argument of a command. A longer one is a protocol error.'),
  commandBytesMax: bytes(64 * 1024 * 1024, 'One command. A larger one is a protocol error.'),
  commandTimeoutMs: ms(
    10_000,
    'A command must be complete this long after its first byte. Otherwise the connection is closed.',
  ),
  unauthenticatedArgumentsMax: entries(
    10,
    'Arguments of a command from a client that has not authenticated yet.',
  ),
  unauthenticatedBulkBytesMax: bytes(
    16_384,
    'One argument of a command from a client that has not authenticated yet.',
  ),
  unauthenticatedOutputBytesMax: bytes(
    65_536,
    'Unsent replies to a client that has not authenticated yet. Above this limit its connection is closed.',
  ),
  unauthenticatedTimeoutMs: ms(
    10_000,
    'A client must authenticate within this time. Otherwise its connection is closed.',
  ),
  outputPauseBytes: bytes(
    1024 * 1024,
    'Unsent replies to one connection. Above this limit nothing more is read from it.',
  ),
  outputSlowBytes: bytes(
    16 * 1024 * 1024,
    'Unsent replies to one connection. A connection that stays above this limit for outputSlowMs is closed.',
  ),
  outputSlowMs: ms(
    60_000,
    'How long a connection may stay above outputSlowBytes before it is closed.',
  ),
  outputBytesMax: bytes(
    64 * 1024 * 1024,
    'Unsent replies to one connection. Above this limit it is closed.',
  ),
  heldBytesMax: bytes(
    512 * 1024 * 1024,
    'Unsent replies and incomplete commands of all connections together. Above this limit the largest are closed.',
  ),
  passwordGuessesMax: limitIn('attempts')(
    4,
    'Wrong passwords from one address that are answered without delay. Later replies to it are delayed.',
  ),
  clientNameBytesMax: bytes(
    1_024,
    'Name of a client, and of its library and version. A longer one is refused.',
  ),
  passwordDelayMs: ms(
    1_000,
    'Delay of replies to an address that has sent too many wrong passwords.',
  ),
  guessersMax: entries(
    10_000,
    'Addresses whose wrong passwords are counted. The oldest is forgotten first.',
  ),
});

/** Those that a test may set lower, so that a few writes rotate the log, break a pin or take several turns. */
export const engineLimits = {
  logSegmentBytesMax: setsLimits.logSegmentBytesMax.value,
  logReserveBytes: setsLimits.logReserveBytes.value,
  checkpointLogBytesMin: setsLimits.checkpointLogBytesMin.value,
  checkpointBlockBytesMax: setsLimits.checkpointBlockBytesMax.value,
  stopReplayBytesMax: setsLimits.stopReplayBytesMax.value,
  pinsMax: setsLimits.pinsMax.value,
  pinEntriesMax: setsLimits.pinEntriesMax.value,
  pinBytesMax: setsLimits.pinBytesMax.value,
  turnMembersMax: setsLimits.turnMembersMax.value,
  /** Elements of a checkpoint between two checks of the clock. */
  checkpointStepRows: 128,
  /** Bytes of a checkpoint that are written to disk at once. */
  checkpointChunkBytes: 256 * 1024,
};

export type EngineLimits = Readonly<Record<keyof typeof engineLimits, number>>;
