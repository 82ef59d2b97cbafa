// Frames and bytes of one peer, counted in plain numbers and passed to the metrics periodically: a label object
// per frame would cost more than the frame.
import type { Metrics } from '@syncline/kernel';
import type { FrameKind } from './frame-codec.js';
import type { meshMetrics } from './metrics-list.js';

interface Count {
  frames: number;
  bytes: number;
}

export class FrameCounts {
  readonly #metrics: Metrics<keyof typeof meshMetrics>;
  readonly #peer: string;
  readonly #counts = { in: new Map<FrameKind, Count>(), out: new Map<FrameKind, Count>() };

  constructor(metrics: Metrics<keyof typeof meshMetrics>, nodeId: number) {
    this.#metrics = metrics;
    this.#peer = String(nodeId);
  }

  add(direction: 'in' | 'out', kind: FrameKind, bytes: number): void {
    const counts = this.#counts[direction];
    const count = counts.get(kind);
    if (count === undefined) {
      counts.set(kind, { frames: 1, bytes });
    } else {
      count.frames += 1;
      count.bytes += bytes;
    }
  }

  flush(): void {
    for (const direction of ['in', 'out'] as const) {
      for (const [kind, { frames, bytes }] of this.#counts[direction]) {
        const labels = { peer: this.#peer, direction, kind };
        this.#metrics.add('syncline_mesh_frames_total', frames, labels);
        this.#metrics.add('syncline_mesh_bytes_total', bytes, labels);
      }
      this.#counts[direction].clear();
    }
  }
}
