// The labels that decisions and outcomes are counted under, made once: the hot path allocates nothing.

export function decisionLabels(tracker: string) {
  return {
    admitted: { tracker, decision: 'admitted' },
    throttled: { tracker, decision: 'throttled' },
    shadow: { tracker, decision: 'shadow' },
    allowed: { tracker, decision: 'allowed' },
    untracked: { tracker, decision: 'untracked' },
  } as const;
}

export function outcomeLabels(tracker: string) {
  return {
    success: { tracker, outcome: 'success' },
    failure: { tracker, outcome: 'failure' },
    ignore: { tracker, outcome: 'ignore' },
  } as const;
}
