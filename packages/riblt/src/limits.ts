// Every limit of the package. docs/LIMITS.md is made from this list. All are defaults of options.

export const ribltLimits = {
  decoderItemsMax: {
    value: 2 ** 20,
    unit: 'entries',
    why: 'Differences that a decoder finds, 32 bytes each. Above this limit it throws `limit-exceeded`. Option `itemsMax`.',
  },
  decoderSymbolsMax: {
    value: 2 ** 21,
    unit: 'entries',
    why: 'Symbols that a decoder takes: 44 MB on the wire, enough for 1.5 million differences. Above this limit it throws `limit-exceeded`. Option `symbolsMax`.',
  },
  encoderItemsMax: {
    value: 2 ** 24,
    unit: 'entries',
    why: 'Items of an encoder, which keeps 32 bytes for each. Above this limit it throws `limit-exceeded`. Option `itemsMax`.',
  },
} as const;
