import { composeStates } from '../../../domain/compose/compose-state.ts';
import { words } from '../../../domain/text/words.ts';
import { heldBecause, unknownBecause, candidateKinds } from '../../../domain/decision/decisions.ts';
import { sourcePlaces } from '../../../domain/image/image-source.ts';
import { notesStates } from '../../../domain/notes/notes.ts';
import { engineRunResults, entryKinds, outcomeKinds } from '../../../domain/run/session.ts';
import { versionChanges } from '../../../domain/image/labels.ts';

/** The part of JSON schema that OpenAPI 2.0 shares: https://swagger.io/specification/v2/#schema-object */
export type JsonSchema = {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | false;
};

export type Fields = Readonly<Record<string, JsonSchema>>;

/** An object with all required fields, optional ones, and no others. */
export function object(required: Fields, optional: Fields = {}): JsonSchema {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

/** A reply of `/v1` with its time and API version. */
export function stamped(required: Fields, optional: Fields = {}): JsonSchema {
  return object({ ...required, timestamp: time('When the reply was made, UTC'), api_version: version }, optional);
}

export function array(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function text(description: string): JsonSchema {
  return { type: 'string', description };
}

export function oneOf(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', enum: values, description };
}

export function time(description: string): JsonSchema {
  return { type: 'string', format: 'date-time', description };
}

/** 0 or more. */
export function integer(description: string): JsonSchema {
  return { type: 'integer', minimum: 0, description };
}

export function booleanField(description: string): JsonSchema {
  return { type: 'boolean', description };
}

export function map(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

const version: JsonSchema = { type: 'string', enum: ['v1'], description: 'Version of the API' };

/** The counters of a run. */
export const summarySchema: JsonSchema = object({
  scanned: integer('Containers scanned for updates'),
  updated: integer('Containers successfully updated'),
  failed: integer('Containers whose update failed'),
  restarted: integer('Containers restarted because of linked dependencies'),
  skipped: integer('Containers skipped during the update'),
});

export const errorSchema: JsonSchema = object({
  error: text('The message of the error, in English'),
  api_version: version,
  timestamp: time('When the reply was made, UTC'),
});

/** The running version and the newer one; all may be absent. */
export const versionFields: Fields = {
  version: text(
    'Version of its image: its label org.opencontainers.image.version, else a tag that looks like a version, else the beginning of the digest; the label of a base image does not count',
  ),
  latest_version: text('Version of the newer image, from the same sources; absent without a newer image'),
  candidate: text('Reference of the newer image: the same, or one with a higher tag; absent without a newer image'),
  candidate_kind: oneOf(
    candidateKinds,
    'Difference between its tag and the tag of the newer image; digest: the same tag',
  ),
  change: oneOf(
    versionChanges,
    'Size of the version change; build: the same version in a newer image; absent if the versions cannot be compared',
  ),
  released_at: time('When the newer image was built'),
  download_bytes: integer(
    'Compressed size of all layers of the newer image, also of layers that the engine has; absent if the engine has the image',
  ),
  source_url: text('URL of the sources or the home page, from the newer image; http or https'),
};

/** Present with `--compose-files`, for a container of compose. */
export const composeField: Fields = {
  compose: object(
    {
      state: oneOf(
        composeStates,
        'same: the compose file has its image; differs: it has another; would-write: the tag of the newer version has one place there; will-write: an update writes it; written; put-back: by a rollback; pending: written at the next run or start; refused: not compared or written; failed: it has its old text',
      ),
    },
    {
      reason: text('If refused or pending: the kind of reason'),
      detail: text('More about the reason'),
      file: text('The file with the tag'),
      line: integer('Its line'),
      file_says: text('If it differs: the image in the file'),
      from: text('The tag in the file'),
      to: text('The tag of the newer version'),
      services: array(text('Another service that the same text decides')),
      note: text('The same as a sentence'),
    },
  ),
};

/** Present with `--swarm`. */
export const kindField: Fields = {
  kind: oneOf(entryKinds, 'With --swarm: a container, or a service of the swarm'),
};

/** Present with several engines. */
export const engineField: Fields = { engine: text('Name of its engine, with several engines') };

/** Why an update waits or a check failed; all may be absent. */
export const holdFields: Fields = {
  candidate_digest: text('Version that an update would apply, if it is not the newest one'),
  hold: oneOf(
    [...heldBecause, ...unknownBecause],
    `Kind of reason, if the newer version is held back or the check failed. ${words.listed(words.hold)}`,
  ),
  hold_because: oneOf(
    ['breaking', 'unread'],
    'With hold approval: its release notes speak of breaking changes, or cannot be read; absent: the kind of the version',
  ),
  eligible_at: time('If held: the end of the hold'),
  retry_at: time('If unknown: when the registry may be asked again'),
};

/** The release notes of the newer version in short. */
export const notesFields: Fields = {
  notes: object(
    {
      state: oneOf(
        notesStates,
        'found; none: there are none for this version; no-source: no repository is known; unread: not read yet, or in vain; off: turned off',
      ),
      releases: integer('Number of releases between the two versions'),
      more: integer('Number of further releases'),
      breaking: booleanField('Whether they speak of breaking changes'),
      attention: booleanField('Whether they ask for attention, as with a heading "Migration"'),
      partial: booleanField('Whether not all notes between the versions could be read'),
      summary: array(text('A line: first what breaks, then what is new')),
      left_out: integer('Number of lines that the summary leaves out'),
    },
    {
      source: text('Repository, or a page for people'),
      source_from: oneOf(sourcePlaces, 'The place that names it'),
      url: text('A page about the newer version'),
      read_at: time('When they were read'),
      error: text('Why they could not be read'),
      retry_at: time('When they are read again'),
    },
  ),
};

/** Further fields of an outcome; all may be absent. */
export const outcomeFields: Fields = {
  downtime_ms: integer(
    'Downtime: from the stop signal, or an earlier end of the process, to the next start; absent if no process was stopped',
  ),
  stopping_ms: integer('Part of the downtime until the process ended; absent if unknown'),
  down_ms: integer('Part of the downtime without a process; absent if unknown'),
  phases_ms: map(integer('How long this phase of the update took; absent if the update did not begin')),
  data: object(
    {
      bytes: integer('Size of the data that was copied'),
      files: integer('Number of its files'),
      restored: booleanField('Whether the old version runs on this data again'),
    },
    { kept_until: time('When the copy is removed; absent if it is removed already') },
  ),
  log: text('The last log lines of a new version that failed, without known secrets'),
  verdict: oneOf(
    ['pinned', 'held', 'local', 'unknown'],
    'The verdict of its check, if there was nothing to do for another reason than that it is up to date',
  ),
  hold: text(`With the verdict held or unknown: the kind of reason. ${words.listed(words.hold)}`),
  from: text('Version before the update, when known'),
  to: text('Version after it, or the intended one, when known'),
  from_image: text('Reference before an update to another tag; absent if the tag stays'),
  to_image: text('Reference after it, or the intended one; absent if the tag stays'),
  ...composeField,
  ...engineField,
  ...kindField,
};

/** Outcome of a container in an update. */
export const outcomeSchema = object(
  {
    name: text('Name of the container'),
    image: text('Its image reference'),
    outcome: oneOf(outcomeKinds, `The result for this container. ${words.listed(words.outcome)}`),
    reason: text('Reason; empty if none is needed'),
    old_image_id: text('Image before the update'),
    new_image_id: text('Image after it'),
    old_digest: text('Registry digest before the update, when known'),
    new_digest: text('Registry digest after it, when known'),
  },
  outcomeFields,
);

/** The engines of a run, with several engines. */
export const enginesField: Fields = {
  engines: array(
    object(
      {
        name: text('Name of the engine'),
        result: oneOf(engineRunResults, 'Whether the run included it, or the kind of reason why not'),
        duration_ms: integer('How long it took, in milliseconds'),
      },
      { error: text('Why the run did not include it') },
    ),
  ),
};
