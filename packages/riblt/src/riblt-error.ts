// The one error that input from a peer can cause. Wrong use of the API is a plain RangeError instead:
// no peer can cause it, so there is nothing to handle.

/**
 * `corrupt`: the symbols describe no set, whether by damage or on purpose. `limit-exceeded`: they may
 * be right, but describe more than this side is willing to decode or encode.
 */
export type RibltErrorCode = 'corrupt' | 'limit-exceeded';

export class RibltError extends Error {
  override readonly name = 'RibltError';
  readonly code: RibltErrorCode;

  constructor(code: RibltErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
