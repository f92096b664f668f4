import type { ServiceCallOutcome, ServiceEdit } from '../../../domain/outside/swarm.ts';
import type { SwarmService } from '../../../domain/swarm/swarm-service.ts';
import { withoutSecrets } from '../../../domain/text/repeated-secret.ts';
import { outcomeOf } from '../calls/changes.ts';
import { encodeCredentials, secretsOf } from '../calls/registry-auth.ts';
import { readAnswer } from '../transport/answer.ts';
import type { Client } from '../transport/client.ts';
import { editSpec } from './edit-spec.ts';
import { servicePath } from './services.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceUpdate */
export async function changeService(
  client: Client,
  service: SwarmService,
  edit: ServiceEdit,
): Promise<ServiceCallOutcome> {
  const json = editSpec(service.spec, edit);
  if (json === undefined) return { kind: 'refused', status: 400, message: 'its spec has no image to replace' };
  const { credentials } = edit;
  const headers = credentials && { 'x-registry-auth': encodeCredentials(credentials) };
  const outcome = await post(client, service, { json, query: {}, ...(headers && { headers }) });
  if (credentials === undefined || !('message' in outcome)) return outcome;
  return { ...outcome, message: withoutSecrets(outcome.message, secretsOf(credentials)) };
}

/** The engine requires a valid spec in the body, but ignores it. */
export function rollBackService(client: Client, service: SwarmService): Promise<ServiceCallOutcome> {
  return post(client, service, { json: service.spec, query: { rollback: 'previous' } });
}

type Post = {
  readonly json: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

function post(client: Client, { id, version }: SwarmService, { query, ...call }: Post): Promise<ServiceCallOutcome> {
  return outcomeOf<ServiceCallOutcome>(client, async () => {
    const reply = await client.sendInNewest({
      method: 'POST',
      path: `${servicePath(id)}/update`,
      query: { version, ...query },
      socket: 'own',
      patience: { for: 'whole', ms: client.deadlines.changeMs },
      ...call,
    });
    if (reply.kind === 'ok') {
      await readAnswer(reply.body).catch(() => undefined);
      return { kind: 'done' };
    }
    const { status, message } = reply;
    if (outOfSequence.test(message)) return { kind: 'conflict' };
    return mayHaveTakenEffect(status) ? { kind: 'unknown', message } : { kind: 'refused', status, message };
  });
}

/** Every version answers 500 "rpc error: … update out of sequence" where a 409 would be expected. */
const outOfSequence = /out of sequence/;

/**
 * A manager forwards the call to the leader, so an error of the manager may hide a success of the leader. A 503 means
 * that the node is not a manager.
 */
function mayHaveTakenEffect(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 503;
}
