import type { Message, SendOutcome, Target, NotificationSettings } from '../../../src/domain/notification/message.ts';
import type { OutboxRecord, OutboxStore } from '../../../src/domain/notification/outbox.ts';

export type TestTarget = Target & {
  /** Received messages, in order. */
  readonly received: readonly Message[];
};

export const networkFailure: SendOutcome = { kind: 'failed', failure: 'network', reason: 'connection refused' };
export const sent: SendOutcome = { kind: 'sent', answer: 'ok' };

/** A target with answers that the test sets. */
export function createTestTarget(
  name: string,
  answer: (message: Message, signal: AbortSignal) => SendOutcome | Promise<SendOutcome> = () => sent,
): TestTarget {
  const received: Message[] = [];
  return {
    name,
    service: 'test',
    shown: 'test://[redacted]',
    received,
    async send(message, signal) {
      const outcome = await answer(message, signal);
      if (outcome.kind === 'sent') received.push(message);
      return outcome;
    },
  };
}

/** A store that keeps its data over a crash; `failing` makes its disk full. */
export type TestStore = OutboxStore & { readonly records: OutboxRecord[]; failing: boolean };

export function createTestStore(records: OutboxRecord[] = []): TestStore {
  const store: TestStore = {
    records,
    failing: false,
    load: () => Promise.resolve([...records]),
    async append(more) {
      if (store.failing) throw new Error('no space left');
      records.push(...more);
    },
    async replace(all) {
      if (store.failing) throw new Error('no space left');
      records.splice(0, records.length, ...all);
    },
    close: () => Promise.resolve(),
  };
  return store;
}

/** The settings without any target. */
export const noNotifications: NotificationSettings = {
  urls: [],
  legacyUrls: [],
  legacySecrets: [],
  style: 'upkeep',
  level: 'info',
  levelOf: {},
  delayMs: 0,
  hostname: undefined,
  template: undefined,
  report: false,
  splitByContainer: false,
  titleTag: '',
  logStdout: false,
  skipTitle: false,
  startupMessage: true,
  repeat: false,
  digest: undefined,
  quietHours: undefined,
  retryMs: 30_000,
  timeZone: 'UTC',
};
