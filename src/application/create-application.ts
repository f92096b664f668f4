import { describeError } from '../domain/errors.ts';
import type { Outside } from '../domain/outside.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import type { Application, CheckRequest, Request } from './application.ts';
import { type CheckReport, createCheck } from './check.ts';
import { makePlan } from './make-plan.ts';
import { createPublisher } from './publisher.ts';
import { recoverTransactions } from './recover.ts';
import { createUpdate } from './update.ts';
import { createUpdateLock } from './update-lock.ts';

/** Ties the use cases together: one lock for all that changes containers, one publisher for all that happens. */
export function createApplication(world: Omit<Outside, 'publish'>, settings: ServiceSettings): Application {
  const { publish, subscribe } = createPublisher(world.log);
  const outside: Outside = { ...world, publish };
  const { clock } = world;
  const lock = createUpdateLock();
  const check = createCheck(outside, settings);

  return {
    check: (request, signal) => announceCheck(request, signal),
    plan: async (request, signal) => {
      const report = await check({ ...filtersOf(request), runId: world.newId(), applyCooldown: true }, signal);
      return { report, plan: (await makePlan(outside, settings, report, signal)).plan };
    },
    update: createUpdate({ outside, settings, check, lock }),
    recover: async (signal) => {
      const leave = await lock.enterInTurn(signal);
      try {
        return await recoverTransactions(outside, settings, signal);
      } finally {
        leave();
      }
    },
    subscribe,
  };

  async function announceCheck(request: CheckRequest, signal: AbortSignal | undefined): Promise<CheckReport> {
    const scan = { runId: world.newId(), purpose: 'check' } as const;
    publish({ kind: 'scan_started', ...scan, trigger: request.trigger ?? 'command', atMs: clock.nowMs() });
    try {
      const report = await check({ ...filtersOf(request), runId: scan.runId, applyCooldown: false }, signal);
      const failed = report.containers.filter(({ error }) => error !== undefined).length;
      const counts = { scanned: report.containers.length, updated: 0, failed, restarted: 0, skipped: 0 };
      publish({ kind: 'scan_completed', ...scan, ...counts, session: undefined, atMs: clock.nowMs() });
      return report;
    } catch (error) {
      publish({ kind: 'scan_failed', ...scan, error: describeError(error), atMs: clock.nowMs() });
      throw error;
    }
  }
}

function filtersOf({ images, containers }: Request): Request {
  return { images, containers };
}
