import type { Client } from '../transport/client.ts';
import { engineInfo } from '../reading/info.ts';
import { readList } from '../reading/lists.ts';
import { read } from '../reading/reads.ts';
import { fields, pathSegment, text, type Fields } from '../transport/wire.ts';
import { asDocker } from './as-docker.ts';
import { readCommandLine } from './command-line.ts';
import { notedAddresses } from './create-body.ts';
import { doubtfulAddress, hiddenFlags, keptByOthers } from './obstacles.ts';

/** An inspection in Docker's form, and the reason why no successor can be made from it. */
export type WholeContainer = { readonly inspected: Fields; readonly obstacle: string | undefined };

/**
 * Completes Podman's answer to Docker's `GET /containers/{id}/json` from Podman's own API, because it
 * lacks many settings; undefined when the container is gone.
 * https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function wholeContainer(
  client: Client,
  inspected: Fields,
  signal?: AbortSignal,
): Promise<WholeContainer | undefined> {
  const path = `/libpod/containers/${pathSegment(text(inspected['Id']))}/json`;
  const [own, networks] = await Promise.all([
    read(client, { doing: 'inspect a container of Podman', path, signal }),
    readList(client, { thing: 'network', path: '/networks', signal }),
  ]);
  if (own === undefined) return undefined;
  const hostName = sharesHostName(inspected) ? (await engineInfo(client, signal)).name : '';
  const { Labels } = fields(inspected['Config']);
  const { CreateCommand, Image } = fields(fields(own)['Config']);
  const commandLine = readCommandLine(CreateCommand, Image);
  const addresses = notedAddresses(Labels) ?? commandLine?.addresses;
  return {
    inspected: asDocker(inspected, { addresses: addresses ?? {}, hostName }),
    obstacle:
      keptByOthers(fields(own), Labels) ??
      hiddenFlags(commandLine?.hidden ?? []) ??
      (addresses === undefined ? doubtfulAddress(inspected, networks.map(fields)) : undefined),
  };
}

/** With the host's UTS namespace, neither its `Hostname` nor `HOSTNAME` in its environment is its real host name. */
function sharesHostName(inspected: Fields): boolean {
  return text(fields(inspected['HostConfig'])['UTSMode']) === 'host';
}
