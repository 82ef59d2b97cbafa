// Every limit of the package. The first three are defaults: `itemsMax` and `symbolsMax` override them.

/**
 * Differences that a decoder finds. A decoder keeps 36 bytes for each, so a hostile peer can make it
 * allocate about 38 MB for them.
 */
export const DECODER_ITEMS_MAX = 2 ** 20;

/**
 * Symbols that a decoder takes. 2^21 decode 1.5 million differences; they are 45 MB on the wire and
 * 61 MB in memory.
 */
export const DECODER_SYMBOLS_MAX = 2 ** 21;

/** Items of an encoder, which keeps 36 bytes for each: 600 MB. They are local, so nobody forces this. */
export const ENCODER_ITEMS_MAX = 2 ** 24;

/**
 * No symbol has this index or a higher one, so an index always fits a signed word. A stream would have
 * to send 22 GB to get there.
 */
export const SYMBOL_INDEX_END = 2 ** 30;

/** Items of the set behind a block: the count of symbol 0 is a signed word. */
export const BLOCK_ITEMS_MAX = 2 ** 31 - 1;
