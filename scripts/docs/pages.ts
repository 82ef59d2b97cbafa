// The pages that are made from the code, and the lists that they are made of. A package that declares
// limits or metrics adds a line here.
import { cliLimits } from '@syncline/cli';
import { kernelLimits } from '@syncline/kernel';
import { protocolLimits } from '@syncline/protocol';
import { renderConfigDoc, serverLimits, serverMetrics } from '@syncline/server';
import { renderErrorsPage } from './errors-page.js';
import { renderLimitsPage } from './limits-page.js';
import { renderMetricsPage } from './metrics-page.js';

/** Path in the repository and how to render the page. */
export const pages: Readonly<Record<string, () => string>> = {
  'docs/CONFIG.md': renderConfigDoc,
  'docs/ERRORS.md': renderErrorsPage,
  'docs/LIMITS.md': () =>
    renderLimitsPage({
      kernel: kernelLimits,
      protocol: protocolLimits,
      server: serverLimits,
      cli: cliLimits,
    }),
  'docs/METRICS.md': () => renderMetricsPage({ server: serverMetrics }),
};
