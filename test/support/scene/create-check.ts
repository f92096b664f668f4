import { type CheckReport, createJudge } from '../../../src/application/check/check.ts';
import type { JudgeOrder } from '../../../src/application/check/checked-container.ts';
import { createSelectContainers, createUpdaterWarnings } from '../../../src/application/check/select-containers.ts';
import { listAll } from '../../../src/application/engine/listing.ts';
import type { ReadOnlyOutside } from '../../../src/domain/outside/outside.ts';
import type { ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';

export type CheckOrder = Parameters<ReturnType<typeof createSelectContainers>>[1] & JudgeOrder;

/** Lists, selects and asks the registries, without the other parts of an application. */
export function createCheck(outside: ReadOnlyOutside, settings: ServiceSettings) {
  const select = createSelectContainers(outside, settings, createUpdaterWarnings(outside, settings));
  const judge = createJudge(outside, settings);
  return async (order: CheckOrder, signal?: AbortSignal): Promise<CheckReport> =>
    judge(await select(await listAll(outside, signal), order, signal), order, signal);
}
