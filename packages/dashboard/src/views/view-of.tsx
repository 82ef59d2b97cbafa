// Selects the view for a route.
import type { JobData } from '../job-data.js';
import type { Route } from '../route.js';
import type {
  FairData,
  JobsData,
  OverviewData,
  SetData,
  SetsData,
  StreamsData,
} from '../view-data.js';
import { FairView } from './fair.js';
import { JobView } from './job.js';
import { JobsView } from './jobs.js';
import { OverviewView } from './overview.js';
import { SetsView, SetView } from './sets.js';
import { StreamsView } from './streams.js';

export interface ViewOfProps {
  readonly route: Route;
  /** The data belongs to the route's view: the stream was opened for it. */
  readonly data: unknown;
  readonly serverAtMs: number;
}

export function ViewOf({ route, data, serverAtMs }: ViewOfProps) {
  switch (route.view) {
    case 'overview':
      return <OverviewView data={data as OverviewData} />;
    case 'fair':
      return <FairView data={data as FairData} route={route} serverAtMs={serverAtMs} />;
    case 'jobs':
      return <JobsView data={data as JobsData} route={route} serverAtMs={serverAtMs} />;
    case 'job':
      return <JobView data={data as JobData} route={route} />;
    case 'sets':
      return <SetsView data={data as SetsData} route={route} serverAtMs={serverAtMs} />;
    case 'set':
      return <SetView data={data as SetData} route={route} />;
    case 'streams':
      return <StreamsView data={data as StreamsData} />;
    case 'unknown':
      return null;
  }
}
