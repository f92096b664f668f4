import type { WatchedContainer } from '../../domain/check/selection.ts';
import { unknownVerdict, type Verdict } from '../../domain/check/verdict.ts';
import { effectiveSettings } from '../../domain/settings/effective-settings.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { readServiceImage } from '../../domain/swarm/service-image.ts';
import {
  joinVerdicts,
  judgeServiceAlone,
  platformsOf,
  subjectOfService,
  whyHeldByLabel,
} from '../../domain/swarm/update/service-verdict.ts';
import type { SwarmService } from '../../domain/swarm/swarm-service.ts';
import type { Question } from './ask-registry.ts';
import { faultOfLabels } from './check-subject.ts';
import type { ServiceListing } from '../engine/service-listing.ts';

export type ServiceJudgement = {
  readonly settle: (verdict: Verdict) => void;
  readonly applyCooldown: boolean;
  readonly retryFailed: boolean;
  readonly ignoresMonitorOnly: boolean;
};

/**
 * Settles the verdict on a service, or returns its questions, one for each platform of the nodes. The last answer
 * settles the verdict.
 */
export function questionsAbout(
  watched: WatchedContainer,
  service: SwarmService,
  { nodes, failures }: ServiceListing,
  settings: ServiceSettings,
  { settle, applyCooldown, retryFailed, ignoresMonitorOnly }: ServiceJudgement,
): readonly Question[] {
  const alone = judgeServiceAlone(service);
  const image = readServiceImage(service.image, service.labels);
  if (alone !== undefined || image.kind !== 'tagged') {
    if (alone !== undefined) settle(alone);
    return [];
  }
  const inForce = effectiveSettings(settings, watched.wishes);
  const fault = faultOfLabels(watched.wishes, inForce);
  if (fault !== undefined) {
    settle(unknownVerdict(fault, { image: undefined }));
    return [];
  }
  const own = failures.filter(({ serviceId }) => serviceId === service.id);
  const subject = subjectOfService(image, own, {
    inForce: applyCooldown ? inForce : { ...inForce, cooldownMs: 0 },
    retryFailed,
    ...(ignoresMonitorOnly && { ignoresMonitorOnly }),
  });
  const platforms = platformsOf(nodes);
  const verdicts: Verdict[] = [];
  return platforms.map((platform) => ({
    subject,
    platform,
    settle: (verdict) => {
      verdicts.push(verdict);
      if (verdicts.length === platforms.length)
        settle(heldByLabel(joinVerdicts(service, image, verdicts, { failures: own, retryFailed }), service, settings));
    },
  }));
}

/** A label that restrains updates holds the service back where it cannot be followed. */
function heldByLabel(verdict: Verdict, service: SwarmService, settings: ServiceSettings): Verdict {
  const why = verdict.status === 'stale' ? whyHeldByLabel(service, settings) : undefined;
  return why === undefined ? verdict : { ...verdict, status: 'held', hold: 'other', reason: why };
}
