// The pages and the dashboard that are generated from the code, and the lists that they are generated from. A
// package that declares limits or metrics adds a line here.
import { cliLimits, describeCli } from '@syncline/cli';
import { fairLimits, fairMetrics } from '@syncline/fair';
import { jobsLimits, jobsMetrics } from '@syncline/jobs';
import { kernelLimits } from '@syncline/kernel';
import { meshLimits, meshMetrics } from '@syncline/mesh';
import { protocolLimits } from '@syncline/protocol';
import { ribltLimits } from '@syncline/riblt';
import { serverLimits, serverMetrics } from '@syncline/server';
import { renderConfigDoc } from '@syncline/server/config';
import { setsLimits, setsMetrics } from '@syncline/sets';
import { streamsLimits, streamsMetrics } from '@syncline/streams';
import { renderApiPages } from './api-page.js';
import { renderCliPage } from './cli-page.js';
import { renderCommandsPage } from './commands-page.js';
import { renderErrorsPage } from './errors-page.js';
import { renderDashboard } from './grafana-dashboard.js';
import { fetchOpenApi, renderHttpPage } from './http-page.js';
import { renderLimitsPage } from './limits-page.js';
import { renderMetricsPage } from './metrics-page.js';

const limits = {
  kernel: kernelLimits,
  protocol: protocolLimits,
  mesh: meshLimits,
  fair: fairLimits,
  riblt: ribltLimits,
  sets: setsLimits,
  jobs: jobsLimits,
  streams: streamsLimits,
  server: serverLimits,
  cli: cliLimits,
};
export const metricLists = {
  server: serverMetrics,
  mesh: meshMetrics,
  fair: fairMetrics,
  sets: setsMetrics,
  jobs: jobsMetrics,
  streams: streamsMetrics,
};

const mark = '<!-- Generated from the code by "npm run docs". Edits will be lost. -->';

/** The text of each page by its path in the repository; a test compares them with the code. */
export async function renderPages(): Promise<ReadonlyMap<string, string>> {
  const api = await fetchOpenApi();
  const pages = {
    'docs/CLI.md': renderCliPage(await describeCli()),
    'docs/COMMANDS.md': renderCommandsPage(),
    'docs/CONFIG.md': renderConfigDoc(),
    'docs/ERRORS.md': renderErrorsPage(),
    'docs/HTTP.md': renderHttpPage(api),
    'docs/LIMITS.md': renderLimitsPage(limits),
    'docs/METRICS.md': renderMetricsPage(metricLists),
    ...Object.fromEntries(renderApiPages().map(({ name, text }) => [`docs/api/${name}.md`, text])),
  };
  return new Map([
    ...Object.entries(pages).map(([path, text]) => [path, `${text}\n${mark}\n`] as const),
    ['deploy/grafana/syncline.json', renderDashboard()],
    ['docs/openapi.json', `${JSON.stringify(api, null, 2)}\n`],
  ]);
}
