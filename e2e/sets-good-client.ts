// A well-behaved client beside the others: redis-benchmark, which runs in a separate process and so measures the
// server alone, and the cost of the server in the meantime.
import { readFileSync } from 'node:fs';
import type { ClusterNode } from '@syncline/testkit';
import { runProgram } from './run-program.js';

const REQUESTS = 400;

export interface ServiceFigures {
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Adds random members to a set, or looks them up: over 4 connections, one command at a time on each. */
export async function measureService(
  port: number,
  name: 'sadd' | 'sismember',
): Promise<ServiceFigures> {
  const args = ['-p', String(port), '-c', '4', '-n', String(REQUESTS), '-r', '10000', '--csv'];
  const command = [name, 'good', '__rand_int__'];
  const { code, stdout, stderr } = await runProgram('redis-benchmark', [...args, ...command]);
  const line = stdout.trim().split('\n').at(-1) ?? '';
  const [p99Ms = Number.NaN, maxMs = Number.NaN] = line
    .split(',')
    .slice(-2)
    .map((field) => Number(field.replaceAll('"', '')));
  if (code !== 0 || Number.isNaN(maxMs)) throw new Error(`redis-benchmark: ${stdout}${stderr}`);
  return { p99Ms, maxMs };
}

export function residentMebibytes(node: ClusterNode): number {
  const facts = readFileSync(`/proc/${node.pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(facts)?.[1]) / 1_024);
}
