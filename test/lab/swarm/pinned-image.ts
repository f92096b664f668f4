import { httpRequest } from '../http.ts';

const manifestTypes = [
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
].join(', ');

/** `registry/app:tag@sha256:…`, as Docker's client pins it: the current digest of the tag. */
export async function pinnedImage(
  registry: { readonly host: string; readonly url: string },
  tag: string,
  repository = 'app',
): Promise<string> {
  const reply = await httpRequest({
    method: 'HEAD',
    url: `${registry.url}/v2/${repository}/manifests/${tag}`,
    headers: { accept: manifestTypes },
  });
  const digest = reply.headers['docker-content-digest'];
  if (typeof digest !== 'string') throw new Error(`${repository}:${tag}: the registry says ${reply.status}`);
  return `${registry.host}/${repository}:${tag}@${digest}`;
}

/** The digest of a reference that has one. */
export function digestIn(reference: string): string {
  return reference.slice(reference.indexOf('@') + 1);
}
