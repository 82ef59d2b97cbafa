// Connections for subscriptions: each takes 90 of them, since a server takes 100 calls at once on a connection and
// would let further ones wait without a word. Writes have a connection of their own.
import type { GrpcTarget } from '@syncline/protocol';
import { jobsLimits } from '../limits.js';
import { JobChannel, type JobChannelDeps } from './job-channel.js';

interface Lane {
  readonly channel: JobChannel;
  streamsCount: number;
}

export interface ChannelSlot {
  readonly channel: JobChannel;
  /** The last one to leave closes the connection. A second call does nothing. */
  release(): void;
}

export class ChannelPool {
  readonly #deps: JobChannelDeps;
  readonly #target: GrpcTarget;
  readonly #lanes = new Set<Lane>();

  constructor(deps: JobChannelDeps, target: GrpcTarget) {
    this.#deps = deps;
    this.#target = target;
  }

  take(): ChannelSlot {
    const lane = this.#laneWithRoom();
    lane.streamsCount += 1;
    let isReleased = false;
    return {
      channel: lane.channel,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#leave(lane);
      },
    };
  }

  #laneWithRoom(): Lane {
    const { value: streamsMax } = jobsLimits.streamsPerChannelMax;
    for (const lane of this.#lanes) if (lane.streamsCount < streamsMax) return lane;
    const lane = { channel: new JobChannel(this.#deps, this.#target), streamsCount: 0 };
    this.#lanes.add(lane);
    return lane;
  }

  #leave(lane: Lane): void {
    lane.streamsCount -= 1;
    if (lane.streamsCount > 0) return;
    this.#lanes.delete(lane);
    lane.channel.close();
  }
}
