import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tar } from './tar.ts';
import type { TarEntry } from './tar.ts';

/** Parts of an image. Fields of `config` keep the names of the image config. */
export type ImageSpec = {
  /** https://github.com/opencontainers/image-spec/blob/main/config.md#properties, plus Docker's `Healthcheck`. */
  readonly config?: ImageConfig;
  /** Additional files, by path without a leading slash. */
  readonly files?: Readonly<Record<string, string>>;
  /** Symbolic links, by path without a leading slash. */
  readonly links?: Readonly<Record<string, string>>;
  /** Default `docker`. */
  readonly format?: ImageFormat;
  readonly platform?: ImagePlatform;
  /** RFC 3339; default 2024-01-01. */
  readonly created?: string;
  /** Annotations of the manifest, OCI only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Without busybox. */
  readonly empty?: boolean;
  /** Files and folders of this machine, at the same paths, with the libraries that they load. */
  readonly copied?: readonly string[];
  /** With the GNU tools and the shell of this machine, for copies of data. */
  readonly hasTools?: boolean | 'whose sync does nothing' | 'whose sync takes three seconds';
};

export type ImageConfig = {
  readonly Cmd?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Env?: readonly string[];
  readonly Labels?: Readonly<Record<string, string>>;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  readonly Healthcheck?: {
    readonly Test: readonly string[];
    /** Nanoseconds, as all durations here. */
    readonly Interval?: number;
    readonly Timeout?: number;
    readonly StartPeriod?: number;
    readonly Retries?: number;
  };
};

export type ImageFormat = 'docker' | 'oci';

export type ImagePlatform = { readonly os: string; readonly architecture: string; readonly variant?: string };

/** An object that a registry stores and others refer to. */
export type Content = { readonly mediaType: string; readonly digest: string; readonly bytes: Buffer };

export type BuiltImage = {
  readonly manifest: Content;
  readonly config: Content;
  readonly layers: readonly Content[];
  readonly platform: ImagePlatform;
};

const mediaTypes = {
  docker: {
    manifest: 'application/vnd.docker.distribution.manifest.v2+json',
    index: 'application/vnd.docker.distribution.manifest.list.v2+json',
    config: 'application/vnd.docker.container.image.v1+json',
    layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
  },
  oci: {
    manifest: 'application/vnd.oci.image.manifest.v1+json',
    index: 'application/vnd.oci.image.index.v1+json',
    config: 'application/vnd.oci.image.config.v1+json',
    layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  },
} as const;

const defaultCreated = '2024-01-01T00:00:00Z';

/** Builds an image in memory: the same spec gives the same digests. */
export function buildImage(spec: ImageSpec): BuiltImage {
  const types = mediaTypes[spec.format ?? 'docker'];
  const platform = spec.platform ?? { os: 'linux', architecture: 'amd64' };
  const created = spec.created ?? defaultCreated;
  const files = Object.entries({ 'etc/spec.json': JSON.stringify(spec), ...spec.files });
  const layers = [
    ...(spec.empty ? [] : [busyboxLayer()]),
    ...(spec.hasTools ? [toolsLayer()] : []),
    ...(spec.copied ? [copiedLayer(spec.copied)] : []),
    ...(spec.hasTools === 'whose sync does nothing'
      ? [layer([{ path: 'bin/sync', content: readFileSync('/usr/bin/true') }])]
      : []),
    ...(spec.hasTools === 'whose sync takes three seconds'
      ? [layer([{ path: 'bin/sync', content: '#!/bin/sh\nsleep 3\n' }])]
      : []),
    layer([
      ...files.map(([path, content]) => ({ path, content, mode: 0o644 })),
      ...Object.entries(spec.links ?? {}).map(([path, link]) => ({ path, link })),
    ]),
  ];
  const config = json(types.config, {
    created,
    architecture: platform.architecture,
    os: platform.os,
    ...(platform.variant === undefined ? {} : { variant: platform.variant }),
    config: { Env: ['PATH=/bin'], ...spec.config },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created, created_by: 'test/lab' })),
  });
  const layerContents = layers.map(({ digest, bytes }) => ({ mediaType: types.layer, digest, bytes }));
  const manifest = json(types.manifest, {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: descriptor(config),
    layers: layerContents.map(descriptor),
    ...(spec.annotations === undefined ? {} : { annotations: spec.annotations }),
  });
  return { manifest, config, layers: layerContents, platform };
}

/**
 * An index of images. With `attestations`, each image has a manifest about its build, like
 * BuildKit's: https://docs.docker.com/build/metadata/attestations/attestation-storage/
 */
export function buildIndex(
  images: readonly BuiltImage[],
  { format = 'docker', attestations = [] }: { format?: ImageFormat; attestations?: readonly BuiltImage[] } = {},
): Content {
  const mediaType = mediaTypes[format].index;
  return json(mediaType, {
    schemaVersion: 2,
    mediaType,
    manifests: [
      ...images.map(({ manifest, platform }) => ({ ...descriptor(manifest), platform })),
      ...attestations.map(({ manifest }, index) => ({
        ...descriptor(manifest),
        platform: { os: 'unknown', architecture: 'unknown' },
        annotations: {
          'vnd.docker.reference.type': 'attestation-manifest',
          'vnd.docker.reference.digest': images[index]?.manifest.digest,
        },
      })),
    ],
  });
}

/** An index whose only entry is another index. */
export function wrapIndex(index: Content): Content {
  return json(index.mediaType, { schemaVersion: 2, mediaType: index.mediaType, manifests: [descriptor(index)] });
}

function json(mediaType: string, value: object): Content {
  const bytes = Buffer.from(JSON.stringify(value));
  return { mediaType, digest: digestOf(bytes), bytes };
}

function descriptor({ mediaType, digest, bytes }: Content): object {
  return { mediaType, digest, size: bytes.length };
}

type Layer = { readonly digest: string; readonly diffId: string; readonly bytes: Buffer };

function layer(entries: readonly TarEntry[]): Layer {
  const archive = tar(entries);
  const bytes = gzipSync(archive, { level: 1 });
  return { digest: digestOf(bytes), diffId: digestOf(archive), bytes };
}

const applets =
  'cat chmod cp date echo env false grep head hostname httpd id kill ls mkdir mv nc printf ps rm sh sleep tail test touch true wget';

let busybox: Layer | undefined;

function busyboxLayer(): Layer {
  busybox ??= layer([
    ...['bin', 'etc', 'data', 'www'].map((path) => ({ path })),
    { path: 'tmp', mode: 0o1777 },
    { path: 'bin/busybox', content: readFileSync('/usr/bin/busybox') },
    ...applets.split(' ').map((applet) => ({ path: `bin/${applet}`, link: 'busybox' })),
    { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n', mode: 0o644 },
    { path: 'etc/group', content: 'root:x:0:\napp:x:1000:\n', mode: 0o644 },
  ]);
  return busybox;
}

let tools: Layer | undefined;

/** https://www.gnu.org/software/coreutils/ and findutils, with dash and the libraries that they load. */
function toolsLayer(): Layer {
  const programs = ['cp', 'du', 'find', 'head', 'mkdir', 'rm', 'sleep', 'stat', 'sync'].map(
    (name) => [`bin/${name}`, `/usr/bin/${name}`] as const,
  );
  tools ??= layer([
    ...['bin', 'lib', 'lib64', 'root', 'tmp'].map((path) => ({ path })),
    ...withLibraries(new Map([...programs, ['bin/sh', '/bin/dash']])),
  ]);
  return tools;
}

const copies = new Map<string, Layer>();

function copiedLayer(paths: readonly string[]): Layer {
  const key = paths.join();
  const known = copies.get(key);
  if (known !== undefined) return known;
  const below = (path: string): readonly string[] =>
    statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => below(join(path, name))) : [path];
  const made = layer(withLibraries(new Map(paths.flatMap(below).map((path) => [path.slice(1), path]))));
  copies.set(key, made);
  return made;
}

/** The files, by path without a leading slash, and what their programs load. */
function withLibraries(files: ReadonlyMap<string, string>): readonly TarEntry[] {
  const contents = new Map([...files].map(([path, source]) => [path, readFileSync(source)]));
  const programs = [...files].flatMap(([path, source]) =>
    contents.get(path)?.subarray(1, 4).toString('latin1') === 'ELF' ? [source] : [],
  );
  const loaded = execFileSync('ldd', programs, { encoding: 'utf8' });
  for (const [path] of loaded.matchAll(/\/\S+\.so[^\s:]*(?= \()/g)) contents.set(path.slice(1), readFileSync(path));
  return [...contents].map(([path, content]) => ({ path, content }));
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
