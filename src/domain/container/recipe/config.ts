import { addTo } from '../../text/plain-data.ts';
import { supportsApi, hasHostNetwork, sharesNetwork } from './networks.ts';
import { sameToEngine } from '../../text/json.ts';
import {
  applyRules,
  type FieldRule,
  type KnownRequest,
  type ContainerConfig,
  type ImageConfig,
  type Image,
  type Container,
} from '../container.ts';
import { journalPrefix, type Labels } from '../../image/labels.ts';
import { pinnedPathsLabel, pinnedPaths } from './volumes.ts';
import { composePrefix } from '../lookup.ts';
import { isJournalLabel } from '../../transaction/journal.ts';
import {
  allKeys,
  compare,
  compareExactly,
  compareSecret,
  ownValue,
  secretlyDifferent,
  type Difference,
  type Pair,
} from './difference.ts';

/** The container's `Config` without values inherited from its image. */
export function ownConfig(request: KnownRequest): Readonly<Record<string, unknown>> {
  const { Config } = request.container.settings;
  return applyRules(Object.entries({ Labels: {}, ...Config }), rules, request);
}

/**
 * Fields that the engine takes from the image when they are empty:
 * https://github.com/moby/moby/blob/v28.0.0/daemon/commit.go
 */
const rules: ReadonlyMap<string, FieldRule> = new Map<string, FieldRule>([
  ['Image', ({ image }) => image],
  ['Hostname', ownHostname],
  ['Domainname', ownDomainname],
  ['MacAddress', ownMacAddress],
  ['User', unlessInherited('User')],
  ['WorkingDir', unlessInherited('WorkingDir')],
  ['StopSignal', unlessInherited('StopSignal')],
  ['Env', ownEnvironment],
  ['Cmd', (request) => ownCommand(request).Cmd],
  ['Entrypoint', (request) => ownCommand(request).Entrypoint],
  ['Labels', ownLabels],
  ['ExposedPorts', ownExposedPorts],
  ['Volumes', ownVolumes],
  ['Healthcheck', ownHealthcheck],
  ['OnBuild', omitted],
  ['ArgsEscaped', omitted],
]);

/** A field for builds or for Windows; a container does not use it. */
function omitted(): undefined {
  return undefined;
}

function unlessInherited(field: 'User' | 'WorkingDir' | 'StopSignal'): FieldRule {
  return ({ container, oldImage }) => {
    const value = container.settings.Config[field];
    return value === '' || sameToEngine(value, oldImage.config[field]) ? undefined : value;
  };
}

/**
 * Undefined for a default: the short id, the engine's name on the host network, or the host name of the container whose
 * network this one uses.
 */
function ownHostname({ container, engineName }: KnownRequest): string | undefined {
  const { Config, HostConfig } = container.settings;
  const hostname = Config.Hostname ?? '';
  if (hostname === '' || hostname === container.id.slice(0, 12)) return undefined;
  if (HostConfig.UTSMode === 'host' || sharesNetwork(container)) return undefined;
  return hasHostNetwork(container) && hostname === engineName ? undefined : hostname;
}

/** At each start the engine gives a container in another's network the other's domain name. */
function ownDomainname({ container }: KnownRequest): string | undefined {
  return sharesNetwork(container) ? undefined : container.settings.Config.Domainname;
}

/** From API 1.44 it belongs to the endpoint; see `configuredMacAddress()`. */
function ownMacAddress({ container, apiVersion }: KnownRequest): string | undefined {
  return supportsApi(apiVersion, '1.44') || sharesNetwork(container)
    ? undefined
    : container.settings.Config.MacAddress || undefined;
}

/**
 * The variables that do not come from the image. A variable that the user set to the image's own value looks inherited
 * and changes with the image. A line without `=` unsets a variable.
 */
function ownEnvironment({ container, oldImage }: KnownRequest): readonly string[] | undefined {
  const lines = container.settings.Config.Env ?? [];
  const present = linesByName(lines);
  const given = linesByName(oldImage.config.Env ?? []);
  const own = lines.filter((line) => !isInherited(present.get(nameOf(line)), given.get(nameOf(line))));
  return own.length === 0 ? undefined : own;
}

/** In the order of the lines. The last of several lines for one name is effective. */
function linesByName(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  for (const line of lines) addTo(byName, nameOf(line), line);
  return byName;
}

/**
 * All lines of a name count together: `A=2` then `A=1` differs from the image's `A=1`. An engine that adds lines puts
 * the image's first.
 */
function isInherited(present: readonly string[] = [], given: readonly string[] = []): boolean {
  const inForce = present.join('\0');
  return given.length > 0 && (inForce === given.join('\0') || inForce === given[0]);
}

function nameOf(line: string): string {
  return line.split('=', 1)[0] ?? '';
}

type Words = readonly string[] | null;

/**
 * `Entrypoint` and `Cmd` together, because the engine inherits `Cmd` only when both are empty, and `Entrypoint` only
 * when it is null. An empty list or `[""]` is therefore a setting: no entrypoint, regardless of the image. The engine
 * shows `[""]` as null.
 */
function ownCommand({ container, oldImage }: KnownRequest): {
  readonly Entrypoint?: Words;
  readonly Cmd?: Words;
} {
  const { Entrypoint = null, Cmd = null } = container.settings.Config;
  const inheritsEntrypoint = sameToEngine(Entrypoint, entrypointOf(oldImage));
  if (inheritsEntrypoint && sameToEngine(Cmd, oldImage.config.Cmd)) return {};
  if (inheritsEntrypoint && (Cmd ?? []).length > 0) return { Cmd };
  return { Entrypoint: Entrypoint ?? [''], Cmd };
}

/** The entrypoint as containers of the image show it. `ENTRYPOINT [""]` in a Dockerfile means none. */
function entrypointOf({ config }: Image): Words {
  const { Entrypoint = null } = config;
  return Entrypoint?.length === 1 && Entrypoint[0] === '' ? null : Entrypoint;
}

/**
 * Compose re-creates a container whose label names another image than the one that the engine has under the reference in
 * the compose file:
 * https://github.com/docker/compose/blob/v2.40.0/pkg/api/labels.go
 */
export const composeImageLabel = 'com.docker.compose.image';

/** The user's labels, compose's labels and the new journal, without an earlier one. */
function ownLabels(request: KnownRequest): Readonly<Record<string, string>> {
  const { container, oldImage, journal, newImageId, composeImageId = newImageId } = request;
  const kept = givenLabels(container, oldImage)
    .filter(([name]) => !name.startsWith(journalPrefix))
    .map(([name, value]) => [name, name === composeImageLabel ? composeImageId : value] as const);
  const paths = pinnedPaths(container);
  const pinned = paths.length === 0 ? [] : [[pinnedPathsLabel, JSON.stringify(paths)] as const];
  return Object.fromEntries([...kept, ...pinned, ...Object.entries(journal)]);
}

/** The labels that a successor will have, without its journal: the user's and its image's. */
export function labelsToBe(container: Container, oldImage: Image | undefined, image: Image): Labels {
  return { ...image.config.Labels, ...Object.fromEntries(givenLabels(container, oldImage)) };
}

function givenLabels({ settings }: Container, oldImage: Image | undefined): readonly (readonly [string, string])[] {
  const labels = settings.Config.Labels ?? {};
  const isFromImage = isInheritedLabel(labels, oldImage?.config.Labels);
  return Object.entries(labels).filter(([name]) => !isFromImage(name));
}

/**
 * Compose writes some of a container's labels to an image that it builds too, but never all. A container with one of its
 * own is of compose, and then all of them are.
 */
function isInheritedLabel(labels: Labels, given: Labels | null | undefined): (name: string) => boolean {
  const isGiven = (name: string) => ownValue(labels, name) === ownValue(given, name);
  const isOfCompose = Object.keys(labels).some((name) => name.startsWith(composePrefix) && !isGiven(name));
  return (name) => isGiven(name) && !(isOfCompose && name.startsWith(composePrefix));
}

/**
 * A published port stays exposed even if the new image does not expose it: the engine silently ignores a published port
 * that is not exposed.
 */
function ownExposedPorts({ container, oldImage }: KnownRequest): unknown {
  const { Config, HostConfig } = container.settings;
  if (sharesNetwork(container)) return undefined;
  const published = HostConfig.PortBindings ?? {};
  const inherited = oldImage.config.ExposedPorts ?? {};
  return someOf(Config.ExposedPorts, (port) => !Object.hasOwn(inherited, port) || Object.hasOwn(published, port));
}

/** The data of anonymous volumes is kept by `mountsFor()`. */
function ownVolumes({ container, oldImage }: KnownRequest): unknown {
  const inherited = oldImage.config.Volumes ?? {};
  return someOf(container.settings.Config.Volumes, (path) => !Object.hasOwn(inherited, path));
}

function someOf(record: object | null | undefined, isKept: (key: string) => boolean): object | undefined {
  const kept = Object.entries(record ?? {}).filter(([key]) => isKept(key));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Compares each field, because the engine inherits every field that is 0 or empty. */
function ownHealthcheck({ container, oldImage, apiVersion }: KnownRequest): unknown {
  const inherited = oldImage.config.Healthcheck ?? {};
  const own = Object.entries(container.settings.Config.Healthcheck ?? {}).filter(
    ([field, value]) =>
      !sameToEngine(value, inherited[field]) && (field !== 'StartInterval' || supportsApi(apiVersion, '1.44')),
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** Values inherited from the old image must now come from the new one; all others must be unchanged. */
export function configDifferences(pair: Pair): readonly Difference[] {
  const [before, after] = configsOf(pair);
  return allKeys(before, after).flatMap((field) => {
    const comparison = comparisons.get(field);
    return comparison ? comparison(pair) : compare(`Config.${field}`, before[field], after[field]);
  });
}

type Comparison = (pair: Pair) => readonly Difference[];

const comparisons: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['Image', imageDifference],
  ['Hostname', hostnameDifference],
  ['Domainname', domainnameDifference],
  ['User', inheritable('User')],
  ['WorkingDir', inheritable('WorkingDir')],
  ['StopSignal', inheritable('StopSignal')],
  [
    'StopTimeout',
    ({ before, after }) => compareExactly('Config.StopTimeout', ...fieldOf('StopTimeout', before, after)),
  ],
  ['Env', environmentDifferences],
  ['Cmd', commandDifferences],
  // Compared together with Cmd, which depends on it.
  ['Entrypoint', () => []],
  ['Labels', labelDifferences],
  ['ExposedPorts', portDifferences],
  ['Volumes', volumeDifferences],
  ['Healthcheck', healthcheckDifferences],
  ['OnBuild', () => []],
  ['ArgsEscaped', () => []],
]);

/** Ignores a digest or an id: it differs for another image. */
function imageDifference(pair: Pair): readonly Difference[] {
  const [before, after] = configsOf(pair);
  const { reference = before.Image } = pair;
  return /@|^(?:sha256:)?[0-9a-f]{12,64}$/.test(before.Image) ? [] : compare('Config.Image', reference, after.Image);
}

/**
 * The default host name is the container's short id. A container in another's network has the other's host name, one in
 * the host's UTS namespace has the host's, which may have changed.
 */
function hostnameDifference({ before, after }: Pair): readonly Difference[] {
  if (sharesNetwork(before) || before.settings.HostConfig.UTSMode === 'host') return [];
  const [old, successor] = [before, after].map(({ id, settings }) => {
    const { Hostname } = settings.Config;
    return Hostname === id.slice(0, 12) ? '' : Hostname;
  });
  return compare('Config.Hostname', old, successor);
}

function domainnameDifference({ before, after }: Pair): readonly Difference[] {
  return sharesNetwork(before) ? [] : compare('Config.Domainname', ...fieldOf('Domainname', before, after));
}

function inheritable(field: 'User' | 'WorkingDir' | 'StopSignal'): Comparison {
  return ({ before, after, oldImage, newImage }) => {
    const [old, successor] = fieldOf(field, before, after);
    const inherited = sameToEngine(old, oldImage.config[field]);
    return compare(`Config.${field}`, inherited ? newImage.config[field] : old, successor);
  };
}

/** Only the names, because values are often passwords. */
function environmentDifferences({ before, after, oldImage, newImage }: Pair): readonly Difference[] {
  const [old, successor, given, givenNow] = [
    before.settings.Config,
    after.settings.Config,
    oldImage.config,
    newImage.config,
  ].map(({ Env }) => linesByName(Env ?? []));
  const names = [old, successor, givenNow].flatMap((lines) => [...(lines?.keys() ?? [])]);
  return [...new Set(names)].flatMap((name) => {
    const inherits = old?.get(name) === undefined || isInherited(old.get(name), given?.get(name));
    const inForce = successor?.get(name)?.at(-1);
    const expected = inherits ? [givenNow?.get(name)?.at(-1), givenNow?.get(name)?.[0]] : [old?.get(name)?.at(-1)];
    return expected.includes(inForce) ? [] : [secretlyDifferent(`Config.Env.${name}`, old?.get(name), inForce)];
  });
}

/**
 * The engine inherits the command only together with the entrypoint. With a command of its own, a container inherits
 * the entrypoint alone.
 */
function commandDifferences({ before, after, oldImage, newImage }: Pair): readonly Difference[] {
  const [old, successor] = [before.settings.Config, after.settings.Config];
  const inheritsEntrypoint = sameToEngine(old.Entrypoint, entrypointOf(oldImage));
  const inheritsBoth = inheritsEntrypoint && sameToEngine(old.Cmd, oldImage.config.Cmd);
  const isCommandAlone = inheritsEntrypoint && (old.Cmd ?? []).length > 0;
  const Entrypoint = inheritsBoth || isCommandAlone ? entrypointOf(newImage) : old.Entrypoint;
  const Cmd = inheritsBoth ? newImage.config.Cmd : old.Cmd;
  return [
    ...compareSecret('Config.Entrypoint', Entrypoint, successor.Entrypoint),
    ...compareSecret('Config.Cmd', Cmd, successor.Cmd),
  ];
}

/**
 * Journal labels are not compared. Any other label with their prefix from the new image is a difference: it could be
 * read as ours.
 */
function labelDifferences({
  before,
  after,
  oldImage,
  newImage,
  composeImageId = newImage.id,
}: Pair): readonly Difference[] {
  const [old, successor] = fieldOf('Labels', before, after);
  const given = newImage.config.Labels;
  const isInheritedFromOld = isInheritedLabel(old ?? {}, oldImage.config.Labels);
  return allKeys(old, successor, given).flatMap((name) => {
    const [was, is, gives] = [ownValue(old, name), ownValue(successor, name), ownValue(given, name)];
    const field = `Config.Labels.${name}`;
    if (name.startsWith(journalPrefix))
      return is !== undefined && is === gives && !isJournalLabel(name) ? [secretlyDifferent(field, was, is)] : [];
    const inherited = was === undefined || isInheritedFromOld(name);
    const own = name === composeImageLabel ? composeImageId : was;
    return is === (inherited ? gives : own) ? [] : [secretlyDifferent(field, was, is)];
  });
}

function portDifferences(pair: Pair): readonly Difference[] {
  const published = pair.before.settings.HostConfig.PortBindings;
  return declaredDifferences(pair, 'ExposedPorts', (port) => ownValue(published, port) !== undefined);
}

function volumeDifferences(pair: Pair): readonly Difference[] {
  return declaredDifferences(pair, 'Volumes', () => false);
}

function declaredDifferences(
  { before, after, oldImage, newImage }: Pair,
  field: 'ExposedPorts' | 'Volumes',
  isKept: (key: string) => boolean,
): readonly Difference[] {
  const [old, successor] = fieldOf(field, before, after);
  const given = newImage.config[field];
  return allKeys(old, successor, given).flatMap((key) => {
    const own =
      ownValue(old, key) !== undefined && (ownValue(oldImage.config[field], key) === undefined || isKept(key));
    const expected = own || ownValue(given, key) !== undefined;
    return compare(`Config.${field}.${key}`, expected, ownValue(successor, key) !== undefined);
  });
}

function healthcheckDifferences({ before, after, oldImage, newImage }: Pair): readonly Difference[] {
  const [old, successor] = fieldOf('Healthcheck', before, after);
  const [inherited, given] = [oldImage.config.Healthcheck, newImage.config.Healthcheck];
  return allKeys(old, successor, given).flatMap((field) => {
    const was = ownValue(old, field);
    const expected = sameToEngine(was, ownValue(inherited, field)) ? ownValue(given, field) : was;
    const comparison = field === 'Test' ? compareSecret : compare;
    return comparison(`Config.Healthcheck.${field}`, expected, ownValue(successor, field));
  });
}

function configsOf({ before, after }: Pair): readonly [ContainerConfig, ContainerConfig] {
  return [before.settings.Config, after.settings.Config];
}

function fieldOf<Field extends keyof ImageConfig>(
  field: Field,
  before: Pair['before'],
  after: Pair['after'],
): readonly [ImageConfig[Field], ImageConfig[Field]] {
  return [before.settings.Config[field], after.settings.Config[field]];
}
