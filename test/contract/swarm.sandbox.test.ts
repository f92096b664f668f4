import { swarmContract } from './swarm.ts';
import { sandboxSwarm } from './swarm/sandbox-fixture.ts';

swarmContract('The sandbox', () => Promise.resolve(sandboxSwarm()));
