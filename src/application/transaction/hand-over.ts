import { imageOf } from '../engine/listing.ts';
import type { ContainerRecipe } from '../../domain/container/container-settings.ts';
import { isAlive } from '../../domain/container/container.ts';
import { recipeFor } from '../../domain/container/recipe/container-recipe.ts';
import { describeWithRemedy, ServiceError } from '../../domain/text/errors.ts';
import {
  asDoorHelper,
  asHelper,
  type HelperOrder,
  readHelperOrder,
  writeHelperOrder,
} from '../../domain/self-update/helper.ts';
import { helperMarkTag, helperMarkText, helperName } from '../../domain/transaction/transaction-names.ts';
import { type FileBundle, findPlacedFiles, readBundle, writeBundle } from './facts/placed-files.ts';
import type { Outside } from '../../domain/outside/outside.ts';

/**
 * Creates and starts the helper that finishes a transaction about our own container, or about a door. Resolves to
 * undefined when the helper runs: from then on, nothing else may change the transaction while the helper exists.
 * Otherwise resolves to the reason, and there is no helper.
 */
export async function handOver(outside: Outside, order: HelperOrder, needs: HelperNeeds): Promise<string | undefined> {
  const name = helperName(order.name);
  try {
    const { recipe, files } = await planHelper(outside, order, needs);
    const bundle = await readBundle(outside, outside.instance.containerId ?? '', files);
    const obstacle = await removeFormerHelper(outside, name);
    if (obstacle !== undefined) return obstacle;
    const failure = await createAndStart(outside, { name, recipe, order, files: bundle });
    if (failure === undefined) return undefined;
    const remains = await removeFormerHelper(outside, name);
    return remains === undefined ? failure : `${failure}; ${remains}`;
  } catch (error) {
    return describeWithRemedy(error);
  }
}

/** The placed files of our own container. For a door they are looked for, and `socketOf` has the engine's socket. */
export type HelperNeeds = { readonly files: readonly string[] } | { readonly socketOf: string };

async function planHelper(
  outside: Outside,
  order: HelperOrder,
  needs: HelperNeeds,
): Promise<{ readonly recipe: ContainerRecipe; readonly files: readonly string[] }> {
  const { engine, engineName, instance } = outside;
  const [info, networks, own, holder] = await Promise.all([
    engine.info(),
    engine.listNetworks(),
    engine.inspectContainer(instance.containerId ?? ''),
    'socketOf' in needs ? engine.inspectContainer(needs.socketOf) : undefined,
  ]);
  if (own === undefined) throw new Error('our own container is not known to the engine');
  const oldImage = await imageOf(outside, own);
  const task = { transaction: order.transaction, engine: engineName };
  const container = 'files' in needs ? asHelper(own, task) : holder && asDoorHelper(own, holder, task);
  if (container === undefined)
    throw new ServiceError(
      'not-found',
      'Cannot create a helper: no mount of the container has the socket of the engine',
    );
  const recipe = recipeFor({
    container,
    oldImage,
    // The id, because the tag may already name the version that is to be proven.
    image: own.imageId,
    newImageId: own.imageId,
    journal: writeHelperOrder('files' in needs ? order : { ...order, waiting: own.name }),
    apiVersion: info.apiVersion,
    engineName: info.name,
    enginePlatform: info.platform,
    networks,
    replacedIds: new Map(),
    policyFromStart: true,
  });
  return { recipe, files: 'files' in needs ? needs.files : (await findPlacedFiles(outside, own, oldImage)).roots };
}

/**
 * Removes a former helper. Resolves to undefined when the name is free, else to the reason why it is taken. Other
 * containers are never removed.
 */
async function removeFormerHelper({ engine }: Outside, name: string): Promise<string | undefined> {
  const present = await engine.inspectContainer(name);
  if (present === undefined) return undefined;
  if (readHelperOrder(present.settings.Config.Labels ?? {}) === undefined)
    return `"${name}" is somebody else's container`;
  const outcome = await engine.removeContainer(present.id);
  return outcome.kind === 'done' || outcome.kind === 'noop'
    ? undefined
    : `"${name}" cannot be removed: ${outcome.message}`;
}

/** The parts of a helper's start. A helper that runs has started, even if the answer to the call was lost. */
type HelperParts = {
  readonly name: string;
  readonly recipe: ContainerRecipe;
  readonly order: HelperOrder;
  readonly files: FileBundle;
};

async function createAndStart(
  { engine, seal }: Outside,
  { name, recipe, order, files }: HelperParts,
): Promise<string | undefined> {
  const created = await engine.createContainer(name, recipe);
  if (created.kind === 'refused') return `a helper cannot be created: ${created.message}`;
  const id = created.kind === 'done' ? created.id : (await engine.inspectContainer(name))?.id;
  if (id === undefined) return 'a helper cannot be created: the engine did not answer';
  for (const { networkId, endpoint } of recipe.laterEndpoints) {
    const connected = await engine.connectNetwork({ containerId: id, networkId, endpoint });
    if (connected.kind === 'refused' || connected.kind === 'unknown')
      return `a helper cannot be connected to its networks: ${connected.message}`;
  }
  const written = await writeBundle({ engine }, id, files);
  if (written.kind === 'refused' || written.kind === 'unknown')
    return `a helper cannot get the files of this container: ${written.message}`;
  const tag = helperMarkTag(id, order.transaction, seal?.sign(helperMarkText(id, order.transaction)));
  const marked = await engine.tagImage(order.newImageId, tag);
  if (marked.kind === 'refused' || marked.kind === 'unknown')
    return `a helper cannot be marked as ours: ${marked.message}`;
  const started = await engine.startContainer(id);
  if (started.kind === 'done' || started.kind === 'noop') return undefined;
  const status = (await engine.inspectContainer(id))?.state.status;
  return status !== undefined && isAlive(status) ? undefined : `a helper cannot be started: ${started.message}`;
}
