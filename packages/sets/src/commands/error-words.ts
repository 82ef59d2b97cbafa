// The words that errors over RESP begin with: programs branch on them, so the documentation lists them all.

/** With the case in which each is sent. */
export const errorWords = {
  ERR: 'Everything else: the request is wrong, or a limit is passed. The text says what, and which.',
  EXECABORT:
    'EXEC: a queued command was refused, or EXEC itself. Nothing of the transaction has run.',
  LOADING: 'The node gets its sets from a peer. Not sent as yet, since there are no peers.',
  MISCONF: 'The change could not be stored, and was undone: the disk is full, or has failed.',
  NOAUTH: 'The server asks for a password, and this connection has not sent it.',
  NOPROTO: 'HELLO asks for a version of the protocol other than 2 and 3.',
  NOQUORUM: 'SYNCLINE.READ QUORUM: so many nodes have not answered in time.',
  NOTREADY:
    'SYNCLINE.READ AFTER: this node has not applied that version in time. Behind the word stands what it has applied, in the form of SYNCLINE.VV.',
  WRONGPASS: 'AUTH or HELLO: the password is wrong, or the user is not `default`.',
} as const;
