import { ServiceError } from '../../../domain/text/errors.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { startDeadline } from '../requests/selection.ts';
import type { HttpParts } from './parts.ts';

/** Checks the containers of repositories that a registry has spoken of, some seconds later. */
export type RegistryHints = {
  /** Repositories of watched containers, as `docker.io/acme/shop`. */
  readonly add: (repositories: readonly string[]) => void;
  /** Ends the running check, or the update at its next safe point, and begins no other. */
  readonly stop: () => Promise<void>;
};

/**
 * A hint is no proof of anything, so it costs a check at most: hints are collected for some seconds, checked one batch
 * after the other, and a repository once a minute. With `webhookUpdate`, containers that the check finds stale are
 * updated as by `POST /v1/update?image=`, which windows, approvals and cooldowns hold back as always.
 */
export function createRegistryHints(parts: Pick<HttpParts, 'settings' | 'service' | 'clock' | 'log'>): RegistryHints {
  const { clock, log } = parts;
  const waiting = new Set<string>();
  const checkedAtMs = new Map<string, number>();
  const stopping = new AbortController();
  let working: Promise<void> | undefined;

  async function work(): Promise<void> {
    await clock.sleep(collectMs, stopping.signal);
    while (waiting.size > 0) {
      const nowMs = clock.monotonicMs();
      for (const [name, atMs] of checkedAtMs) if (nowMs - atMs >= pauseMs) checkedAtMs.delete(name);
      const due = [...waiting].filter((name) => !checkedAtMs.has(name)).slice(0, maxBatch);
      if (due.length === 0) {
        const oldest = Math.min(...[...waiting].map((name) => checkedAtMs.get(name) ?? nowMs));
        await clock.sleep(Math.max(1, oldest + pauseMs - nowMs), stopping.signal);
        continue;
      }
      for (const name of due) {
        waiting.delete(name);
        checkedAtMs.set(name, nowMs);
      }
      await follow(due, parts, stopping.signal);
    }
  }

  return {
    add(repositories) {
      for (const name of repositories) if (waiting.size < maxWaiting) waiting.add(name);
      if (stopping.signal.aborted || waiting.size === 0) return;
      working ??= work()
        .catch((error: unknown) => {
          if (!stopping.signal.aborted) log.error('The webhooks of registries could not be followed', { error });
        })
        .finally(() => (working = undefined));
    },
    async stop() {
      stopping.abort(new ServiceError('cancelled', 'Cannot follow a webhook: the service is stopping'));
      await working;
    },
  };
}

/** A push of several tags or platforms is several webhooks. */
const collectMs = 10_000;

/** Between two checks of one repository. */
const pauseMs = 60_000;

const maxBatch = 20;

/** Repositories of watched containers only get here. */
const maxWaiting = 1000;

async function follow(
  images: readonly string[],
  {
    settings,
    service,
    clock,
    log,
  }: { readonly clock: Clock; readonly log: Log } & Pick<HttpParts, 'settings' | 'service'>,
  signal: AbortSignal,
): Promise<void> {
  const deadline = startDeadline(clock, settings.checkTimeoutMs, 'check');
  const abort = () => deadline.abort(signal.reason as ServiceError);
  signal.addEventListener('abort', abort, { once: true });
  const request = { images, containers: [], trigger: 'http' } as const;
  try {
    log.info('A webhook of a registry causes a check', { images: images.join(', ') });
    const { containers } = await service.check(request, deadline.signal);
    if (settings.webhookUpdate && containers.some(({ status }) => status === 'stale'))
      await service.update(request, signal);
  } catch (error) {
    if (!signal.aborted) log.warn('The check or update that a webhook asked for has failed', { error });
  } finally {
    signal.removeEventListener('abort', abort);
    deadline.clear();
  }
}
