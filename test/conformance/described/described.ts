import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'vitest';
import {
  type AskOptions,
  type HttpScene,
  type Reply,
  startHttp,
  type SceneOptions,
} from '../../support/http/http-scene.ts';
import { createScriptedService, type ScriptedService } from '../../support/http/scripted-service.ts';

/** A scene that checks every JSON reply against the description that the service serves. */
export type DescribedScene = HttpScene & { readonly service: ScriptedService };

export async function startDescribed(
  options: SceneOptions = {},
  service = createScriptedService(),
): Promise<DescribedScene> {
  const scene = await startHttp(service, options);
  return { ...scene, service, ask: await describedAsk(scene) };
}

/** Asks as the scene does, and checks each JSON reply against the description. */
export async function describedAsk(scene: Pick<HttpScene, 'ask'>): Promise<HttpScene['ask']> {
  const validate = await readDescription();
  return async (target, asked = {}) => {
    const reply = await scene.ask(target, asked);
    expectDescribed(validate, asked, target, reply);
    return reply;
  };
}

/** The statuses of one operation, each with the schema of its reply, if it has one. */
type Replies = ReadonlyMap<number, ValidateFunction | undefined>;

/** Undefined for an operation that is not described. */
type Description = (method: string, path: string) => Replies | undefined;

let known: Promise<Description> | undefined;

// oxlint-disable-next-line typescript/no-explicit-any -- what is in there is what is tested
export type Json = Readonly<Record<string, any>>;

/** An operation of an OpenAPI document. Its method is in upper case. */
export type Operation = { readonly method: string; readonly path: string; readonly described: Json };

export function operationsOf(document: Json): readonly Operation[] {
  return Object.entries(document['paths'] as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, described]) => ({ method: method.toUpperCase(), path, described })),
  );
}

/** Of all groups, with several engines: a reply is the same whichever other groups are enabled. */
function readDescription(): Promise<Description> {
  known ??= compileDescription();
  return known;
}

async function compileDescription(): Promise<Description> {
  const scene = await startHttp({ ...createScriptedService(), engines: () => [] });
  const { paths, definitions } = (await scene.ask('/swagger/doc.json')).json();
  await scene.stop();
  const ajv = new Ajv({ strict: false, allErrors: true, formats: { 'date-time': isUtcTime } });
  ajv.addSchema({ definitions }, 'description');
  const described = new Map<string, Replies>();
  for (const [path, operations] of Object.entries(paths as Json)) {
    for (const [method, { responses }] of Object.entries(operations as Json)) {
      const replies = Object.entries(responses as Json).map(([status, { schema }]) => {
        const whole = schema?.$ref === undefined ? schema : { $ref: `description${schema.$ref}` };
        return [Number(status), whole && ajv.compile(whole)] as const;
      });
      described.set(`${method.toUpperCase()} ${path}`, new Map(replies));
    }
  }
  return (method, path) => described.get(`${method} ${path}`);
}

const isUtcTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text);

function expectDescribed(description: Description, { method = 'GET' }: AskOptions, target: string, reply: Reply): void {
  const path = target.replace(/\?.*/, '').replace(/(?<=^\/v1\/.+)\/$/, '');
  const replies = description(method, path);
  if (replies !== undefined) expect([...replies.keys()], `${method} ${target}`).toContain(reply.status);
  if (method === 'HEAD' || reply.text === '' || !String(reply.headers['content-type']).includes('json')) return;
  if (reply.status >= 400) return expectErrorBody(reply);
  const validate = replies?.get(reply.status);
  if (validate === undefined) return;
  validate(reply.json());
  expect(validate.errors ?? [], `${method} ${target}: ${reply.text.slice(0, 500)}`).toEqual([]);
}

/** The body of every error reply. */
export function expectErrorBody(reply: Reply): void {
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(Object.keys(reply.json()).sort()).toEqual(['api_version', 'error', 'timestamp']);
  expect(reply.json()).toMatchObject({ api_version: 'v1', timestamp: expect.stringMatching(wholeSeconds) });
  expect(reply.json().error).toMatch(/\S/);
}

export const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
