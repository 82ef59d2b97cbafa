// Builds the OpenAPI document from the descriptions of the routes.
import { z } from 'zod';
import type { RouteDoc } from '../http/http-route.js';
import type { ServerRoute } from '../http/route-table.js';

const PROBLEM = z.looseObject({
  title: z.string(),
  status: z.number(),
  code: z.string(),
  detail: z.string(),
});

type Json = Readonly<Record<string, unknown>>;

export function describeApi(routes: readonly ServerRoute[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    if (!route.path.startsWith('/api/') || route.doc === undefined) continue;
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operationOf(route.path, route.doc),
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Syncline', version, description: 'The HTTP API of a Syncline node.' },
    security: [{}, { token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: schemaOf(PROBLEM) },
    },
  };
}

function operationOf(path: string, doc: RouteDoc): Json {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(doc.query ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.safeParse(undefined).success,
    schema: schemaOf(schema),
  }));
  const body =
    doc.body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(schemaOf(doc.body)) } };
  return {
    summary: doc.summary,
    parameters: [...inPath, ...inQuery],
    ...body,
    responses: {
      ...successOf(doc),
      default: {
        description: 'An error.',
        content: {
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        },
      },
    },
  };
}

function successOf(doc: RouteDoc): Json {
  if (doc.events !== undefined) {
    const shapes = Object.entries(doc.events).map(([event, schema]) => ({
      title: event,
      ...schemaOf(schema),
    }));
    const content = { 'text/event-stream': { schema: { oneOf: shapes } } };
    return { 200: { description: 'Events; `data` is JSON.', content } };
  }
  if (doc.reply === undefined) return { 204: { description: 'Success, without a body.' } };
  return { 200: { description: 'Success.', content: jsonContent(schemaOf(doc.reply)) } };
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } };
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { unrepresentable: 'any' });
  return rest;
}
