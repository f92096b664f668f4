import type { Application } from '../../application/application.ts';
import type { Log } from '../../domain/outside.ts';
import { announce } from './announcement.ts';

/** Writes what the application announces to the log, until the returned function is called. */
export function logEvents(application: Application, log: Log): () => void {
  return application.subscribe((event) => {
    const announcement = announce(event);
    if (announcement !== undefined) log[announcement.level](announcement.message, announcement.fields);
  });
}
