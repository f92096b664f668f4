import type { UpdatePlan } from '../../../domain/plan/update-plan.ts';
import type { Request } from '../../../domain/run/request.ts';
import type { Application, EngineApplication, Planned } from '../../application.ts';
import type { PartOfRun } from '../../check/part-of-run.ts';
import { chooseEngines } from '../member/choose-engines.ts';
import { inAllWaves } from './in-waves.ts';
import { failureOfAll, hasRun, reportOf } from './merge.ts';
import { isNamed, type RunParts } from './runs.ts';
import { partOfRun } from './run-registry.ts';

/** Plans and rehearsals of all engines, one after the other in configured order. */
export function createPlans(parts: RunParts): Pick<Application, 'plan' | 'rehearse'> {
  const { members, clock, newId, registry } = parts;

  async function planned<Result extends Planned>(
    request: Request,
    work: (application: EngineApplication, part: PartOfRun) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Planned & { readonly results: readonly Result[] }> {
    const meant = chooseEngines(members, request.engines);
    const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
    const part = partOfRun(newId(), registry);
    const order = { work, part, applyCooldown: true, isNamed: isNamed(request) };
    const answers = await inAllWaves(meant, parts, order, signal);
    if (!hasRun(answers)) throw failureOfAll(answers, 'plan an update');
    const results = answers.flatMap(({ result }) => result ?? []);
    const reports = answers.map(({ result, ...answer }) => ({ ...answer, ...(result && { result: result.report }) }));
    const times = { startedAtMs, durationMs: clock.monotonicMs() - beganMs };
    return { report: reportOf(reports, request, times), plan: joined(results.map(({ plan }) => plan)), results };
  }

  return {
    async plan(request, signal) {
      const { report, plan } = await planned(request, (one, part) => one.plan({ ...request, part }, signal), signal);
      return { report, plan };
    },
    async rehearse(request, signal) {
      const work = (one: EngineApplication, part: PartOfRun) => one.rehearse({ ...request, part }, signal);
      const { report, plan, results } = await planned(request, work, signal);
      return { report, plan, rehearsals: results.flatMap(({ rehearsals }) => rehearsals) };
    },
  };
}

function joined(plans: readonly UpdatePlan[]): UpdatePlan {
  const services = plans.flatMap((plan) => plan.services ?? []);
  const doors = plans.flatMap((plan) => plan.doors ?? []);
  const canaries = plans.flatMap((plan) => plan.canaries ?? []);
  const self = plans.find((plan) => plan.self !== undefined)?.self;
  return {
    transactions: plans.flatMap(({ transactions }) => transactions),
    refused: plans.flatMap(({ refused }) => refused),
    restarts: plans.flatMap(({ restarts }) => restarts),
    ...(canaries.length > 0 && { canaries }),
    ...(services.length > 0 && { services }),
    ...(doors.length > 0 && { doors }),
    ...(self && { self }),
  };
}
