import type { Message, Target, TargetStatus } from '../../domain/notification/message.ts';
import type { MessageHold, OutboxRecord } from '../../domain/notification/outbox.ts';
import { type Sender, type SenderParts, startSender } from './sender.ts';
import { createDeliveryCounts } from './delivery-counts.ts';
import { type StoredOutboxParts, openOutbox } from './stored-outbox.ts';

/** Queues messages for targets, sends them one after another, and keeps them until they have arrived. */
export type Delivery = {
  /** Queues a message and returns at once. No caller waits for a service. */
  readonly put: (post: MessageToQueue) => void;
  /** When a finding was last reported; undefined: never. */
  readonly foundAtMs: (key: string) => number | undefined;
  readonly noteFound: (keys: readonly string[]) => void;
  readonly status: () => readonly TargetStatus[];
  /** Sends messages for up to 4.5 s. The rest stays in the file, if there is one. */
  readonly close: () => Promise<void>;
};

export type MessageToQueue = {
  readonly target: string;
  readonly message: Message;
  /** Unix milliseconds; undefined: now. */
  readonly dueAtMs?: number;
  readonly hold?: MessageHold;
};

export type DeliveryParts = StoredOutboxParts &
  Pick<SenderParts, 'retryMs' | 'clock' | 'log' | 'chance'> & { readonly targets: readonly Target[] };

export async function openDelivery(parts: DeliveryParts): Promise<Delivery> {
  const { targets, clock, log } = parts;
  const outbox = await openOutbox(parts);
  const counts = createDeliveryCounts();
  dropUnknownTargets();
  const senders = new Map<string, Sender>(
    targets.map((target) => [target.name, startSender({ ...parts, target, outbox, counts })]),
  );

  /** Drops messages for targets that are no longer configured. */
  function dropUnknownTargets(): void {
    const orphans = [...outbox.read().entries.values()].filter(
      (entry) => !targets.some(({ name }) => name === entry.target),
    );
    if (orphans.length === 0) return;
    outbox.change(orphans.map(({ target, message: { id } }) => ({ kind: 'end', target, id, end: 'lost' })));
    const names = [...new Set(orphans.map(({ target }) => target))];
    log.warn('Notifications are given up: their targets are not configured any more', {
      targets: names,
      messages: orphans.length,
    });
  }

  function reportLost(lost: readonly OutboxRecord[]): void {
    for (const record of lost) {
      if (record.kind !== 'end') continue;
      counts.noteLost(record.target);
      log.error(`A notification for ${record.target} is given up: too many wait`, { id: record.id });
    }
  }

  return {
    put({ target, message, dueAtMs = clock.nowMs(), hold }) {
      reportLost(outbox.change([{ kind: 'put', target, message, dueAtMs, ...(hold && { hold }) }]));
      senders.get(target)?.wake();
    },
    foundAtMs: (key) => outbox.read().found.get(key),
    noteFound: (keys) => void outbox.change(keys.map((key) => ({ kind: 'found', key, atMs: clock.nowMs() }))),
    status() {
      const entries = [...outbox.read().entries.values()];
      return targets.map((target) => ({
        name: target.name,
        service: target.service,
        shown: target.shown,
        pending: entries.filter((entry) => entry.target === target.name).length,
        ...counts.of(target.name),
      }));
    },
    async close() {
      const isDone = new AbortController();
      const all = [...senders.values()];
      const late = clock.sleep(drainMs, isDone.signal).then(
        () => all.forEach((sender) => sender.stop()),
        () => undefined,
      );
      await Promise.all(all.map((sender) => sender.drain()));
      const unsent = outbox.read().entries.size;
      if (unsent > 0)
        log.warn(
          outbox.outlivesProcess
            ? 'Notifications stay in --state-dir for the next start, because they could not be sent'
            : 'Notifications that could not be sent before the end are lost; --state-dir would keep them',
          { messages: unsent },
        );
      // A disk that hangs must not delay the end.
      await Promise.race([outbox.close(), late]);
      isDone.abort();
    },
  };
}

/** Together with the other steps at the end of notifications, at most 5 s. */
const drainMs = 4500;
