import { type NotifySetup, type NotifyContext } from './notify-context.ts';
import { quoted } from '../../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand } from '../../context/context.ts';
import { printLines } from '../../render/print.ts';
import { list } from './list.ts';
import { preview } from './preview.ts';
import { test } from './test-targets.ts';
import { upgrade } from './upgrade.ts';

/** `upkeep notify list|test|preview|upgrade`. */
export function createNotify(open: () => Promise<NotifySetup>): ReadCommand {
  return async (context) => {
    const [action = '', ...names] = context.settings.request.containers;
    const carryOut = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (carryOut === undefined) {
      const known = Object.keys(actions).join(', ');
      const what =
        action === ''
          ? '"upkeep notify": no action is given'
          : `"upkeep notify ${quoted(action).slice(1)}: there is no such action`;
      printLines(context.terminal.err, [`upkeep: Cannot run ${what}; expected one of ${known}`]);
      return exitCodes.usage;
    }
    return carryOut({ ...context, setup: await open(), names });
  };
}

const actions: Readonly<Record<string, (context: NotifyContext) => Promise<number>>> = { list, test, preview, upgrade };
