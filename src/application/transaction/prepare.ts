import { defined } from '../../domain/text/plain-data.ts';
import type { EngineInfo } from '../../domain/outside/engine.ts';
import { getsFreshVolumes, composeReferenceOf } from '../../domain/plan/replacement.ts';
import { runsOn, formatPlatform, sameArchitecture, samePlatform, type Platform } from '../../domain/image/platform.ts';
import { supportsApi, endpointsOf, networkOfEndpoint } from '../../domain/container/recipe/networks.ts';
import {
  isAlive,
  restartPolicyOf,
  type Container,
  type Image,
  type Network,
  type DataItem,
  type Endpoint,
  type ContainerRecipe,
  samePolicy,
} from '../../domain/container/container.ts';
import { recipeFor } from '../../domain/container/recipe/container-recipe.ts';
import { composeImageLabel, labelsToBe } from '../../domain/container/recipe/config.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { HealthProbe } from '../../domain/settings/values/label-values.ts';
import { digestOfRepository, engineReference, tryParseImageReference } from '../../domain/image/image-reference.ts';
import {
  effectiveSettings,
  labelValuesOf,
  readLabels,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import { titleOfProbe, whyNotAskable } from '../health/probe.ts';
import type { PermissionName } from '../../domain/outside/permission.ts';
import { removesItself } from '../../domain/transaction/journal.ts';
import { contentOf, imageOf } from '../engine/listing.ts';
import { requirePermissions, type Needs } from '../engine/permissions.ts';
import { quoted } from '../../domain/text/printable.ts';
import { savedDataOf, withoutParts } from '../../domain/plan/saved-data.ts';
import { fetchImage, foreignPlatform, stillHeld, type FetchContext, type ImageAhead } from './create-successor.ts';
import { findPlacedFiles } from './hand-over.ts';
import { servesForMs } from './open-transaction.ts';
import type { JournaledData } from '../../domain/transaction/facts.ts';
import type { DataLimits } from '../../domain/transaction/data-helper.ts';

/** Everything that a transaction needs before its first change: images pulled and verified, networks known. */
export type PreparedTransaction = {
  readonly info: EngineInfo;
  readonly networks: readonly Network[];
  /** The container that we run in, if this engine has it; else empty. */
  readonly ownContainer: string;
  /** The calls that a proxy before the engine forbids, and that the transaction works without. */
  readonly forbidden: readonly PermissionName[];
  readonly members: readonly PreparedMember[];
  /** Absent: no data are copied. */
  readonly data?: PreparedData;
};

export type PreparedMember = {
  readonly planned: PlannedMember;
  readonly oldImage: Image | undefined;
  readonly oldDigest: string;
  readonly image: Image;
  /** `repository:tag` that must point at the image when the successor is created; undefined for a bare id. */
  readonly tag: string | undefined;
  /** The reference in its compose file, and the image that the engine has under it, if the successor gets another tag. */
  readonly composeReference: string | undefined;
  readonly composeImageId: string | undefined;
  /** The roots of its placed files. */
  readonly files: readonly string[];
  /** Why there may be more of them. Empty if there are not. */
  readonly filesInDoubt: string;
  readonly laterEndpoints: ContainerRecipe['laterEndpoints'];
  /** All its endpoints, by network name. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
};

/** Thrown when one member prevents the update of its group. */
export class PreparationError extends ServiceError {
  readonly containerId: string;

  constructor(containerId: string, cause: ServiceError) {
    super(cause.code, cause.message, { cause, ...defined({ remedy: cause.remedy }) });
    this.containerId = containerId;
  }
}

type PrepareOptions = {
  readonly runId: string;
  readonly onPull: (name: string) => void;
  /** Whether nothing may stay in the engine. */
  readonly removesAll?: boolean;
  /** Whether a helper finishes it. */
  readonly isForHelper?: boolean;
  /** Whether copies of the data by earlier updates stay. */
  readonly keepsFormerCopies?: boolean;
  /** By container id. */
  readonly ahead?: ReadonlyMap<string, ImageAhead> | undefined;
};

type Preparing = FetchContext &
  PrepareOptions &
  Pick<PreparedTransaction, 'info'> & {
    /** A list with all networks of the container, if the engine has them. */
    readonly networksOf: (container: Container) => Promise<readonly Network[]>;
  };

/**
 * Asks for the permissions, pulls by digest, verifies, and tries every recipe once. Throws a `PreparationError`, or
 * another one for all members. No container is changed.
 */
export async function prepareTransaction(
  outside: Outside,
  settings: ServiceSettings,
  transaction: PlannedTransaction,
  options: PrepareOptions,
  signal?: AbortSignal,
): Promise<PreparedTransaction> {
  const names = transaction.members.map(({ container }) => quoted(container.name)).join(', ');
  const chosen = options.isForHelper ? [] : chosenData(transaction, settings);
  const needs = needsOf(transaction, options.removesAll === true || chosen.length > 0);
  const forbidden = await requirePermissions(outside, `update ${names}`, needs, signal);
  const info = await outside.engine.info(signal);
  let networks = outside.picture?.networks();
  const networksOf = async (container: Container) => {
    if (networks === undefined || !hasAllNetworks(networks, container))
      networks = await outside.engine.listNetworks(signal);
    return networks;
  };
  const preparing = { ...options, outside, settings, info, networksOf, signal };
  const members: PreparedMember[] = [];
  for (const planned of transaction.members) {
    try {
      members.push(await prepareMember(preparing, planned));
    } catch (error) {
      throw error instanceof ServiceError ? new PreparationError(planned.container.id, error) : error;
    }
  }
  const isFixed = info.abilities.changesRestartPolicies && (await havePoliciesFixed(outside, members));
  const own = await knownOwnContainer(outside, signal);
  const changesPolicies = info.abilities.changesRestartPolicies && !isFixed;
  return {
    info: isFixed ? { ...info, abilities: { ...info.abilities, changesRestartPolicies: false } } : info,
    networks: networks ?? [],
    ownContainer: own?.id ?? '',
    forbidden,
    members,
    ...(chosen.length > 0 && { data: await prepareData({ ...preparing, own, changesPolicies }, members, chosen) }),
  };
}

/** The data of all members that get a new version and are started. */
function chosenData({ members }: PlannedTransaction, settings: ServiceSettings): readonly ChosenData[] {
  const started = members.filter(({ cause, desiredEndState }) => cause === 'stale' && desiredEndState !== 'stopped');
  return started.flatMap((planned) => {
    const freshVolumes = getsFreshVolumes(planned, settings);
    const items = savedDataOf(planned.container, settings, { freshVolumes })?.items ?? [];
    return items.length === 0 ? [] : [{ container: planned.container, items }];
  });
}

type ChosenData = { readonly container: Container; readonly items: readonly DataItem[] };

type DataContext = Pick<Preparing, 'outside' | 'settings' | 'keepsFormerCopies' | 'signal'> & {
  readonly own: Container | undefined;
  readonly changesPolicies: boolean;
};

/** Refuses data that could not be restored safely. */
async function prepareData(
  { outside, settings, keepsFormerCopies, signal, own, changesPolicies }: DataContext,
  members: readonly PreparedMember[],
  chosen: readonly ChosenData[],
): Promise<PreparedData> {
  const [leader] = members;
  if (leader === undefined) throw new Error('a transaction without members');
  const { container } = leader.planned;
  const refuse = (why: string, remedy?: string) =>
    new PreparationError(
      container.id,
      new ServiceError('invalid-input', `Cannot update ${quoted(container.name)}: ${why}`, defined({ remedy })),
    );
  const isAutomatic = members.some(
    ({ planned }) => !samePolicy(restartPolicyOf(planned.container), { Name: 'no', MaximumRetryCount: 0 }),
  );
  if (isAutomatic && !changesPolicies)
    throw refuse('its data cannot be restored safely: this engine cannot change a restart policy');
  const named = settings.dataImage ?? own?.imageId;
  const image = named === undefined ? undefined : await outside.engine.inspectImage(named, signal);
  if (image === undefined)
    throw settings.dataImage === undefined
      ? refuse(
          'its data cannot be copied: Upkeep does not run in a container of this engine',
          'set --data-image to an image with GNU cp, such as debian:stable-slim, and pull it on this engine',
        )
      : refuse(
          `its data cannot be copied: this engine has no image ${quoted(settings.dataImage, 300)}`,
          'pull it there, or set --data-image',
        );
  const of = chosen.map((one) => effectiveSettings(settings, labelValuesOf(one.container)));
  return {
    data: {
      leader: container.name,
      items: withoutParts(chosen.flatMap(({ items }) => items)),
      imageId: image.id,
      keepMs: Math.max(...of.map(({ dataKeepMs }) => dataKeepMs)),
      ...(keepsFormerCopies === true && { keepsFormer: true }),
    },
    // They are copied together, so the lowest size of a label holds for all of them.
    limits: {
      maxBytes: Math.min(...of.map(({ dataMaxBytes }) => dataMaxBytes)),
      timeoutMs: Math.max(...of.map(({ dataTimeoutMs }) => dataTimeoutMs)),
    },
  };
}

function hasAllNetworks(networks: readonly Network[], { settings }: Container): boolean {
  return Object.entries(settings.Networks).every(
    ([name, endpoint]) => networkOfEndpoint(networks, name, endpoint) !== undefined,
  );
}

/**
 * Whether the policy of a member cannot be changed while it runs, because its runtime has no `update`, as gVisor: the
 * engine then refuses every change. Tried with the policy that it has; one that does not run cannot show it.
 */
async function havePoliciesFixed({ engine }: Outside, members: readonly PreparedMember[]): Promise<boolean> {
  for (const { planned } of members) {
    const { id, state, settings } = planned.container;
    if (updatingRuntimes.has(settings.HostConfig.Runtime ?? '')) continue;
    if (!isAlive(state.status)) return true;
    const outcome = await engine.updateRestartPolicy(id, restartPolicyOf(planned.container));
    if (outcome.kind === 'refused' && outcome.status >= 500) return true;
  }
  return false;
}

/** Known to have `update`, so that they are not asked; Podman calls its runtime `oci`. */
const updatingRuntimes: ReadonlySet<string> = new Set([
  ...['', 'oci', 'runc', 'io.containerd.runc.v1', 'io.containerd.runc.v2', 'crun', 'youki', 'nvidia', 'sysbox-runc'],
]);

/**
 * A container with `--rm` cannot be undone without a mark, and a mark that stays would be in the way. A helper and the
 * containers of a rehearsal must not stay.
 */
function needsOf({ members }: PlannedTransaction, removesAll: boolean | undefined): Needs {
  const pulls = members.some(({ cause }) => cause === 'stale');
  if (removesAll === true) return { pulls, also: ['remove', 'untag'] };
  return { pulls, also: members.some(({ container }) => removesItself(container)) ? ['untag'] : [] };
}

async function prepareMember(preparing: Preparing, planned: PlannedMember): Promise<PreparedMember> {
  const { outside, settings, info, onPull, signal } = preparing;
  const ahead = preparing.ahead?.get(planned.container.id);
  if (ahead?.kind === 'failed') throw ahead.error;
  const container = await unchanged(outside, planned.container, signal);
  // The image of a member that keeps it must still be in the engine.
  const readImage = planned.cause === 'linked' ? imageOf : contentOf;
  const oldImage = ahead?.oldImage ?? (await readImage(outside, container, signal));
  const networks = await preparing.networksOf(container);
  const reference = tryParseImageReference(planned.reference);
  const tag = reference !== undefined && reference.digest === undefined ? engineReference(reference) : undefined;
  if (planned.digest !== undefined && ahead === undefined) onPull(container.name);
  const platform = foreignPlatform(container, oldImage, info);
  const fetched =
    planned.cause === 'linked'
      ? oldImage
      : ((await stillHeld(outside, ahead)) ?? (await fetchImage(preparing, planned, oldImage, platform)));
  const image = fetched && (await completeNew(preparing, planned, fetched, platform ?? info.platform));
  if (image === undefined) {
    throw new ServiceError('not-found', `Cannot recreate "${container.name}": its image is no longer in the engine`, {
      remedy: `pull "${planned.reference}" again`,
    });
  }
  if (image.isConfigUnknown) {
    throw new ServiceError(
      'invalid-input',
      `Cannot update "${container.name}": the engine does not know the configuration of the new image, because it has a layer of it from another image, in another compression${image.configFault === undefined ? '' : `, and it cannot be read from the registry: ${image.configFault}`}`,
      { remedy: 'remove unused images (docker image prune -a), or wait for the next version' },
    );
  }
  // An engine knows the variant of its processor, and may have chosen by it, even if its info shows none.
  const mayRun = info.platform.variant === '' && sameArchitecture(image, info.platform);
  if (!mayRun && !runsOn(image, info.platform) && !(oldImage && samePlatform(image, oldImage))) {
    throw new ServiceError(
      'invalid-input',
      `Cannot update "${container.name}": the new image is for ${formatPlatform(image)}, the engine runs ${formatPlatform(info.platform)}`,
    );
  }
  warnOfIgnoredSignal(outside, container, info);
  if (planned.desiredEndState === 'running' || planned.desiredEndState === 'started')
    await refuseUnaskable(outside, container, probeToBe(settings, container, oldImage, image), signal);
  const composeReference = composeReferenceOf(planned, container);
  const { roots: files, doubt: filesInDoubt } = await findPlacedFiles(outside, container, oldImage, signal);
  const recipe = recipeFor({
    container,
    oldImage,
    image: planned.reference,
    newImageId: image.id,
    journal: {},
    apiVersion: info.apiVersion,
    engineName: info.name,
    enginePlatform: info.platform,
    networks,
    replacedIds: new Map(),
    freshVolumes: getsFreshVolumes(planned, settings),
  });
  return {
    planned: { ...planned, container },
    oldImage,
    oldDigest: (oldImage && reference && digestOfRepository(oldImage.digests, reference)[0]) ?? '',
    image,
    tag,
    composeReference,
    composeImageId: composeReference && (await imageOfCompose(outside, container, composeReference, signal)),
    files,
    filesInDoubt,
    laterEndpoints: recipe.laterEndpoints,
    endpoints: endpointsOf(recipe),
  };
}

/** The engine's choice from an index is compared after the creation: it shows it since API 1.48. */
async function completeNew(
  { outside: { configs }, info, signal }: Preparing,
  { reference, cause }: PlannedMember,
  image: Image,
  platform: Platform,
): Promise<Image> {
  if (configs === undefined || cause === 'linked') return image;
  const use = { references: [reference], manifestDigest: undefined };
  return configs.complete(image, supportsApi(info.apiVersion, '1.48') ? { ...use, platform } : use, signal);
}

/**
 * The image that compose compares with its label. Without it, compose would bring the tag of its file back with the next
 * `up`. If the engine does not have it, compose pulls it again, and the old label still names it.
 */
async function imageOfCompose(
  { engine }: Outside,
  { imageId, settings }: Container,
  reference: string,
  signal?: AbortSignal,
): Promise<string> {
  const held = await engine.inspectImage(reference, signal);
  return held?.id ?? settings.Config.Labels?.[composeImageLabel] ?? imageId;
}

/** The probe of a successor, by the labels that the successor will have. */
function probeToBe(
  settings: ServiceSettings,
  container: Container,
  oldImage: Image | undefined,
  image: Image,
): HealthProbe {
  const { labelSettings } = readLabels(labelsToBe(container, oldImage, image), image.config.Labels ?? {});
  return effectiveSettings(settings, labelSettings).healthProbe;
}

/** Refuses a member whose health probe cannot be reached, because its update could never succeed. */
async function refuseUnaskable(
  outside: Outside,
  container: Container,
  probe: HealthProbe,
  signal?: AbortSignal,
): Promise<void> {
  const obstacle = await whyNotAskable(outside, probe, container, signal);
  if (obstacle === undefined) return;
  const { why, remedy } = obstacle;
  const what = `Cannot update "${container.name}": its ${titleOfProbe(probe)} cannot be asked: ${why}`;
  throw new ServiceError('invalid-input', what, { remedy });
}

/** https://docs.docker.com/reference/api/engine/version-history/#v142-api-changes */
function warnOfIgnoredSignal({ log }: Outside, container: Container, { apiVersion }: EngineInfo): void {
  const { stopSignal } = labelValuesOf(container);
  if (stopSignal === undefined || supportsApi(apiVersion, '1.42')) return;
  log.warn('The label stop-signal has no effect: this engine stops containers only with their own signal', {
    container: container.name,
    signal: stopSignal,
  });
}

/** An engine on another host does not have the container that we run in. */
export async function knownOwnContainer(
  { engine, instance }: Outside,
  signal?: AbortSignal,
): Promise<Container | undefined> {
  return instance.containerId === undefined ? undefined : engine.inspectContainer(instance.containerId, signal);
}

/** Reads the container again, unless the plan has just done so: an update may have waited for its turn. */
async function unchanged(outside: Outside, planned: Container, signal?: AbortSignal): Promise<Container> {
  const { engine, picture, clock } = outside;
  const last = picture?.containerSince(planned.id, clock.monotonicMs() - servesForMs);
  const container = last ?? (await engine.inspectContainer(planned.id, signal));
  const refuse = (why: string) => new ServiceError('busy', `Cannot update "${planned.name}": ${why}`);
  if (container === undefined) throw refuse('someone removed it meanwhile');
  if (container.name !== planned.name) throw refuse('someone renamed it meanwhile');
  if (container.state.status === 'paused') throw refuse('it is paused');
  if (isAlive(container.state.status) !== isAlive(planned.state.status))
    throw refuse('someone started or stopped it meanwhile');
  return container;
}

/** The data of a transaction about to begin, with its limits. */
type PreparedData = { readonly data: JournaledData; readonly limits: DataLimits };
