import { addTo } from '../text/plain-data.ts';
import { containerOwnLabels, labelOf, type Labels, type VersionFacts } from '../image/labels.ts';
import type { Container, ContainerSummary, ImageSummary } from './container.ts';
import { isJsonObject, parseJson } from '../text/json.ts';
import {
  parseDigest,
  formatReference,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../image/image-reference.ts';
import { namePattern, nearest, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';

/** Finds containers by the names and ids in other containers' settings. */
export type ContainerLookup = {
  /** Looks up a text as the engine does: a whole id, then a name, then the beginning of an id if only one matches. */
  readonly byIdOrName: (text: string) => LinkedContainer | undefined;
  readonly byName: (name: string) => LinkedContainer | undefined;
  /**
   * The replicas of a compose service. If unlike projects share its name, `asking` sees its own project; any other
   * container, or undefined (outside of compose), sees none. Containers of `compose run` are not replicas.
   */
  readonly byService: (
    project: string,
    service: string,
    asking: ComposeIdentity | undefined,
  ) => readonly LinkedContainer[];
  /** Undefined for a container outside compose. */
  readonly composeOf: (container: LinkedContainer) => ComposeIdentity | undefined;
};

/** The fields of a container that name it or other containers. */
export type LinkedContainer = Pick<Container, 'id' | 'name' | 'settings' | 'imageLabels'>;

export function createContainerLookup(containers: readonly LinkedContainer[]): ContainerLookup {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const byName = new Map(containers.map((container) => [container.name, container]));
  const identities = new Map(
    containers.map((container) => [container.id, readComposeIdentity(composeLabels(container))]),
  );
  const services = new Map<string, LinkedContainer[]>();
  for (const container of containers) {
    const identity = identities.get(container.id);
    if (identity === undefined || identity.oneOff) continue;
    addTo(services, serviceKey(identity.project, identity.service), container);
  }

  const byBeginning = (text: string): LinkedContainer | undefined => {
    if (!/^[0-9a-f]{4,64}$/.test(text)) return undefined;
    const [only, another] = containers.filter(({ id }) => id.startsWith(text));
    return another === undefined ? only : undefined;
  };

  const composeOf = ({ id }: LinkedContainer) => identities.get(id);

  return {
    byIdOrName: (text) => byId.get(text) ?? byName.get(text) ?? byBeginning(text),
    byName: (name) => byName.get(name),
    byService: (project, service, asking) => {
      const claiming = services.get(serviceKey(project, service)) ?? [];
      const [first] = claiming;
      const like = asking?.project === project ? asking : first && composeOf(first);
      const alike = claiming.filter((each) => mayBeOf(like, composeOf(each)));
      return like === asking || alike.length === claiming.length ? alike : [];
    },
    composeOf,
  };
}

/**
 * A container whose compose labels all come from its image was not created by compose: compose writes more labels to a
 * container than to an image that it builds.
 */
function composeLabels({ settings, imageLabels = {} }: LinkedContainer): Labels {
  const labels = settings.Config.Labels ?? {};
  const own = Object.keys(containerOwnLabels(labels, imageLabels)).some((label) => label.startsWith(composePrefix));
  return own ? labels : {};
}

function mayBeOf(one: ComposeIdentity | undefined, other: ComposeIdentity | undefined): boolean {
  return one !== undefined && other !== undefined && mayBelongTogether(one, other);
}

/** Names of projects and services contain no slash. */
function serviceKey(project: string, service: string): string {
  return `${project}/${service}`;
}

/** Compose project and service of a container, from the labels that `docker compose up` writes. */
type ComposeIdentity = {
  readonly project: string;
  readonly service: string;
  /** The folder of the project. Empty without the label, as with tools other than compose. */
  readonly folder: string;
  /** The compose files. Empty without the label. */
  readonly files: readonly string[];
  /** The files of `--env-file`. Empty without the label. */
  readonly envFiles: readonly string[];
  /** Made by `compose run`, so it is not a replica of the service. */
  readonly oneOff: boolean;
  readonly dependsOn: readonly ComposeDependency[];
};

type ComposeDependency = {
  /** A service of the same project. */
  readonly service: string;
  readonly condition: ComposeCondition;
  /** Whether the container must be restarted after an update of that service. */
  readonly restart: boolean;
};

/** https://github.com/compose-spec/compose-spec/blob/main/05-services.md#depends_on */
export type ComposeCondition = (typeof conditions)[number];

const conditions = ['service_started', 'service_healthy', 'service_completed_successfully'] as const;

/** Undefined for a container outside of compose projects. Ignores unreadable parts. */
export function readComposeIdentity(labels: Labels): ComposeIdentity | undefined {
  const read = (name: string) => labelOf(labels, composePrefix + name) ?? '';
  const [project, service] = [read('project'), read('service')];
  if (!isName(project) || !isName(service)) return undefined;
  return {
    project,
    service,
    folder: read('project.working_dir'),
    files: listIn(read('project.config_files')),
    envFiles: listIn(read('project.environment_file')),
    oneOff: read('oneoff').toLowerCase() === 'true',
    dependsOn: readDependencies(read('depends_on')),
  };
}

/** Compose separates absolute paths with commas, so what does not begin with a slash is the rest of a path with one. */
function listIn(text: string): readonly string[] {
  const paths: string[] = [];
  for (const part of text.split(',', maxFiles)) {
    if (part.trim() === '') continue;
    const isRest = paths[0]?.startsWith('/') === true && !part.trimStart().startsWith('/');
    paths.push(isRest ? `${paths.pop()},${part}` : part.trim());
  }
  return paths;
}

/**
 * Whether two containers with the same project name can belong to one project: their folder is the same, and they have
 * a compose file in common. The label lists the files of one compose call; the other container may come from a call
 * with more or fewer.
 */
export function mayBelongTogether(one: ComposeIdentity, other: ComposeIdentity): boolean {
  if (one.project !== other.project || one.folder !== other.folder) return false;
  if (one.files.length === 0 || other.files.length === 0) return one.files.length === other.files.length;
  const files = new Set(other.files);
  return one.files.some((file) => files.has(file));
}

export const composePrefix = 'com.docker.compose.';

/** Each container's files are compared with those of all others. */
const maxFiles = 100;

const maxDependenciesLength = 32_768;

const maxDependencies = 100;

function isName(text: string): boolean {
  return /^[a-zA-Z0-9._-]{1,255}$/.test(text);
}

/** Compose writes `db:service_healthy:true,cache`; other tools write the JSON of the compose file. */
function readDependencies(text: string): readonly ComposeDependency[] {
  if (text.length > maxDependenciesLength) return [];
  const listed = /^\s*[{[]/.test(text) ? fromJson(text) : fromLine(text);
  const named = new Map(
    listed.filter(({ service }) => isName(service)).map((dependency) => [dependency.service, dependency]),
  );
  return [...named.values()].slice(0, maxDependencies);
}

function fromLine(text: string): readonly ComposeDependency[] {
  return text.split(',').map((item) => {
    const [service = '', condition, restart] = item.split(':').map((part) => part.trim());
    return dependency(service, condition, restart?.toLowerCase() === 'true');
  });
}

function fromJson(text: string): readonly ComposeDependency[] {
  const value = parseJson(text);
  if (Array.isArray(value))
    return value.filter((item) => typeof item === 'string').map((service) => dependency(service, undefined, false));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).map(([service, detail]) =>
    isJsonObject(detail)
      ? dependency(service, detail['condition'], detail['restart'] === true)
      : dependency(service, undefined, false),
  );
}

function dependency(service: string, condition: unknown, restart: boolean): ComposeDependency {
  return { service, condition: conditions.find((known) => known === condition) ?? 'service_started', restart };
}

/** The engine's images by id and tag. */
export type ImageIndex = {
  /** An id is the digest of a config, a manifest or an index, as the engine's image store chooses. */
  readonly byId: (id: string) => ImageSummary | undefined;
  /** Image that the reference's tag points at in the engine now. */
  readonly byTag: (reference: ImageReference) => ImageSummary | undefined;
};

/** The labels of a listed container's image. Undefined when the engine no longer has it, or does not know them. */
export type ImageLabelsOf = (container: Pick<ContainerSummary, 'imageId'>) => Labels | undefined;

export function imageLabelsIn(images: Pick<ImageIndex, 'byId'>): ImageLabelsOf {
  return ({ imageId }) => labelsOfImage(images.byId(imageId));
}

export function labelsOfImage(image: ImageSummary | undefined): Labels | undefined {
  return image?.isConfigUnknown ? undefined : image && (image.labels ?? noImageLabels);
}

/** The facts about an image that name its version. An image of no registry counts as built here. */
export function versionFactsOf(
  image: ImageSummary | undefined,
  { image: reference, digest }: { readonly image: string; readonly digest: string },
): VersionFacts {
  return { labels: labelsOfImage(image), image: reference, digest, isBuiltHere: image?.digests.length === 0 };
}

/** Also for a service: this engine may not have its image, so all labels count as its own. */
export const noImageLabels: Labels = {};

export function indexImages(images: readonly ImageSummary[]): ImageIndex {
  const byId = new Map<string, ImageSummary>();
  const byTag = new Map<string, ImageSummary>();
  for (const image of images) {
    byId.set(image.id, image);
    for (const tag of image.tags) {
      const reference = tryParseImageReference(tag);
      if (reference !== undefined) byTag.set(formatReference(reference), image);
    }
  }
  return {
    byId: (id) => byId.get(id),
    byTag: (reference) => byTag.get(formatReference({ ...reference, digest: undefined })),
  };
}

/** The ids of the containers' images that a list of images omits: it has no untagged parents of other images. */
export function unlistedImageIds(
  containers: readonly Pick<ContainerSummary, 'imageId'>[],
  images: readonly Pick<ImageSummary, 'id'>[],
): readonly string[] {
  const listed = new Set(images.map(({ id }) => id));
  const wanted = new Set(containers.map(({ imageId }) => imageId));
  return [...wanted].filter((id) => id !== '' && !listed.has(id));
}

/** The digests that an image was pulled with, of any repository: equal digests are equal content. */
export const digestsOf: (image: Pick<ImageSummary, 'digests'>) => readonly Digest[] = oncePerList((digests) => [
  ...new Set(digests.flatMap((text) => parseDigest(text.slice(text.indexOf('@') + 1)) ?? [])),
]);

/** Caches: an image may be in thousands of repositories, and each container that runs it needs its digests. */
function oncePerList<Result extends object>(read: (digests: readonly string[]) => Result) {
  const known = new WeakMap<readonly string[], Result>();
  return ({ digests }: Pick<ImageSummary, 'digests'>): Result => {
    const result = known.get(digests) ?? read(digests);
    known.set(digests, result);
    return result;
  };
}

/** A container by its name, and if it is of Compose by its service and project. */
type Nameable = Pick<ContainerSummary, 'name'> & { readonly labels?: ContainerSummary['labels'] };

/** The containers that a name of a person means: those that it matches, or else those that it may mean otherwise. */
export function forgivingPattern(text: string, containers: readonly Nameable[]): NamePattern {
  const pattern = namePattern(text);
  if (containers.some(({ name }) => pattern(name))) return pattern;
  const meant = new Set(otherwiseMeant(text, containers).map(({ name }) => name));
  return (name) => meant.has(name);
}

/** By the first of: other letter case, Compose service, Compose project, glob. */
function otherwiseMeant(text: string, containers: readonly Nameable[]): readonly Nameable[] {
  const typed = text.trim().replace(/^\//, '').toLowerCase();
  const label = (part: string) => (one: Nameable) => one.labels?.[`${composePrefix}${part}`]?.toLowerCase() === typed;
  const glob = namePattern(
    typed
      .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.'),
  );
  const rules: readonly ((one: Nameable) => boolean)[] = [
    ({ name }) => name.toLowerCase() === typed,
    label('service'),
    label('project'),
    ...(/[*?]/.test(typed) ? [({ name }: Nameable) => glob(name.toLowerCase())] : []),
  ];
  return rules.map((isMeant) => containers.filter(isMeant)).find(({ length }) => length > 0) ?? [];
}

/** The end of a message about a name without a container: a near one, or else the names that there are. */
export function suggestionFor(text: string, containers: readonly Nameable[]): string {
  if (containers.length === 0) return '; there are no containers';
  const list = (found: readonly string[]) =>
    found
      .slice(0, maxNamed)
      .map((name) => quoted(name, 64))
      .join(', ');
  const meant = otherwiseMeant(text, containers).map(({ name }) => name);
  if (meant.length > 0) return `; did you mean ${list(meant)}?`;
  const names = containers.map(({ name }) => name);
  const services = containers.flatMap(({ labels }) => labels?.[`${composePrefix}service`] ?? []);
  const near = nearest(text.trim(), [...new Set([...names, ...services])].slice(0, maxCompared), 0.5);
  if (near !== undefined) return `; did you mean ${quoted(near, 64)}?`;
  const more = names.length > maxNamed ? `, and ${names.length - maxNamed} more` : '';
  return `; the containers are ${list(names)}${more}`;
}

const maxCompared = 2000;

const maxNamed = 8;
