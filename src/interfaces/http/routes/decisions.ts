import { type DecisionFault, type DecisionKind, decisionKinds } from '../../../domain/decision/decisions.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { decisionEntry } from '../../json/entries.ts';
import { printable } from '../../../domain/text/printable.ts';
import { parseTimestamp, replyFields } from '../../json/timestamps.ts';
import { HttpError } from '../replies/errors.ts';
import { array, oneOf, integer, object, stamped, text, time, booleanField, engineField } from '../replies/schemas.ts';
import { bufferedObject } from '../requests/request.ts';
import { noSuchEngine } from '../requests/selection.ts';
import type { HttpParts, Service } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

const fields = {
  id: text('Id of the decision'),
  container: text('Name of the container'),
  decision: oneOf(decisionKinds, 'The decision'),
  digest: text('Digest of the new version; the decision applies to no other'),
  by: text(
    'Origin of the decision: the name of a person or of a token, API token or browser session if it has no name, or command line',
  ),
  at: time('When'),
};

const optionalFields = {
  ...engineField,
  tag: text('Tag of that version, if it has one'),
  until: time('End of the decision; absent: it ends with its version'),
};

const keptField = { kept: booleanField('Whether it is stored on disk, and survives a restart') };

const unreadable = { 500: { description: 'The stored decisions cannot be read' } };

const bodySchema = object(
  {
    container: text('Name of the container'),
    decision: oneOf(decisionKinds, 'The decision about the version'),
    digest: text('Digest of the version that the client has seen'),
  },
  { until: time('When the decision ends; needed for snooze'), ...engineField },
);

/** `GET` and `POST /v1/decisions`, `DELETE /v1/decisions/ID`. */
export function decisionRoutes({ clock }: HttpParts): readonly Route[] {
  const shared = { group: 'decisions', access: 'api token', filter: 'applies', query: {} } as const;
  const isKnown = (service: Service, container: string, engine: string | undefined) =>
    service.decisions.candidateOf(container, engine) !== undefined ||
    service.inventory().containers.some((one) => one.name === container && (engine ?? one.engine) === one.engine);
  const list = defineRoute({
    ...shared,
    path: '/v1/decisions',
    needs: 'viewer',
    summary: 'List decisions about new versions',
    description: 'Lists the decisions about new versions, oldest first. A decision ends with its version.',
    replies: {
      200: {
        description: 'The decisions in effect',
        schema: stamped({ decisions: array(object(fields, optionalFields)), count: integer('Number of entries') }),
      },
      ...unreadable,
    },
    answer: async ({ request: { service } }) => {
      const decisions = (await service.decisions.list()).map(decisionEntry);
      return { decisions, count: decisions.length, ...replyFields(clock.nowMs()) };
    },
  });
  const postRoute = defineRoute({
    ...shared,
    path: '/v1/decisions',
    methods: ['POST'],
    needs: 'operator',
    summary: 'Decide about a new version',
    description:
      'Approves, skips or snoozes the pending new version of a container. Send the digest of the version that the client has seen: candidate_digest, else latest_digest of the container. If another version is pending, the request is refused.',
    body: bodySchema,
    replies: {
      201: { description: 'The decision', schema: stamped({ ...fields, ...keptField }, optionalFields) },
      400: { description: 'The body is malformed' },
      404: { description: 'No watched container has that name' },
      409: { description: 'No update of the container to this version is pending; the error says so' },
      ...unreadable,
    },
    answer: async ({ request }, reply) => {
      const { service } = request;
      const body = bufferedObject(request.raw);
      const unknown = Object.keys(body).find((name) => !Object.hasOwn(bodySchema.properties ?? {}, name));
      // It may be meant to limit the decision.
      if (unknown !== undefined)
        throw invalid(
          printable(unknown, 40),
          `it is unknown; the fields are ${Object.keys(bodySchema.properties ?? {}).join(', ')}`,
        );
      const container = textIn(body, 'container').replace(/^\//, '');
      const kind = decisionKinds.find((each) => each === body['decision']);
      if (kind === undefined) throw invalid('decision', `expected one of ${decisionKinds.join(', ')}`);
      const engine = body['engine'] === undefined ? undefined : engineIn(body, service);
      const decided = await service.decisions.take({
        kind,
        container,
        ...(engine !== undefined && { engine }),
        digest: textIn(body, 'digest'),
        untilMs: timeIn(body, 'until'),
        by: request.name ?? request.caller,
      });
      if ('fault' in decided) throw refusal(decided, kind, isKnown(service, container, engine));
      reply.code(201);
      return { ...decisionEntry(decided), kept: decided.isKept, ...replyFields(clock.nowMs()) };
    },
  });
  const withdraw = defineRoute({
    ...shared,
    path: '/v1/decisions/*',
    describedAs: { '/v1/decisions/{id}': 'application/json' },
    methods: ['DELETE'],
    needs: 'operator',
    summary: 'Withdraw a decision',
    description: 'Withdraws a decision, as if it had not been made.',
    replies: {
      200: { description: 'The withdrawn decision', schema: stamped({ ...fields, ...keptField }, optionalFields) },
      404: { description: 'There is no decision with this id' },
      ...unreadable,
    },
    answer: async ({ request }) => {
      const withdrawn = await request.service.decisions.withdraw(request.rest, request.name ?? request.caller);
      if (withdrawn === undefined) throw new HttpError(404, 'there is no decision with this id');
      return { ...decisionEntry(withdrawn), kept: withdrawn.isKept, ...replyFields(clock.nowMs()) };
    },
  });
  return [list, postRoute, withdraw];
}

function refusal({ kind, fault }: DecisionFault, decision: DecisionKind, isKnown: boolean): HttpError {
  if (kind === 'conflict' && !isKnown) return new HttpError(404, 'no watched container has that name');
  return new HttpError(kind === 'conflict' ? 409 : 400, `cannot ${decision} the new version: ${fault}`);
}

function engineIn(body: JsonObject, { engines }: Pick<HttpParts['service'], 'engines'>): string {
  const engine = textIn(body, 'engine');
  if (engines === undefined) throw invalid('engine', 'this service works on one engine alone; leave it out');
  const known = engines().map(({ name }) => name);
  if (known.includes(engine)) return engine;
  throw invalid('engine', noSuchEngine(known));
}

function textIn(body: JsonObject, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value.trim() !== '' && value.length <= maxText) return value.trim();
  throw invalid(name, `expected a text of at most ${maxText} characters`);
}

const maxText = 300;

function timeIn(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === 'string' ? parseTimestamp(value) : undefined;
  if (ms === undefined) throw invalid(name, 'expected an RFC 3339 time');
  return ms;
}

function invalid(name: string, why: string): HttpError {
  return new HttpError(400, `invalid field "${name}" of the request body: ${why}`);
}
