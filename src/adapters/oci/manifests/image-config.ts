import { labelledVersion, sourceOf } from '../../../domain/container/image-version.ts';
import type { Platform } from '../../../domain/reference/platform.ts';
import { printable } from '../../../domain/text/printable.ts';
import { type JsonObject, objectOf, parseJsonObject, stringOf } from '../transport/json.ts';

/** Platform, build time and version texts from an image config. */
export type ImageConfig = {
  readonly platform: Platform | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number | undefined;
  readonly version?: string;
  readonly sourceUrl?: string;
};

/** Missing fields are undefined: https://github.com/opencontainers/image-spec/blob/main/config.md */
export function parseImageConfig(body: Buffer): ImageConfig {
  const fields = parseJsonObject(body);
  const text = (name: string): string => printable(stringOf(fields?.[name]) ?? '', maxNameLength);
  const platform = { os: text('os'), architecture: text('architecture'), variant: text('variant') };
  return {
    platform: platform.os === '' || platform.architecture === '' ? undefined : platform,
    createdAtMs: readTime(stringOf(fields?.['created']) ?? ''),
    ...readLabels(objectOf(objectOf(fields?.['config'])?.['Labels']) ?? {}),
  };
}

function readLabels(values: JsonObject): Pick<ImageConfig, 'version' | 'sourceUrl'> {
  const labels = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  );
  const [version, sourceUrl] = [labelledVersion(labels), sourceOf(labels)];
  return { ...(version !== undefined && { version }), ...(sourceUrl !== undefined && { sourceUrl }) };
}

const maxNameLength = 64;

/** Reproducible builds write placeholder dates: 1970, or a second after the start of 1980 with buildpacks. */
const earliestMs = Date.UTC(1980, 0, 2);

function readTime(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return ms >= earliestMs ? ms : undefined;
}
