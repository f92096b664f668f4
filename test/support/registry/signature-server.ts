import { type Artifact, indexType, referrersIndex } from './cosign.ts';
import type { createOciRig } from './oci-rig.ts';

/**
 * How a registry lists referrers: it applies the filter and says so, ignores it (as the specification permits), or has
 * no such list, so that a tag stands in for it.
 */
export type ReferrersMode = 'filters' | 'lists all' | 'has no list';

export type SignatureServer = {
  readonly mode?: ReferrersMode;
  /** Manifests and blobs by tag, without a list. */
  readonly tags?: Readonly<Record<string, Artifact>>;
  /** Artifacts that refer to the image. */
  readonly referrers?: readonly Artifact[];
  /** More contents by digest. */
  readonly contents?: Readonly<Record<string, Buffer>>;
  /** The number of referrers on a page. */
  readonly pageSize?: number;
};

/** A registry with the repository `team/app`, and the signatures of one image there. */
export function serveSignatures(rig: ReturnType<typeof createOciRig>, tag: string, given: SignatureServer) {
  const { mode = 'filters', tags = {}, referrers = [], contents = {}, pageSize = Infinity } = given;
  const bodies = new Map<string, Buffer>(Object.entries(contents));
  for (const artifact of [...Object.values(tags), ...referrers])
    for (const { digest, bytes } of [artifact.manifest, ...artifact.blobs])
      if (!bodies.has(digest)) bodies.set(digest, bytes);
  for (const [name, { manifest }] of Object.entries(tags)) bodies.set(name, manifest.bytes);
  if (mode === 'has no list' && referrers.length > 0) bodies.set(tag, referrersIndex(referrers).bytes);
  return rig.serve(({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://registry.test');
    const [, kind, name = ''] = /^\/v2\/team\/app\/(\w+)\/(.*)$/.exec(pathname) ?? [];
    if (kind === 'referrers') return mode === 'has no list' ? { status: 404 } : page(pathname, searchParams);
    const body = bodies.get(name);
    return body === undefined ? { status: 404 } : { body };
  });

  function page(path: string, query: URLSearchParams): object {
    const { manifests } = JSON.parse(referrersIndex(referrers).bytes.toString()) as {
      readonly manifests: readonly { readonly artifactType?: string }[];
    };
    const type = query.get('artifactType');
    const isFiltered = mode === 'filters' && type !== null;
    const listed = isFiltered ? manifests.filter(({ artifactType }) => artifactType === type) : manifests;
    const from = Number(query.get('from'));
    const until = from + pageSize;
    const filter = type === null ? '' : `artifactType=${encodeURIComponent(type)}&`;
    const headers = {
      'content-type': indexType,
      ...(isFiltered && { 'oci-filters-applied': 'artifactType' }),
      ...(until < listed.length && { link: `<${path}?${filter}from=${until}>; rel="next"` }),
    };
    return { headers, body: JSON.stringify({ schemaVersion: 2, manifests: listed.slice(from, until) }) };
  }
}
