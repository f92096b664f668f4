import { describeInLab } from '../lab/describe-in-lab.ts';
import { engineContract } from './engine.ts';
import { whyNotHere } from './engine/differences.ts';
import { dockerFixture } from './engine/docker-fixture.ts';

describeInLab('Docker', (lab) => engineContract('Docker', () => dockerFixture(lab, lab.engine), whyNotHere));
