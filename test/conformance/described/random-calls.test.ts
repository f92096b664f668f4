import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { webhookSecret } from '../../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../../support/http/whole-service.ts';
import { type Json, operationsOf } from './described.ts';

let scene: WholeService;
let document: Json;
beforeAll(async () => {
  scene = await startWholeService({});
  scene.publish('web:1', 'one');
  await scene.run('web', 'web:1');
  document = (await scene.ask('/v1/openapi.json', { token: null })).json();
});
afterAll(() => scene.stop());

const text = fc.oneof(
  fc.constantFrom('web', '', 'nope', 'web:1', '1', 'true', '2026-01-01T00:00:00Z', '30s', '-1', 'a,b', '(', '%'),
  fc.string(),
);
const valueOf = ({ type, format, pattern, enum: words }: Json): fc.Arbitrary<string> => {
  if (words !== undefined) return fc.constantFrom(...(words as string[]));
  if (pattern !== undefined) return fc.stringMatching(new RegExp(String(pattern)));
  if (format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((at) => at.toISOString());
  if (type === 'boolean') return fc.constantFrom('true', 'false');
  return type === 'integer' ? fc.nat().map(String) : text;
};

/** As schemathesis calls an API, which is no package of npm or Debian. The stream of events has no end. */
test('every reply to a call with random values that fit is described', async () => {
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } });
  const operations = operationsOf(document).filter(({ path }) => path !== '/v1/events');
  expect(operations.length).toBeGreaterThan(20);
  const problems = new Set<string>();
  for (const { path, method, described } of operations) {
    const parameters = described['parameters'] as readonly Json[];
    const entries = parameters.map(({ name, schema, required }): [string, fc.Arbitrary<string | undefined>] => [
      name,
      required ? valueOf(schema) : fc.option(valueOf(schema), { nil: undefined }),
    ]);
    const given = fc.record<Readonly<Record<string, string | undefined>>>(Object.fromEntries(entries));
    await fc.assert(
      fc.asyncProperty(given, fc.json(), async (values, body) => {
        const query = new URLSearchParams(
          parameters.flatMap(({ in: at, name }): [string, string][] =>
            at === 'query' && values[name] !== undefined ? [[name, values[name]]] : [],
          ),
        );
        const at = path.replaceAll(/\{(\w+)\}/g, (_: string, name: string) => encodeURIComponent(values[name] || 'x'));
        const token = path.startsWith('/v1/hooks') ? webhookSecret : undefined;
        const reply = await scene.ask(`${at}?${String(query)}`, {
          method,
          ...(token && { token }),
          ...(described['requestBody'] && { body }),
        });
        const spec = described['responses'][reply.status];
        if (spec === undefined)
          return void problems.add(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 150)}`);
        const schema = spec.content?.['application/json']?.schema;
        if (schema === undefined || reply.text === '') return;
        const validate = ajv.compile({ ...schema, components: document['components'] });
        if (!validate(reply.json())) problems.add(`${method} ${path}: ${JSON.stringify(validate.errors?.[0])}`);
      }),
      { numRuns: 15 },
    );
  }
  expect([...problems]).toEqual([]);
});
