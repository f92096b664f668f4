import { quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { engineInfo } from '../reading/info.ts';
import { readList } from '../reading/lists.ts';
import { read } from '../reading/reads.ts';
import { fields, pathSegment, text } from '../transport/json-fields.ts';
import { type JsonObject, arrayOf } from '../../../domain/text/json-value.ts';
import { inDockerForm, defaultNetwork } from './docker-form.ts';
import { readCommandLine } from './command-line.ts';
import { recordedAddresses } from './create-body.ts';

/** An inspection in Docker's form, and the reason why it cannot make a successor. */
export type CompletedContainer = { readonly inspected: JsonObject; readonly obstacle: string | undefined };

/**
 * Completes Podman's answer to Docker's `GET /containers/{id}/json` from Podman's own API. The answer lacks many
 * settings. Undefined if the container no longer exists. https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function completeContainer(
  client: Client,
  inspected: JsonObject,
  signal?: AbortSignal,
): Promise<CompletedContainer | undefined> {
  const path = `/libpod/containers/${pathSegment(text(inspected['Id']))}/json`;
  const [own, networks] = await Promise.all([
    read(client, { doing: 'inspect a container of Podman', path, signal }),
    readList(client, { thing: 'network', path: '/networks', signal }),
  ]);
  if (own === undefined) return undefined;
  const hostName = sharesHostName(inspected) ? (await engineInfo(client, signal)).name : '';
  const { Labels } = fields(inspected['Config']);
  const { CreateCommand, Image } = fields(fields(own)['Config']);
  const commandLine = readCommandLine(CreateCommand, Image, inspected['Image']);
  const addresses = recordedAddresses(Labels) ?? commandLine?.addresses;
  return {
    inspected: inDockerForm(inspected, { addresses: addresses ?? new Map(), hostName }),
    obstacle:
      managedByOthers(fields(own), Labels) ??
      (commandLine?.isFromId ? fromId : undefined) ??
      hiddenFlags(commandLine?.hidden ?? []) ??
      (addresses === undefined ? doubtfulAddress(inspected, networks.map(fields)) : undefined),
  };
}

/** In the host's UTS namespace, neither `Hostname` nor `HOSTNAME` in the environment is the real host name. */
function sharesHostName(inspected: JsonObject): boolean {
  return text(fields(inspected['HostConfig'])['UTSMode']) === 'host';
}

/** The reason to leave the container to another program, from Podman's own inspection and the labels. */
function managedByOthers(own: JsonObject, labels: unknown): string | undefined {
  const unit = text(fields(labels)['PODMAN_SYSTEMD_UNIT']);
  if (unit !== '')
    return `is run by the systemd unit ${quoted(unit, 100)}, which would start the old container again: update it with podman auto-update`;
  if (text(own['Pod']) !== '' || own['IsInfra'] === true)
    return 'is part of a pod, in which the Docker API cannot create a container: update it with podman auto-update';
  if (arrayOf(fields(own['Config'])['Secrets']).length > 0)
    return 'has secrets of Podman, which the Docker API cannot give to a successor: re-create it with podman';
  return undefined;
}

const fromId =
  'was created from an image id, which pins it, and Podman shows any tag of that image: re-create it from a tag to have it updated';

function hiddenFlags(flags: readonly string[]): string | undefined {
  if (flags.length === 0) return undefined;
  return `was created with ${flags.join(', ')}, which a new container would not have, because Podman's API does not show it: re-create it with podman`;
}

/**
 * Podman does not show whether an API client requested a container's address. In a network whose subnet Podman chose,
 * no client did.
 */
function doubtfulAddress(inspected: JsonObject, networks: readonly JsonObject[]): string | undefined {
  const { NetworkMode } = fields(inspected['HostConfig']);
  if (NetworkMode !== 'bridge') return undefined;
  const name = Object.keys(fields(fields(inspected['NetworkSettings'])['Networks'])).find((candidate) => {
    const network = networks.find(({ Name }) => Name === candidate);
    return candidate !== defaultNetwork && network !== undefined && hasChosenSubnet(network);
  });
  if (name === undefined) return undefined;
  return `may have a requested address in the network ${quoted(name, 100)}. Podman reports that only for containers made by podman run, so the address might be lost: re-create it with podman, or in a network without a subnet of your own`;
}

function hasChosenSubnet(network: JsonObject): boolean {
  return arrayOf(fields(network['IPAM'])['Config']).some(
    (config) => !chosenByPodman.test(text(fields(config)['Subnet'])),
  );
}

/** Subnets of Podman's first pool: https://github.com/containers/common/blob/v0.50.1/docs/containers.conf.5.md */
const chosenByPodman = /^10\.89\.\d{1,3}\.0\/24$/;
