import { describe, expect, it } from 'vitest';
import type { Bench } from './bench.js';
import { benchHelp, parseBenchArguments } from './bench-arguments.js';
import { ratioProblems } from './expected-ratios.js';
import { compare, defineBench, median, quantile, spread } from './measure.js';
import { benchTable, factsLines } from './report.js';

/** A bench whose contestants only record their calls. */
function tracedBench(calls: string[]): Bench<{ name: string }> {
  const contestant = (name: string) => ({
    name,
    open: async () => ({
      name,
      async [Symbol.asyncDispose]() {
        calls.push(`close ${name}`);
      },
    }),
  });
  return {
    name: 'traced',
    unit: 'calls/s',
    about: 'nothing',
    contestants: [contestant('ours'), contestant('peer')],
    async prepare(subject) {
      calls.push(`prepare ${subject.name}`);
    },
    async run(subject, round) {
      calls.push(`${subject.name} ${round}`);
      return 1;
    },
  };
}

describe('measuring', () => {
  it('lets the contestants take turns, and does not count the first', async () => {
    const calls: string[] = [];
    const measured = await defineBench(tracedBench(calls)).measure(2);
    expect(calls.join(', ')).toBe(
      'prepare ours, prepare peer, ours 0, peer 0, ours 1, peer 1, ours 2, peer 2, close ours, close peer',
    );
    expect(measured.map(({ contestant, values }) => [contestant, values.length])).toEqual([
      ['ours', 2],
      ['peer', 2],
    ]);
  });

  it('closes all when one of them fails', async () => {
    const calls: string[] = [];
    const bench = { ...tracedBench(calls), run: () => Promise.reject(new Error('broken')) };
    await expect(defineBench(bench).measure(1)).rejects.toThrow('broken');
    expect(calls.slice(2)).toEqual(['close ours', 'close peer']);
  });

  it('compares medians and shows the spread', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
    expect(spread([90, 100, 120])).toBeCloseTo(0.15);
    const measured = [
      { contestant: 'ours', values: [100, 101, 99] },
      { contestant: 'peer', version: '1.2.3', values: [400, 300, 500] },
    ];
    const bench = defineBench(tracedBench([]));
    expect(compare(bench, measured)).toEqual([
      {
        bench: 'traced',
        unit: 'calls/s',
        value: 100,
        peer: 'peer',
        peerValue: 400,
        ratio: 0.25,
        better: 'more',
        n: 3,
        spread: 0.25,
      },
    ]);
    expect(benchTable(bench, measured)).toBe(
      [
        'traced: nothing',
        '  ours        100 calls/s   ± 1%',
        '  peer 1.2.3  400 calls/s  ± 25%  ours is 0.25 of it',
      ].join('\n'),
    );
  });

  it('uses costs as measured, and a bound as a peer', async () => {
    const { unit: _, ...traced } = tracedBench([]);
    const measured = await defineBench({
      ...traced,
      better: 'less',
      unit: 'ms',
      bound: { name: 'at most', value: 8 },
      run: async (_subject, round) => round,
    }).measure(3);
    expect(measured.map(({ contestant, values }) => [contestant, values])).toEqual([
      ['ours', [1, 2, 3]],
      ['peer', [1, 2, 3]],
      ['at most', [8]],
    ]);
  });

  it('computes quantiles, and no spread for equal values', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect([0, 0.5, 0.99, 1].map((part) => quantile(values, part))).toEqual([1, 100, 198, 200]);
    expect(spread([0, 0])).toBe(0);
  });

  it('names the commit, the machine and the versions of the peers, each once', () => {
    const traced = tracedBench([]);
    const [ours] = traced.contestants;
    const peer = { ...ours, name: 'peer', version: '1.2.3' };
    const bench = defineBench({ ...traced, contestants: [ours, peer] });
    expect(factsLines('1cad289', [bench, bench])).toMatch(
      /^Commit 1cad289\. Node \d+\.\d+\.\d+, \w+ \w+, \d+ × .+\nPeers: peer 1\.2\.3\n$/,
    );
  });
});

describe('the command line', () => {
  it('accepts what the help lists', () => {
    const args = ['--json', '--check', '--only', 'a', '--only', 'b', '--runs', '9'];
    const expected = { isJson: true, isCheck: true, isHelp: false, only: ['a', 'b'], runs: 9 };
    expect(parseBenchArguments(args)).toEqual(expected);
  });

  it('refuses unknown arguments', () => {
    expect(() => parseBenchArguments(['--jsn'])).toThrow(/^Unknown option '--jsn'\.$/);
    expect(() => parseBenchArguments(['--runs', '2'])).toThrow(
      '--runs must be an integer of at least 5',
    );
  });
});

describe('the help', () => {
  it('fits a narrow terminal', () => {
    const lines = benchHelp([]).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });
});

describe('--check', () => {
  it('names ratios that are not good enough and benches without an expectation', () => {
    const line = { unit: 'x/s', better: 'more', value: 1, peerValue: 1, n: 5, spread: 0 } as const;
    const comparisons = [
      { ...line, bench: 'good', peer: 'p', ratio: 0.5 },
      { ...line, bench: 'slow', peer: 'p', ratio: 0.4 },
      { ...line, bench: 'new', peer: 'p', ratio: 9 },
      { ...line, better: 'less', bench: 'cheap', peer: 'p', ratio: 0.4 },
      { ...line, better: 'less', bench: 'dear', peer: 'p', ratio: 0.6 },
    ] as const;
    const half = { p: 0.5 };
    const expected = { good: half, slow: half, cheap: half, dear: half };
    expect(ratioProblems(comparisons, expected)).toEqual([
      'slow is 0.4 of p, expected at least 0.5',
      'new against p is not in bench/expected.json',
      'dear is 0.6 of p, expected at most 0.5',
    ]);
  });
});
