import { swarmContract } from '../contract/swarm.ts';
import { dockerSwarm } from '../contract/swarm/docker-fixture.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { isPodman } from '../lab/engine/podman.ts';

if (!isPodman) describeInLab('Docker', (lab) => swarmContract('Docker', () => dockerSwarm(lab)));
