import type { Application } from '../../../application/application.ts';
import { refuseUnmatched } from '../../../domain/check/unmatched.ts';
import type { DecisionSource } from './decision-source.ts';

/** Decides in this process: what a container waits for is found out by a check. */
export function createLocalDecisions({ check, decisions }: Pick<Application, 'check' | 'decisions'>): DecisionSource {
  return {
    async candidates(names, signal) {
      const report = await check({ images: [], containers: names }, signal);
      refuseUnmatched(report, 'decide about');
      return report.containers.map(({ name }) => ({ name, digest: decisions.candidateOf(name)?.digest }));
    },
    take: decisions.take,
    list: decisions.list,
    withdraw: decisions.withdraw,
  };
}
