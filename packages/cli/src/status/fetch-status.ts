// Fetches the status of a server.
import type { ServerStatus } from '@syncline/server';
import { fetchAnswer } from './fetch-answer.js';
import { isStatus } from './status-shape.js';
import type { StatusTarget } from './status-target.js';

export function fetchStatus(target: StatusTarget): Promise<ServerStatus> {
  return fetchAnswer(target, '/api/status', isStatus);
}
