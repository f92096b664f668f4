import { type NotifyContext, problemLines } from './notify-context.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines } from '../../render/print.ts';

/** `upkeep notify upgrade`: the URLs that replace deprecated options, complete with their secrets, one per line. */
export async function upgrade(context: NotifyContext): Promise<number> {
  const { settings, terminal } = context;
  const { legacyUrls: urls } = settings.notifications;
  if (settings.output.json) {
    printDocument(terminal, { urls });
    return exitCodes.done;
  }
  printLines(terminal.err, problemLines(context));
  if (urls.length === 0) {
    printLines(terminal.err, ['Nothing to convert: neither --notifications nor its variable names a kind']);
    return exitCodes.done;
  }
  printLines(terminal.err, [
    'Give these in UPKEEP_NOTIFICATION_URL, or in a file that it names, instead of the deprecated options. They contain secrets.',
  ]);
  printLines(terminal.out, urls);
  return exitCodes.done;
}
