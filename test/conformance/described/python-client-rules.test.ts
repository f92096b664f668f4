import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { type Json, operationsOf } from './described.ts';

/**
 * Not the generator itself, which is no package of npm or Debian: the rules under which openapi-python-client leaves an
 * operation, a reply or a model out, each with the file of its parser that has it, in
 * https://github.com/openapi-generators/openapi-python-client/tree/main/openapi_python_client/parser
 */
let scene: HttpScene;
let document: Json;
beforeAll(async () => {
  scene = await startHttp({ ...createScriptedService(), engines: () => [] });
  document = (await scene.ask('/v1/openapi.json', { token: null })).json();
});
afterAll(() => scene.stop());

const operations = (): readonly Json[] => operationsOf(document).map(({ path, described }) => ({ path, ...described }));

/** `PythonIdentifier` and `ClassName` of its utils.py. */
const snake = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|[^\w]+/g, '_')
    .toLowerCase()
    .replaceAll(/_+/g, '_');
const pascal = (name: string): string =>
  snake(name).replaceAll(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase());

/** openapi.py, `EndpointCollection.from_data`: a module for each first tag, a file for each id. */
test('every operation has an id, which is another one in the spelling of Python too', () => {
  const names = operations().map(({ tags, operationId }) => `${tags[0]} ${snake(operationId)}`);
  expect(names.length).toBeGreaterThan(25);
  for (const name of names) expect(name).toMatch(/^\w+ [a-z]\w+$/);
  expect(new Set(names).size).toBe(names.length);
});

/** bodies.py, `body_from_data`: "Invalid content type", "Missing schema", "Unsupported content type". */
test('every body is of a media type that it can send, with a schema', () => {
  const bodies = operations().flatMap(({ requestBody }) => requestBody ?? []);
  expect(bodies.length).toBeGreaterThan(1);
  for (const { content } of bodies) {
    expect(Object.keys(content)).toEqual(['application/json']);
    expect(content['application/json'].schema).toBeTypeOf('object');
  }
});

/** responses.py: "Unsupported content_type"; `HTTPStatusPattern`. */
test('every reply of the API has a status that is a number, and a media type that it can read', () => {
  for (const { path, responses } of operations())
    for (const [status, { content = {} }] of Object.entries(responses as Json)) {
      expect(status).toMatch(/^[1-5]\d\d$/);
      for (const type of Object.keys(content))
        if (path !== '/swagger/doc.yaml') expect(type, path).toMatch(/^(?:application\/(?:[\w.-]+\+)?json|text\/.+)$/);
    }
});

/**
 * openapi.py: `_PATH_PARAM_REGEX`, `sort_parameters`, "Parameters MUST NOT contain duplicates", "Parameters with same
 * Python identifier", and `client` and `url`, which it renames.
 */
test('the parameters of a path are those that it names, in their order, and no parameter comes twice', () => {
  for (const { path, parameters } of operations()) {
    const inPath = parameters.flatMap(({ in: place, name }: Json) => (place === 'path' ? name : []));
    expect(inPath).toEqual([...path.matchAll(/\{([a-zA-Z_-][a-zA-Z0-9_-]*)\}/g)].map(([, name]) => name));
    const names = parameters.map(({ name }: Json) => snake(name));
    expect(new Set(names).size, path).toBe(names.length);
    for (const name of names) expect(['client', 'url', 'self', 'kwargs'], path).not.toContain(name);
    for (const { schema } of parameters) expect(schema.type, path).toMatch(/^(?:string|boolean|integer)$/);
  }
});

/**
 * properties/: "Attempted to generate duplicate models" (model_property.py), "Enum values must all be the same type",
 * "Unsupported enum type", "Found conflicting enums", "Duplicate key" (enum_property.py), "Invalid property in union"
 * (union.py), "Could not find reference" (__init__.py). A model is a class in a file with its name in snake case.
 */
test('every model has a name of its own, fields with names of their own, and words whose constants differ', () => {
  const models = new Map<string, string>();
  const files = new Map<string, string>();
  const words = new Map<string, string>();
  const read = (schema: Json, name: string): void => {
    const { $ref: reference, type, enum: values, items, properties, additionalProperties, ...more } = schema;
    if (reference !== undefined) return expect(reference).toBe('#/components/schemas/Error');
    for (const unsupported of ['not', 'if', 'patternProperties', 'prefixItems', '$defs', 'nullable'])
      expect(more, name).not.toHaveProperty(unsupported);
    const parts = [...(more['oneOf'] ?? []), ...(more['anyOf'] ?? []), ...(more['allOf'] ?? [])];
    parts.forEach((part: Json, at) => read(part, `${name}Type${at}`));
    if (values !== undefined) {
      expect(type, name).toBe('string');
      const constants = values.map((value: string) => snake(value).toUpperCase());
      expect(new Set(constants).size, name).toBe(values.length);
      for (const value of values) expect(value, name).toMatch(/^[a-z]/i);
      expect(words.get(name) ?? String(constants), name).toBe(String(constants));
      words.set(name, String(constants));
    }
    if (type === 'array') read(items, `${name}Item`);
    if (typeof additionalProperties === 'object') read(additionalProperties, `${name}AdditionalProperty`);
    if (type !== 'object') return;
    expect(models.has(name), name).toBe(false);
    models.set(name, JSON.stringify(schema));
    expect(files.get(snake(name)) ?? name).toBe(name);
    files.set(snake(name), name);
    for (const needed of schema['required'] ?? []) expect(properties, name).toHaveProperty([needed]);
    const fields = Object.keys(properties ?? {});
    expect(new Set(fields.map(snake)).size, name).toBe(fields.length);
    for (const field of fields) read(properties[field], name + pascal(field));
  };
  for (const [name, schema] of Object.entries(document['components'].schemas as Json)) read(schema, name);
  for (const { operationId, responses, requestBody } of operations()) {
    const own = pascal(operationId);
    if (requestBody !== undefined) read(requestBody.content['application/json'].schema, `${own}Body`);
    for (const [status, { content = {} }] of Object.entries(responses as Json))
      for (const { schema } of Object.values<Json>(content)) read(schema, `${own}Response${status}`);
  }
  expect(models.size).toBeGreaterThan(40);
});

test('every reply that a caller without the role gets is described', async () => {
  for (const { path, security, responses } of operations())
    if (security.length > 0 && !path.startsWith('/v1/hooks/')) expect(responses, path).toHaveProperty('403');
});
