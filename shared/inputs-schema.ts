import type { JsonValue } from './json.ts';

/**
 * What a run of a workflow takes as its payload: a part of JSON Schema (2020-12) that is read in one go and checked in bounded time. No
 * references, no combinations, and patterns of the kind that `LinearPattern` reads.
 */

type Scalar = string | number | boolean;

// No interfaces: to the compiler only an alias is a JSON object as well.
type Common = {
  title?: string;
  description?: string;
  default?: JsonValue;
};

export type InputSchema = Common &
  (
    | { type: 'string'; enum?: Scalar[]; minLength?: number; maxLength?: number; pattern?: string }
    | { type: 'number' | 'integer'; enum?: Scalar[]; minimum?: number; maximum?: number }
    | { type: 'boolean'; enum?: Scalar[] }
    | { type: 'array'; items?: InputSchema; minItems?: number; maxItems?: number }
    | ObjectSchema
  );

export type ObjectSchema = Common & {
  type: 'object';
  properties?: Record<string, InputSchema>;
  required?: string[];
  /** Whether there may be properties that the schema does not name; as in JSON Schema they may when left out. */
  additionalProperties?: boolean;
};

/** The inputs of a workflow: an object. */
export type WorkflowInputs = ObjectSchema;
