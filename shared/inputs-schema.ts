import type { JsonValue } from './json.ts';

/**
 * Schema of the payload of a run: a subset of JSON Schema (2020-12) that is validated in bounded time. It has no
 * references and no combinations. Patterns are limited to the syntax of `LinearPattern`.
 */

type Scalar = string | number | boolean;

// Type aliases, because TypeScript does not accept interfaces as JSON objects.
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
  /** Whether unknown properties are allowed. As in JSON Schema, they are when omitted. */
  additionalProperties?: boolean;
};

/** The inputs of a workflow: an object. */
export type WorkflowInputs = ObjectSchema;
