// Bugs in the client, planted in what it sends and receives.
//
// `fair-blind-overwrite`: every value seems to acknowledge what is in flight, so it is used unchanged.
// `fair-pending-kept`: the round in flight follows the view that contains it, under numbers of its own. To make room
// for those, the client's numbers are spread out in transit, and acknowledgements mapped back.
import type { CellDeltas, StateTransport, SyncRequest, SyncResponse } from '@syncline/fair';
import type { PlantedFairBug } from '../planted-bug.js';

type DeltaUpdate = Extract<SyncRequest, { kind: 'delta-update' }>;

const SPREAD = 4;

export function plantInTransport(
  transport: StateTransport,
  bug: PlantedFairBug | undefined,
): StateTransport {
  if (bug === 'fair-blind-overwrite') return forgeAcks(transport);
  return bug === 'fair-pending-kept' ? keepPending(transport) : transport;
}

function forgeAcks(transport: StateTransport): StateTransport {
  let lastSeq = 0;
  return {
    open(listener) {
      const stream = transport.open({
        onMessage: (response) => {
          const isForged = response.welcome === undefined && response.cells.count > 0;
          listener.onMessage(isForged ? { ...response, ackedSeq: lastSeq } : response);
        },
        onDrain: () => listener.onDrain(),
        onEnd: (error) => listener.onEnd(error),
      });
      return {
        send(request) {
          if (request.kind === 'delta-update') lastSeq = Math.max(lastSeq, request.seq);
          return stream.send(request);
        },
        end: () => stream.end(),
        cancel: () => stream.cancel(),
      };
    },
    close: () => transport.close(),
  };
}

function keepPending(transport: StateTransport): StateTransport {
  let unacked: DeltaUpdate[] = [];
  return {
    open(listener) {
      let epoch = 0;
      let hasUploaded = false;
      const stream = transport.open({
        onMessage: (response) => {
          const ackedSeq = Math.floor(response.ackedSeq / SPREAD);
          epoch = response.welcome?.epoch ?? epoch;
          unacked = unacked.filter(({ seq }) => seq > ackedSeq);
          listener.onMessage({ ...response, ackedSeq } satisfies SyncResponse);
        },
        onDrain: () => listener.onDrain(),
        onEnd: (error) => listener.onEnd(error),
      });
      const sendKept = () => {
        for (const kept of unacked) stream.send({ ...kept, seq: kept.seq * SPREAD + 1, epoch });
        unacked = [];
      };
      return {
        send(request) {
          if (request.kind === 'view-upload') hasUploaded = true;
          if (request.kind === 'state-request' && hasUploaded) sendKept();
          if (request.kind !== 'delta-update') return stream.send(request);
          unacked = unacked.filter(({ seq }) => seq !== request.seq);
          unacked.push({ ...request, deltas: copyOf(request.deltas) });
          return stream.send({ ...request, seq: request.seq * SPREAD });
        },
        end: () => stream.end(),
        cancel: () => stream.cancel(),
      };
    },
    close: () => transport.close(),
  };
}

function copyOf(deltas: CellDeltas): CellDeltas {
  return {
    count: deltas.count,
    rows: deltas.rows.slice(),
    columns: deltas.columns.slice(),
    amounts: deltas.amounts.slice(),
    timesMs: deltas.timesMs.slice(),
    lows: deltas.lows.slice(),
    highs: deltas.highs.slice(),
  };
}
