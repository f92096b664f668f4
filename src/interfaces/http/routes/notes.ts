import { breakingRules } from '../../../domain/notes/read-release.ts';
import { containerNotesEntry } from '../../json/entries.ts';
import { replyFields } from '../../json/timestamps.ts';
import {
  engineField,
  notesFields,
  array,
  booleanField,
  object,
  oneOf,
  stamped,
  text,
  time,
} from '../replies/schemas.ts';
import { HttpError } from '../replies/errors.ts';
import { text as textParameter, toggle } from '../requests/request.ts';
import { engineParameter, enginesIn } from '../requests/selection.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

/** `GET /v1/notes`: the release notes of a container's newer version, from memory. No request waits for a forge. */
export function notesRoute({ clock }: HttpParts): Route {
  return defineRoute({
    group: 'containers',
    path: '/v1/notes',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'Show release notes',
    description:
      'Shows the release notes of the newer version that a container waits for, as they were read last. The service reads them in the background, after a check has found the version.',
    query: {
      container: textParameter('Name of the container'),
      full: toggle('Also the texts of the releases, as a tree of headings, paragraphs and lists'),
      ...engineParameter,
    },
    replies: {
      200: { description: 'The release notes', schema },
      400: { description: 'No container is named, or several engines have one of that name' },
      404: { description: 'No watched container of that name is known, or it waits for no newer version' },
    },
    answer: ({ query, request: { service } }) => {
      const { container: given, full } = query;
      if (given === undefined) throw new HttpError(400, 'invalid query parameters: "container" is missing');
      const name = given.replace(/^\//, '');
      const [engine, ...others] = enginesIn(query, service);
      if (others.length > 0) throw new HttpError(400, 'invalid query parameters: "engine" names several');
      const found = service.notesOf(name, engine);
      if (found === 'several') throw new HttpError(400, 'several engines have this container: name one with "engine"');
      if (found === undefined) throw new HttpError(404, 'no watched container of this name waits for a newer version');
      return { ...containerNotesEntry(found, full), ...replyFields(clock.nowMs()) };
    },
  });
}

const release = object(
  {
    tag: text('Tag of the release'),
    title: text('Its title; may be empty'),
    url: text('Its page'),
    prerelease: booleanField('Whether it is a pre-release'),
    breaking: array(
      object({
        text: text('A sentence about breaking changes'),
        rule: oneOf(breakingRules, 'Where it was found'),
      }),
    ),
    attention: booleanField('Whether it asks for attention'),
    points: array(text('A line, the most telling first')),
    blocks: array({
      type: 'object',
      description:
        'A block: kind heading, para, list, quote, code or rule, with spans of kind text, code, strong, em and link',
    }),
  },
  { published_at: time('When it was published') },
);

const schema = stamped(
  { container: text('Name of the container'), image: text('Its reference'), ...notesFields },
  {
    ...engineField,
    version: text('Version of its image'),
    latest_version: text('Version of the newer image'),
    candidate: text('Reference of the newer image'),
    list: array(release),
  },
);
