import type { ServiceEvent } from '../../domain/run/event.ts';
import { type ContainerOutcome, shownName } from '../../domain/run/session.ts';

/** The event with container names of the form `nas/web`, for readers that see names only, such as messages. */
export function namedByEngine(event: ServiceEvent): ServiceEvent {
  if (event.kind === 'scan_completed')
    return event.session === undefined
      ? event
      : { ...event, session: { ...event.session, containers: event.session.containers.map(named) } };
  const { engine } = event;
  if (engine === undefined) return event;
  const nameOf = (name: string) => shownName({ engine, name });
  switch (event.kind) {
    case 'containers_selected':
      return { ...event, names: event.names.map(nameOf), recipients: recipientsNamed(event.recipients, nameOf) };
    case 'container_checked':
    case 'pull_progress':
    case 'update_started':
    case 'phase_entered':
      return { ...event, container: nameOf(event.container) };
    case 'update_completed':
    case 'update_failed':
    case 'update_deferred':
      return { ...event, outcome: named(event.outcome) };
    case 'image_cleanup':
      return {
        ...event,
        images: event.images.map((image) => ({ ...image, containerName: nameOf(image.containerName) })),
      };
    case 'earlier_updates_settled':
      return {
        ...event,
        transactions: event.transactions.map((one) => ({
          ...one,
          containers: one.containers.map(nameOf),
          recipients: recipientsNamed(one.recipients, nameOf),
        })),
      };
    default:
      return event;
  }
}

type Recipients = Readonly<Record<string, readonly string[]>>;

function recipientsNamed(recipients: Recipients = {}, nameOf: (name: string) => string): Recipients {
  return Object.fromEntries(Object.entries(recipients).map(([name, targets]) => [nameOf(name), targets] as const));
}

function named(outcome: ContainerOutcome): ContainerOutcome {
  return { ...outcome, name: shownName(outcome) };
}
