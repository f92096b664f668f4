import { formatDuration } from '../../../domain/text/duration.ts';
import { type Session, summarise } from '../../../domain/run/session.ts';
import { enginesField as enginesEntry, outcomeEntry } from '../../json/entries.ts';
import { engineField, enginesField, kindField, outcomeSchema } from './container-schemas.ts';
import { array, oneOf, integer, object, stamped, summarySchema, text, booleanField } from './schemas.ts';

/** The reply to an update that continues in the background. */
export const acceptedSchema = stamped({
  status: oneOf(['accepted'], 'Always "accepted"'),
  run_id: text('Id of the run in history and events'),
});

const resultFields = {
  summary: summarySchema,
  timing: object({
    duration_ms: integer('How long the update took, in milliseconds'),
    duration: text('The same as text, such as 1.25s'),
  }),
  run_id: text('Id of the run in history and events'),
  containers: array(outcomeSchema),
};

export const resultSchema = stamped(resultFields, enginesField);

const plannedSchema = object(
  {
    name: text('Name of the container'),
    image: text('Image reference with tag'),
    action: oneOf(['update', 'restart', 'skip'], 'The action that an update would take'),
    because: text('The reason, in a few words'),
    depends_on: array(text('Name of a container that is started first')),
    reason: text('Result of the check, or the reason for no update'),
  },
  {
    from: text('Running version, when known'),
    to: text('Version after the update, when known'),
    to_image: text('Reference after an update to another tag; absent if the tag stays'),
    ...engineField,
    ...kindField,
  },
);

/** All fields of the result, or those of the plan. OpenAPI 2.0 has no alternatives. */
export const resultOrPlanSchema = stamped(
  {},
  {
    ...resultFields,
    ...enginesField,
    dry_run: booleanField('Always true, with dry_run=true only'),
    plan: array(plannedSchema),
  },
);
/** The reply after the end of an update or a rollback. */
export function resultOf(session: Session) {
  return {
    summary: summarise(session),
    timing: { duration_ms: Math.round(session.durationMs), duration: formatDuration(session.durationMs) },
    run_id: session.runId,
    containers: session.containers.map(outcomeEntry),
    ...enginesEntry(session),
  };
}
