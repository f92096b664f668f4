import { versionLabels } from '../../../domain/image/image-labels.ts';
import { sourceAnnotations } from '../../../domain/image/image-source.ts';
import type { RemoteConfig, RemoteImage } from '../../../domain/outside/registry.ts';
import {
  type JsonObject,
  arrayOf,
  isJsonObject,
  isWholeNumber,
  objectOf,
  stringOf,
} from '../../../domain/text/json.ts';
import { printable } from '../../../domain/text/printable.ts';
import { HttpFailure } from '../../http/failure.ts';
import { textsOf } from './manifest.ts';
import { parseOneReading } from './one-reading.ts';

/** Platform, build time and the labels about version and source, from an image config. */
export type ImageFacts = Pick<RemoteImage, 'platform' | 'createdAtMs' | 'labels'>;

/**
 * Missing fields are undefined: https://github.com/opencontainers/image-spec/blob/main/config.md The platform of an image
 * that names no system or architecture has empty parts: engines run it on any machine.
 */
export function parseImageConfig(body: Buffer): ImageFacts {
  const fields = parseOneReading(body, 'image config');
  const text = (name: string): string => printable(stringOf(fields?.[name]) ?? '', maxNameLength);
  const platform = { os: text('os'), architecture: text('architecture'), variant: text('variant') };
  const isNamed = platform.os !== '' && platform.architecture !== '';
  const labels = textsOf(objectOf(objectOf(fields?.['config'])?.['Labels']) ?? {}, shownLabels);
  return {
    platform: isNamed || hasLayers(fields) ? platform : undefined,
    createdAtMs: readTime(stringOf(fields?.['created']) ?? ''),
    ...(labels !== undefined && { labels }),
  };
}

function hasLayers(config: JsonObject | undefined): boolean {
  return arrayOf(objectOf(config?.['rootfs'])?.['diff_ids']).length > 0;
}

const shownLabels = [...versionLabels, ...sourceAnnotations];

const maxNameLength = 64;

/** Reproducible builds write placeholder dates: 1970, or a second after the start of 1980 with buildpacks. */
const earliestMs = Date.UTC(1980, 0, 2);

/** Undefined for a time without a zone, which an engine cannot read either. */
function readTime(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\dT.+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return ms >= earliestMs ? ms : undefined;
}

/**
 * The whole config, as Docker takes it from a registry. Throws `registry-invalid` for a field of another type, which no
 * engine could read: https://github.com/moby/docker-image-spec/blob/main/specs-go/v1/image.go
 */
export function parseWholeConfig(body: Buffer): RemoteConfig {
  const fields = parseOneReading(body, 'image config');
  if (fields === undefined) throw new HttpFailure('invalid', 'its image config is no JSON object');
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(objectOf(fields['config']) ?? {})) {
    const fits = inherited.get(name);
    if (fits === undefined || value === null) continue;
    if (!fits(value)) throw new HttpFailure('invalid', `its image config has an unreadable field, "${name}"`);
    config[name] = value;
  }
  return {
    os: stringOf(fields['os']) ?? '',
    architecture: stringOf(fields['architecture']) ?? '',
    variant: stringOf(fields['variant']) ?? '',
    createdAtMs: readTime(stringOf(fields['created']) ?? '') ?? 0,
    config,
  };
}

type TypeCheck = (value: unknown) => boolean;

const isText: TypeCheck = (value) => typeof value === 'string';
const isTexts: TypeCheck = (value) => Array.isArray(value) && value.every(isText);
const isMapOf = (fits: TypeCheck): TypeCheck => {
  return (value) => isJsonObject(value) && Object.values(value).every(fits);
};

/** The fields that containers inherit in Docker's containerd image store. */
const inherited: ReadonlyMap<string, TypeCheck> = new Map<string, TypeCheck>([
  ['User', isText],
  ['WorkingDir', isText],
  ['StopSignal', isText],
  ['Env', isTexts],
  ['Cmd', isTexts],
  ['Entrypoint', isTexts],
  ['Labels', isMapOf(isText)],
  ['ExposedPorts', isMapOf(isJsonObject)],
  ['Volumes', isMapOf(isJsonObject)],
  ['Healthcheck', isHealthcheck],
]);

/** Durations in nanoseconds. */
function isHealthcheck(value: unknown): boolean {
  const { Test = [], ...numbers } = { ...objectOf(value) };
  return isJsonObject(value) && (Test === null || isTexts(Test)) && Object.values(numbers).every(isWholeNumber);
}
