import type { CallOutcome, CreateOutcome } from '../../../domain/outside/engine-writer.ts';
import type { ContainerRecipe } from '../../../domain/container/recipe/request/request.ts';
import type { RestartPolicy } from '../../../domain/container/container-settings.ts';
import { formatPlatform } from '../../../domain/reference/platform.ts';
import { capabilitiesOf, errorPatterns } from '../translate/capabilities.ts';
import { change, changeAndRead } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { containerPath } from './containers.ts';
import { bodyForPodman } from '../podman/create-body.ts';
import { fields, text } from '../transport/json-fields.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerCreate */
export async function createContainer(client: Client, name: string, recipe: ContainerRecipe): Promise<CreateOutcome> {
  const version = await client.version().catch(() => undefined);
  const acceptsDockerBody = version === undefined || capabilitiesOf(version).dockerWords;
  const outcome = await changeAndRead(client, {
    path: '/containers/create',
    query: { name, platform: recipe.platform && formatPlatform(recipe.platform) },
    body: acceptsDockerBody ? recipe.body : bodyForPodman(recipe),
  });
  if (outcome.kind === 'noop') return { kind: 'unknown', message: 'the engine answered 304 to a create' };
  if (outcome.kind === 'refused') return withNameConflict(outcome);
  if (outcome.kind === 'unknown') return outcome;
  const id = text(fields(outcome.answer)['Id']);
  return id === ''
    ? { kind: 'unknown', message: 'the engine created a container and returned no id' }
    : { kind: 'done', id };
}

export async function renameContainer(client: Client, id: string, name: string): Promise<CallOutcome> {
  const outcome = await change(client, { path: `${containerPath(id)}/rename`, query: { name } });
  return outcome.kind === 'refused' ? withNameConflict(outcome) : outcome;
}

export function updateRestartPolicy(client: Client, id: string, policy: RestartPolicy): Promise<CallOutcome> {
  return change(client, { path: `${containerPath(id)}/update`, body: { RestartPolicy: policy } });
}

export async function startContainer(client: Client, id: string): Promise<CallOutcome> {
  const outcome = await change(client, { path: `${containerPath(id)}/start` });
  if (outcome.kind !== 'refused') return outcome;
  if (errorPatterns.commandUnusable.test(outcome.message)) return { ...outcome, commandUnusable: true };
  return errorPatterns.linkBroken.test(outcome.message) ? { ...outcome, linkBroken: true } : outcome;
}

/** Podman answers 500 with its own message. */
function withNameConflict<Refused extends CallOutcome & { readonly kind: 'refused' }>(refused: Refused): Refused {
  return errorPatterns.nameTaken.test(refused.message) ? { ...refused, status: 409 } : refused;
}
