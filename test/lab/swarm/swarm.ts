import { startEngine } from '../engine/engine.ts';
import type { LabEngine } from '../engine/engine.ts';
import { pushImage } from '../registry/push.ts';
import { startRegistry } from '../registry/registry.ts';
import type { LabRegistry, RegistryOptions } from '../registry/registry.ts';
import { catalogue } from '../registry/catalogue.ts';
import type { Lab } from '../lab.ts';
import { layNetwork, nodeName, swarmAddresses } from './network.ts';
import { swarmClient } from './client.ts';
import type { SwarmClient } from './client.ts';

export type SwarmNode = {
  /** `n1`, also its host name. */
  readonly name: string;
  readonly engine: LabEngine;
  /** Kills the node at once, with its containers and its network. */
  readonly lose: () => Promise<void>;
  /** The node starts again; resolves when its engine answers. */
  readonly back: () => Promise<void>;
};

/** Three engines on their own network that form a swarm. n1 is always a manager. */
export type LabSwarm = SwarmClient & {
  readonly nodes: readonly SwarmNode[];
  /** `n1` is the first; throws if there is no such node. */
  readonly node: (number: number) => SwarmNode;
  /** Without authentication; its repository `app` holds the catalogue. The nodes reach it, and so does this process. */
  readonly registry: LabRegistry;
  /** An own registry that the nodes reach; call `remove()` afterwards. */
  readonly startRegistry: (options?: RegistryOptions) => Promise<LabRegistry>;
  /** Brings lost nodes back, and removes all services, configs and secrets with their containers. */
  readonly reset: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

export type SwarmOptions = {
  /** The other nodes are workers; default 1. */
  readonly managers?: 1 | 3;
  /** Ended tasks that are kept for each slot; 5 is Docker's own. */
  readonly taskHistory?: number;
};

const size = 3;
/** Five seconds are Docker's own; a lost node is noticed after three heartbeats. */
const heartbeatNs = 1_000_000_000;

/** Resolves when all nodes are ready: 2 s on an idle machine. One swarm in a lab at a time. */
export async function startSwarm(lab: Lab, { managers = 1, taskHistory = 5 }: SwarmOptions = {}): Promise<LabSwarm> {
  const network = layNetwork(size);
  const startNode = async (number: number): Promise<SwarmNode> => {
    const pool = ['--default-address-pool', `base=10.${100 + number}.0.0/16,size=24`];
    const engine = await startEngine(lab.dir, {
      name: nodeName(number),
      args: ['--insecure-registry', swarmAddresses, ...pool],
      startedBy: network.startedOn(number),
    });
    return {
      name: nodeName(number),
      engine,
      lose: async () => {
        network.cut(number);
        await engine.powerCut();
      },
      back: async () => {
        network.mend(number);
        await engine.start();
      },
    };
  };
  const nodes = await Promise.all(Array.from({ length: size }, (_, index) => startNode(index + 1)));
  const registry = await startRegistry(lab.dir, { address: network.address });
  for (const [tag, spec] of Object.entries(catalogue)) await pushImage(registry, 'app', tag, spec);

  const client = swarmClient(() => nodes.map(({ engine }) => engine.socket));
  await client.must('POST', '/swarm/init', {
    ...addresses(network.addressOf(1)),
    Spec: {
      Orchestration: { TaskHistoryRetentionLimit: taskHistory },
      Dispatcher: { HeartbeatPeriod: heartbeatNs },
    },
  });
  const { JoinTokens } = await client.must<{ JoinTokens: { Worker: string; Manager: string } }>('GET', '/swarm');
  for (const [index, { engine }] of nodes.entries()) {
    if (index === 0) continue;
    const reply = await engine.call('POST', '/swarm/join', {
      ...addresses(network.addressOf(index + 1)),
      RemoteAddrs: [`${network.addressOf(1)}:2377`],
      JoinToken: managers === 3 ? JoinTokens.Manager : JoinTokens.Worker,
    });
    // On a busy machine the node continues after the engine's own deadline, and is ready later.
    if (reply.status !== 200 && !JSON.stringify(reply.body).includes('Timeout was reached'))
      throw new Error(`join of n${index + 1}: ${JSON.stringify(reply.body)}`);
  }
  await client.allReady(size);

  const bringBack = async (): Promise<void> => {
    await Promise.all(
      nodes.map(async ({ engine, back }) => {
        const answers = await engine.call('GET', '/_ping').catch(() => undefined);
        if (answers?.status !== 200) await back();
      }),
    );
    await client.allReady(size);
  };
  return {
    ...client,
    nodes,
    node: (number) => {
      const node = nodes[number - 1];
      if (node === undefined) throw new Error(`There is no node ${number}`);
      return node;
    },
    registry,
    startRegistry: (options) => startRegistry(lab.dir, { address: network.address, ...options }),
    reset: async () => {
      await bringBack();
      await client.clear();
    },
    remove: async () => {
      try {
        await Promise.all([...nodes.map(({ engine }) => engine.remove()), registry.remove()]);
      } finally {
        network.remove();
      }
    },
  };
}

function addresses(address: string): object {
  return { ListenAddr: '0.0.0.0:2377', AdvertiseAddr: address };
}
