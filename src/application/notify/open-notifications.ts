import { describeError } from '../../domain/errors.ts';
import type { Target } from '../../domain/notification/message.ts';
import { defaultBackOff } from '../../domain/notification/outbox/back-off.ts';
import { outboxBounds } from '../../domain/notification/outbox/overflow.ts';
import type { OutboxStore } from '../../domain/notification/outbox/store.ts';
import type { Composer } from '../../domain/notification/run-facts.ts';
import type { NotificationSettings } from '../../domain/notification/settings.ts';
import type { TargetStatus } from '../../domain/notification/status.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { openDelivery } from './delivery.ts';
import { createNotifier, type Notifier, type NotifierParts } from './notifier.ts';

/** The targets, settings and adapters of notifications. */
export type Notifications = Pick<Notifier, 'hear' | 'started' | 'failed'> & {
  readonly status: () => readonly TargetStatus[];
  /** Takes at most 5 s. */
  readonly close: () => Promise<void>;
};

export type NotificationParts = Pick<Outside, 'clock' | 'log' | 'newId'> &
  Pick<NotifierParts, 'dataOfRun'> & {
    readonly targets: readonly Target[];
    readonly settings: NotificationSettings;
    readonly composer: Composer;
    readonly store: OutboxStore | undefined;
    readonly engine: Pick<Outside['engine'], 'inspectImage'>;
    /** A random number from 0 up to 1. */
    readonly chance: () => number;
  };

export async function openNotifications(parts: NotificationParts): Promise<Notifications> {
  const { settings, engine, log, clock } = parts;
  const { retryMs } = settings;
  const closing = new AbortController();
  const delivery = await openDelivery({
    ...parts,
    backOff: { ...defaultBackOff, firstMs: retryMs },
    bounds: outboxBounds,
  });
  const notifier = createNotifier({ ...parts, delivery, labelsOfImage });

  async function labelsOfImage(imageId: string): Promise<Readonly<Record<string, string>> | undefined> {
    try {
      return (await engine.inspectImage(imageId, closing.signal))?.labels;
    } catch (error) {
      log.debug('No release notes: the image cannot be inspected', { imageId, error: describeError(error) });
      return undefined;
    }
  }

  return {
    hear: notifier.hear,
    started: notifier.started,
    failed: notifier.failed,
    status: delivery.status,
    async close() {
      // An engine that does not answer must not block the message about it.
      const settled = new AbortController();
      const late = clock.sleep(mostLookingUpMs, settled.signal).then(
        () => closing.abort(),
        () => undefined,
      );
      await notifier.settled();
      settled.abort();
      await late;
      await delivery.close();
    },
  };
}

/** Time for reading labels of images after the process was told to stop. */
const mostLookingUpMs = 500;
