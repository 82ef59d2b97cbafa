// Thrown when a job left memory between the moment it was asked for and its place in a batch. The call brings
// it back and tries again; no caller of the store ever sees this.

export class JobNotLoaded extends Error {
  override readonly name = 'JobNotLoaded';
}
