/** The part of JSON schema that OpenAPI 2.0 shares: https://swagger.io/specification/v2/#schema-object */
export type JsonSchema = {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | false;
};

export type Fields = Readonly<Record<string, JsonSchema>>;

/** An object with all required fields, optional ones, and no others. */
export function object(required: Fields, optional: Fields = {}): JsonSchema {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

/** A reply of `/v1` with its time and API version. */
export function stamped(required: Fields, optional: Fields = {}): JsonSchema {
  return object({ ...required, timestamp: time('When the reply was made, UTC'), api_version: version }, optional);
}

export function array(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function text(description: string): JsonSchema {
  return { type: 'string', description };
}

export function oneOf(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', enum: values, description };
}

export function time(description: string): JsonSchema {
  return { type: 'string', format: 'date-time', description };
}

/** 0 or more. */
export function integer(description: string): JsonSchema {
  return { type: 'integer', minimum: 0, description };
}

export function booleanField(description: string): JsonSchema {
  return { type: 'boolean', description };
}

export function map(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

const version: JsonSchema = { type: 'string', enum: ['v1'], description: 'Version of the API' };

/** The counters of a run. */
export const summarySchema: JsonSchema = object({
  scanned: integer('Containers scanned for updates'),
  updated: integer('Containers successfully updated'),
  failed: integer('Containers whose update failed'),
  restarted: integer('Containers restarted because of linked dependencies'),
  skipped: integer('Containers skipped during the update'),
});

export const errorSchema: JsonSchema = object({
  error: text('The message of the error, in English'),
  api_version: version,
  timestamp: time('When the reply was made, UTC'),
});
