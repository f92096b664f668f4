import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { restoreNetworks } from './restore-networks.ts';
import { memberOf, type StepContext } from './step-context.ts';
import { parseTransactionName } from '../../../domain/transaction/transaction-names.ts';
import { parseLink } from '../../../domain/container/recipe/other-containers.ts';
import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import { firstToEnd, outcomeOfEnd } from '../facts/first-to-end.ts';

/**
 * Starts a container. A refusal because of the command is the image's fault. Others, such as a used port or a full
 * disk, are the host's.
 */
export async function startContainer(context: StepContext, { id }: StepOf<'start'>): Promise<StepOutcome> {
  const { outside, transaction } = context;
  const { engine } = outside;
  const outcome = await startInItsNetworks(context, id);
  if (outcome.kind !== 'refused') return outcome;
  const isSuccessor = memberOf(id, transaction) !== undefined;
  const first = isSuccessor ? await firstToEnd(outside, transaction) : undefined;
  if (first !== undefined && first.id !== id) return outcomeOfEnd(first, false);
  const state = (await engine.inspectContainer(id))?.state;
  const isNoted = state !== undefined && commandExitCodes.includes(state.exitCode) && state.error !== '';
  const message = `it cannot be started: ${outcome.message}`;
  return isNoted || outcome.commandUnusable === true ? { kind: 'fault', id, message, wasSeenWell: true } : outcome;
}

async function startInItsNetworks(context: StepContext, id: string): Promise<CallOutcome> {
  const outcome = await startWithoutStrayLinks(context.outside.engine, id);
  if (outcome.kind !== 'refused') return outcome;
  const restored = await restoreNetworks(context, id, outcome);
  return restored.kind === 'done' ? startWithoutStrayLinks(context.outside.engine, id) : restored;
}

/**
 * Starts the container without a link that leads to the wrong target. A killed engine resolves legacy links again by
 * name, and may find our successor there. A link cannot be changed later; the report says that it is missing.
 */
async function startWithoutStrayLinks(engine: Outside['engine'], id: string): Promise<CallOutcome> {
  const outcome = await engine.startContainer(id);
  if (outcome.kind !== 'refused' || outcome.linkBroken !== true) return outcome;
  const container = await engine.inspectContainer(id);
  const stray = (container?.settings.HostConfig.Links ?? [])
    .map(parseLink)
    .filter(({ target }) => parseTransactionName(target) !== undefined);
  if (container === undefined || stray.length === 0) return outcome;
  for (const { alias } of stray) await engine.removeLink(container.name, alias);
  return engine.startContainer(id);
}

/**
 * Docker's exit codes for a command that cannot run or does not exist:
 * https://docs.docker.com/engine/containers/run/#exit-status
 */
const commandExitCodes: readonly number[] = [126, 127];
