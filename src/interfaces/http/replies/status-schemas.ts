import { array, choice, integer, object, text, time, truth } from './schemas.ts';

const phases = [
  'waiting',
  'pulling',
  'preparing',
  'stopping',
  'starting',
  'checking health',
  'committing',
  'rolling back',
] as const;

/** The update under way. */
export const runSchema = object({
  run_id: text('Id of the run in history and events'),
  trigger: choice(['command', 'schedule', 'start', 'http'], 'The origin of the run'),
  started_at: time('When it began'),
  containers: array(
    object(
      {
        name: text('Name of a container whose update has begun'),
        phase: choice(phases, 'The current step of its update'),
      },
      {
        percent: integer('How much of its image has been pulled, from 0 to 100'),
        tasks: object({
          running: integer('How many tasks of a service run the version that this phase brings'),
          wanted: integer('How many are to'),
        }),
      },
    ),
  ),
});

/** Containers that are not watched, by reason. */
export const unwatchedSchema = object({
  reason: text('Kind of reason'),
  count: integer('How many containers'),
  remedy: text('How to have them watched'),
});

export const engineSchema = object(
  {
    name: text('Name of the engine'),
    reachable: truth('Whether it answers, and tells of changes'),
  },
  {
    version: text('Its version; absent before it has answered'),
    error: text('Why it does not answer'),
  },
);
