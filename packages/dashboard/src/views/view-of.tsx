// Selects the view that shows a picture.
import type { JobPicture } from '../job-picture.js';
import type {
  FairPicture,
  JobsPicture,
  OverviewPicture,
  SetPicture,
  SetsPicture,
  StreamsPicture,
} from '../pictures.js';
import type { Route } from '../route.js';
import { FairView } from './fair.js';
import { JobView } from './job.js';
import { JobsView } from './jobs.js';
import { OverviewView } from './overview.js';
import { SetsView, SetView } from './sets.js';
import { StreamsView } from './streams.js';

export interface ViewOfProps {
  readonly route: Route;
  /** The picture belongs to the route's view: the stream was opened for it. */
  readonly picture: unknown;
  readonly serverAtMs: number;
}

export function ViewOf({ route, picture, serverAtMs }: ViewOfProps) {
  switch (route.view) {
    case 'overview':
      return <OverviewView picture={picture as OverviewPicture} />;
    case 'fair':
      return <FairView picture={picture as FairPicture} serverAtMs={serverAtMs} />;
    case 'jobs':
      return <JobsView picture={picture as JobsPicture} route={route} serverAtMs={serverAtMs} />;
    case 'job':
      return <JobView picture={picture as JobPicture} route={route} />;
    case 'sets':
      return <SetsView picture={picture as SetsPicture} route={route} serverAtMs={serverAtMs} />;
    case 'set':
      return <SetView picture={picture as SetPicture} route={route} />;
    case 'streams':
      return <StreamsView picture={picture as StreamsPicture} />;
    case 'unknown':
      return null;
  }
}
