import { sameToEngine } from '../../text/json.ts';
import type { ContainerConfig, ImageConfig } from '../container-settings.ts';
import { sharesNetwork } from '../recipe/network/network-mode.ts';
import { entrypointOf, isInherited, linesByName, composeImageLabel } from '../recipe/own-config.ts';
import { isJournalLabel } from '../../transaction/journal.ts';
import { journalPrefix } from '../../image/image-labels.ts';
import {
  allKeys,
  compare,
  compareExactly,
  compareSecret,
  type Difference,
  ownValue,
  type Pair,
  secretlyDifferent,
} from './difference.ts';

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
  return allKeys(old, successor, given).flatMap((name) => {
    const [was, is, gives] = [ownValue(old, name), ownValue(successor, name), ownValue(given, name)];
    const field = `Config.Labels.${name}`;
    if (name.startsWith(journalPrefix))
      return is !== undefined && is === gives && !isJournalLabel(name) ? [secretlyDifferent(field, was, is)] : [];
    const inherited = was === undefined || was === ownValue(oldImage.config.Labels, name);
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
