// Laws of the error mappings: what one side sends, the other rebuilds, for every code and content.
import { ERROR_CODES, type ErrorCode, SynclineError } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { errorFromGrpc, type GrpcFailure, grpcFailureOf } from './grpc-error.js';
import { errorFromProblem, problemOf } from './http-problem.js';
import { protocolLimits } from './limits.js';
import { respErrorOf } from './resp-error.js';

const codes = Object.keys(ERROR_CODES) as ErrorCode[];

const plainDetails = fc.dictionary(
  fc.string(),
  fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }),
  { maxKeys: 4 },
);

function anyError(message: fc.Arbitrary<string>, details: fc.Arbitrary<Record<string, unknown>>) {
  return fc
    .record({
      code: fc.constantFrom(...codes),
      message,
      retryable: fc.boolean(),
      outcome: fc.constantFrom('not-applied' as const, 'unknown' as const),
      details,
    })
    .map((e) => new SynclineError(e.code, e.message, e));
}

const sendable = anyError(fc.string({ unit: 'grapheme', maxLength: 80 }), plainDetails).filter(
  (error) => JSON.stringify(error.details).length < 600,
);
const hostile = anyError(
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 3_000 }),
  fc.dictionary(fc.string(), fc.anything({ stringUnit: 'binary' }), { maxKeys: 6 }),
);

function facts(error: SynclineError) {
  const { code, message, retryable, outcome } = error;
  return { code, message, retryable, outcome, details: plain(error.details) };
}

/** JSON has no -0 and no undefined. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

test('an error survives gRPC and its headers', () => {
  fc.assert(
    fc.property(sendable, (error) => {
      const failure = grpcFailureOf(error);
      const arrived = { ...failure, details: decodeURI(encodeURI(failure.details)) };
      expect(facts(errorFromGrpc(arrived))).toEqual(facts(error));
    }),
  );
});

test('an error survives HTTP as problem+json', () => {
  fc.assert(
    fc.property(sendable, (error) => {
      const problem = problemOf(error);
      const arrived: unknown = JSON.parse(JSON.stringify(problem));
      expect(facts(errorFromProblem(problem.status, arrived))).toEqual(facts(error));
    }),
  );
});

test('whatever the message and details, the wire form is legal and bounded', () => {
  const textMax = protocolLimits.errorMessageBytesMax.value + Buffer.byteLength('…');
  fc.assert(
    fc.property(hostile, (error) => {
      const failure = grpcFailureOf(error);
      expect(Buffer.byteLength(failure.details)).toBeLessThanOrEqual(textMax);
      expect(encodeURI(failure.details).length).toBeLessThan(7_000); // never throws either
      for (const value of Object.values(failure.metadata)) expect(value).toMatch(/^[ -~]*$/);
      expect(errorFromGrpc(failure).code).toBe(error.code);
      expect(respErrorOf(error)).not.toMatch(/[\r\n]/);
    }),
  );
});

test('any foreign answer becomes an error, never a throw', () => {
  const metadata = fc.dictionary(
    fc.constantFrom('syncline-code', 'syncline-retryable', 'syncline-outcome', 'syncline-details'),
    fc.string(),
  );
  const failure: fc.Arbitrary<GrpcFailure> = fc.record({
    code: fc.integer(),
    details: fc.string(),
    metadata,
  });
  fc.assert(fc.property(failure, (f) => void expect(codes).toContain(errorFromGrpc(f).code)));
  fc.assert(
    fc.property(fc.nat(999), fc.anything(), (status, body) => {
      expect(codes).toContain(errorFromProblem(status, body).code);
    }),
  );
});
