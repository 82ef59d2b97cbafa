// Checks a payload by the schema of its tag before it is sent. The input is what is stored, never the output:
// a transformation would otherwise run a second time when the state is read. The schema gets a copy, since some
// write into what they check.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { payloadRefusal } from '../checks/payload.js';
import type { JsonObject } from '../state.js';

/** Throws `invalid-argument` with `details.issues`. */
export async function checkPayloadBySchema(
  schema: StandardSchemaV1,
  payload: JsonObject,
): Promise<void> {
  const { issues } = await schema['~standard'].validate(structuredClone(payload));
  if (issues !== undefined) throw payloadRefusal(issues);
}
