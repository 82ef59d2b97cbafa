// Bodies of requests: JSON within limits, and what is wrong with others in words that help.
//
// Depth is checked before parsing: V8 needs up to a second for a megabyte of open brackets, and nothing else runs
// meanwhile.
import { isUtf8 } from 'node:buffer';
import { SynclineError, suggestion } from '@syncline/kernel';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { serverLimits } from '../limits.js';

const { httpBodyBytesMax, httpBodyDepthMax } = serverLimits;

/** By the code of fastify's own error. */
const BODY_ERRORS: ReadonlyMap<unknown, string> = new Map([
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    'the body has an unsupported media type. Send JSON with the header "content-type: application/json".',
  ],
  [
    'FST_ERR_CTP_INVALID_JSON_BODY',
    'the body is not valid JSON, or has a key "__proto__" or "constructor.prototype", which are refused',
  ],
  [
    'FST_ERR_CTP_BODY_TOO_LARGE',
    `the body is too large; at most ${httpBodyBytesMax.value} bytes are allowed`,
  ],
]);

export function acceptJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers(); // a page from another origin can send text/plain without a preflight request
  const options = { parseAs: 'buffer' } as const;
  app.addContentTypeParser<Buffer>('application/json', options, (request, body, done) => {
    if (!isUtf8(body)) return done(notUtf8());
    const text = body.toString('utf8');
    if (isTooDeep(text)) done(tooDeep());
    else void parse(request, text, done);
  });
}

export function bodyErrorText(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown ? BODY_ERRORS.get(thrown.code) : undefined;
}

/** Without a body, as with `{}`. An unknown field is reported first: it is probably the missing one, misspelled. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown = {}): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  if (unknown !== undefined) throw unknownField(unknown.keys[0] ?? '', schema);
  const [issue] = issues;
  const path = issue?.path ?? [];
  const value = path.reduce<unknown>((part, name) => (part as Fields)[name as string], body);
  const field = path.length === 0 ? 'body' : path.join('.').slice(0, SHOWN_LENGTH_MAX);
  const isInfinite = typeof value === 'number' && !Number.isFinite(value); // 1e999, which JSON would show as null
  const shown = isInfinite ? String(value) : (JSON.stringify(value) ?? 'missing');
  const expected = issue === undefined ? '' : `; expected ${expectedBy(issue)}`;
  const what = path.length === 0 ? 'the body' : field;
  throw new SynclineError(
    'invalid-argument',
    `${what} is ${shown.slice(0, SHOWN_LENGTH_MAX)}${expected}.`,
    {
      details: { field },
    },
  );
}

type Fields = Readonly<Record<string, unknown>>;

const SHOWN_LENGTH_MAX = 100;

function unknownField(name: string, schema: z.ZodType): SynclineError {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const field = name.slice(0, SHOWN_LENGTH_MAX);
  const hint = suggestion(field, known) || ` Expected one of: ${known.join(', ')}.`;
  const message = `unknown field ${JSON.stringify(field)}.${hint}`;
  return new SynclineError('invalid-argument', message, { details: { field } });
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'an array',
  int: 'an integer',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

const UNITS: Readonly<Record<string, string>> = { array: ' items', string: ' characters' };

function expectedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return `one of ${issue.values.join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'a non-empty string';
      return `at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    default:
      return issue.message;
  }
}

export function isTooDeepError(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.details['limit'] === 'httpBodyDepthMax';
}

/** Brackets in strings do not count. One pass: a regular expression would rescan strings that do not end. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isInString = !isInString;
    else if (isInString)
      at += character === '\\' ? 1 : 0; // what it escapes may be a quote
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > httpBodyDepthMax.value) return true;
  }
  return false;
}

/** Decoding would replace what is invalid: the text that is stored would not be the text that was sent. */
function notUtf8(): SynclineError {
  return new SynclineError('invalid-argument', 'the body is not valid UTF-8');
}

function tooDeep(): SynclineError {
  const message = `the body has more than ${httpBodyDepthMax.value} levels of objects and arrays`;
  return new SynclineError('invalid-argument', message, { details: { limit: 'httpBodyDepthMax' } });
}
