import type { Application } from '../../../application/application.ts';
import { refuseUnmatched } from '../../../domain/check/filters.ts';
import { engineEntry } from '../../json/entries.ts';
import type { DecisionSource } from './decision-source.ts';

/** Decides in this process, with a check that finds the candidates. */
export function createLocalDecisions({ check, decisions }: Pick<Application, 'check' | 'decisions'>): DecisionSource {
  return {
    async candidates({ names, engines }, signal) {
      const report = await check({ images: [], containers: names, engines }, signal);
      refuseUnmatched(report, 'decide about');
      return report.containers.map(({ name, engine }) => ({
        name,
        ...engineEntry({ ...(engine !== undefined && { engine }) }),
        digest: decisions.candidateOf(name, engine)?.digest,
      }));
    },
    take: decisions.take,
    async list(engines) {
      const all = await decisions.list();
      // The decisions of one engine alone do not name it.
      return all.filter(({ engine }) => engines.length === 0 || engine === undefined || engines.includes(engine));
    },
    withdraw: decisions.withdraw,
  };
}
