import { percentOf } from '../../../domain/run/event.ts';
import { known } from '../../json/known.ts';
import type { StepEvent } from '../service/service.ts';

/** Data of a step, sent only with `extra=true`. Unknown values are absent. */
export function stepEntry(event: StepEvent): Readonly<Record<string, unknown>> {
  return { ...ownEntry(event), ...known(event.engine, (engine) => ({ engine })) };
}

function ownEntry(event: StepEvent): Readonly<Record<string, unknown>> {
  const { runId: run_id, container } = event;
  switch (event.kind) {
    case 'phase_entered':
      return { run_id, container, phase: event.phase, ...known(event.tasks, (tasks) => ({ tasks })) };
    case 'pull_progress': {
      const { bytes, totalBytes } = event.progress;
      const percent = known(percentOf(event.progress), (value) => ({ percent: value }));
      return { run_id, container, ...percent, current_bytes: bytes, total_bytes: totalBytes };
    }
    case 'container_checked': {
      const { image, status: verdict, reason, checked = {} } = event;
      return {
        run_id,
        container,
        image,
        verdict,
        reason,
        ...known(checked.hold, (hold) => ({ hold })),
        ...known(checked.version, (version) => ({ version })),
        ...known(checked.latestVersion, (version) => ({ latest_version: version })),
        ...known(checked.candidate, (candidate) => ({ candidate })),
        ...known(checked.candidateKind, (kind) => ({ candidate_kind: kind })),
        ...known(checked.change, (change) => ({ change })),
      };
    }
  }
}
