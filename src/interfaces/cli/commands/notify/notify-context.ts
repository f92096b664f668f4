import type { Target } from '../../../../domain/notification/message.ts';
import type { OutboxRecord } from '../../../../domain/notification/outbox.ts';
import type { Composer } from '../../../../domain/notification/run-facts.ts';
import type { ReadContext } from '../../context/context.ts';

/** The notification targets of this configuration. */
export type NotifySetup = {
  readonly targets: readonly Target[];
  /** Home Assistants, safe to print. They show containers and get no messages. */
  readonly homeAssistants: readonly string[];
  /** Why URLs, or parts of them, cannot be used; without secrets. */
  readonly problems: readonly string[];
  /** Warnings about URLs that are used nevertheless. */
  readonly warnings: readonly string[];
  readonly composer: Composer;
  /** Why the user's template cannot be used, as far as it was tried. */
  readonly templateFailures: readonly string[];
  /** The unsent messages in --state-dir; empty without that option. */
  readonly outbox: () => Promise<readonly OutboxRecord[]>;
  readonly newId: () => string;
  readonly version: string;
};

export type NotifyContext = ReadContext & { readonly setup: NotifySetup; readonly names: readonly string[] };

/** A line for each URL, or part of one, that cannot be used. */
export function problemLines({ setup: { problems, warnings } }: NotifyContext): readonly string[] {
  return [...problems, ...warnings].map((problem) => `upkeep: ${problem}`);
}
