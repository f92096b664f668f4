import type { Application } from '../../../application/application.ts';
import type { Settings } from '../../../config/read/settings.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { announce } from './announcement.ts';

/** Logs the application's events until the returned function is called. */
export function logEvents(
  application: Application,
  log: Log,
  { failedChecks }: Pick<Settings['log'], 'failedChecks'>,
): () => void {
  return application.subscribe((event) => {
    const announcement = announce(event);
    if (announcement === undefined) return;
    const isFailedCheck = event.kind === 'container_checked' && announcement.level === 'warn';
    log[isFailedCheck ? failedChecks : announcement.level](announcement.message, announcement.fields);
  });
}
