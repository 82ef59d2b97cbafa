export { Decoder, type DecoderOptions } from './decoder.js';
export { Encoder, type EncoderOptions } from './encoder.js';
export { type ItemHash, type RibltKey, ribltHash } from './item-hash.js';
export { ribltLimits } from './limits.js';
export { RibltError, type RibltErrorCode } from './riblt-error.js';
export { Sketch } from './sketch.js';
export { SymbolBlock, type SymbolColumns } from './symbol-block.js';
