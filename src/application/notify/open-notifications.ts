import { describeError } from '../../domain/text/errors.ts';
import type { TargetStatus } from '../../domain/notification/message.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { type DeliveryParts, openDelivery } from './delivery.ts';
import { createNotifier, type Notifier, type NotifierParts } from './notifier.ts';

export type Notifications = Pick<Notifier, 'handleEvent' | 'started' | 'failed'> & {
  readonly status: () => readonly TargetStatus[];
  /** Takes at most 5 s. */
  readonly close: () => Promise<void>;
};

export type NotificationParts = Pick<Outside, 'clock' | 'log' | 'newId'> &
  Pick<NotifierParts, 'targets' | 'settings' | 'composer' | 'dataOfRun'> &
  Pick<DeliveryParts, 'store' | 'chance'> & { readonly engine: Pick<Outside['engine'], 'inspectImage'> };

/** Makes messages from events, and sends them. */
export async function openNotifications(parts: NotificationParts): Promise<Notifications> {
  const { settings, engine, log, clock } = parts;
  const closing = new AbortController();
  const delivery = await openDelivery({ ...parts, retryMs: settings.retryMs });
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
    handleEvent: notifier.handleEvent,
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
