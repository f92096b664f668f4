import { expect } from 'vitest';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { pushImage } from '../../lab/registry/push.ts';
import type { LabRegistry } from '../../lab/registry/registry.ts';
import { registryAuth } from '../../lab/swarm/registry-auth.ts';
import { runningTasks, serviceSpec, type ServiceWish } from '../../lab/swarm/service-spec.ts';
import type { ServiceSpec } from '../../lab/swarm/client.ts';
import type { LabSwarm } from '../../lab/swarm/swarm.ts';
import { runUpkeep, type UpkeepRun } from '../../support/scene/run-upkeep.ts';

/** A service with an image of its own tag. */
export type Deployed = {
  readonly id: string;
  readonly name: string;
  /** Verbatim in the spec. */
  readonly image: string;
  readonly digest: string;
  /** Tasks that are to run. */
  readonly wanted: number;
  /** Moves the tag; resolves to the new digest. */
  readonly publish: (spec: ImageSpec) => Promise<string>;
};

export type DeployWish = ServiceWish & {
  /** Default: the swarm's registry, without a login. The service has the credentials of this one. */
  readonly registry?: LabRegistry;
  /** Changes the spec before the service is created. */
  readonly edit?: (spec: ServiceSpec) => void;
};

/** Resolves when all its tasks run. */
export async function deploy(
  swarm: LabSwarm,
  name: string,
  first: ImageSpec,
  { registry = swarm.registry, edit = () => {}, ...wish }: DeployWish = {},
): Promise<Deployed> {
  const repository = `swarm/${name}`;
  const publish = async (spec: ImageSpec) => (await pushImage(registry, repository, 'stable', spec)).digest;
  const digest = await publish(first);
  const image = `${registry.host}/${repository}:stable@${digest}`;
  const spec = serviceSpec(name, image, wish);
  edit(spec);
  const { credentials } = registry;
  const headers: Record<string, string> =
    credentials === undefined ? {} : { 'x-registry-auth': registryAuth(registry.host, credentials) };
  const id = await swarm.create(spec, headers);
  const wanted = wish.global ? swarm.nodes.length : (wish.replicas ?? 2);
  await swarm.until(id, (_, tasks) => runningTasks(tasks).length === wanted);
  return { id, name, image, digest, wanted, publish };
}

/** One entry in the report of an update. */
export type Entry = {
  readonly name: string;
  readonly kind?: string;
  readonly outcome: string;
  readonly reason: string;
};

export type Report = UpkeepRun & { readonly entries: readonly Entry[]; readonly of: (name: string) => Entry };

/** Runs an update at the first manager, like a person; the window is longer than `crash-later` takes. */
export async function update(swarm: LabSwarm, ...args: readonly string[]): Promise<Report> {
  const run = await runUpkeep(['update', '--swarm', '--json', '--health-window', '4s', ...args], {
    socket: swarm.node(1).engine.socket,
  });
  return reportOf(run);
}

export function reportOf(run: UpkeepRun): Report {
  expect(run.stdout, run.stderr).toMatch(/^\{/);
  const { containers: entries } = JSON.parse(run.stdout) as { containers: readonly Entry[] };
  return {
    ...run,
    entries,
    of: (name) => {
      const entry = entries.find((one) => one.name === name);
      if (entry === undefined) throw new Error(`The report says nothing of ${name}: ${run.stdout}\n${run.stderr}`);
      return entry;
    },
  };
}
