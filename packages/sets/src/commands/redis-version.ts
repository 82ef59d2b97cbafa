// The Redis whose replies and texts ours follow. Clients choose by it what they may ask for.

export const REDIS_VERSION = '7.0.15';
