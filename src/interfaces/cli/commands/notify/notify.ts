import type { Target } from '../../../../domain/notification/message.ts';
import type { OutboxRecord } from '../../../../domain/notification/outbox/record.ts';
import type { Composer } from '../../../../domain/notification/run-facts.ts';
import { quoted } from '../../../../domain/text/printable.ts';
import { exitCodes, type LookContext, type LookFunction } from '../../context/context.ts';
import { printLines } from '../../render/print.ts';
import { list } from './list.ts';
import { preview } from './preview.ts';
import { test } from './test-targets.ts';
import { upgrade } from './upgrade.ts';

/** What is set up for notifications. */
export type NotifySetup = {
  readonly targets: readonly Target[];
  /** Why URLs, or parts of them, cannot be used; without secrets. */
  readonly problems: readonly string[];
  /** Of those that can be used all the same. */
  readonly warnings: readonly string[];
  readonly composer: Composer;
  /** What waits in --state-dir; empty without. */
  readonly outbox: () => Promise<readonly OutboxRecord[]>;
  readonly newId: () => string;
  readonly version: string;
};

export type NotifyContext = LookContext & { readonly setup: NotifySetup; readonly names: readonly string[] };

/** `upkeep notify list|test|preview|upgrade`. */
export function createNotify(open: () => Promise<NotifySetup>): LookFunction {
  return async (context) => {
    const [action = '', ...names] = context.settings.request.containers;
    const carryOut = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (carryOut === undefined) {
      const known = Object.keys(actions).join(', ');
      const what =
        action === ''
          ? '"upkeep notify": it needs to know what to do'
          : `"upkeep notify ${quoted(action).slice(1)}: there is no such action`;
      printLines(context.terminal.err, [`Cannot run ${what}; expected one of ${known}`]);
      return exitCodes.usage;
    }
    return carryOut({ ...context, setup: await open(), names });
  };
}

const actions: Readonly<Record<string, (context: NotifyContext) => Promise<number>>> = { list, test, preview, upgrade };
