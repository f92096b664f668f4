import { configurationEntry } from '../../json/configuration.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, object, stamped, text, booleanField } from '../replies/schemas.ts';
import { replyFields } from '../../json/timestamps.ts';

/** `GET /v1/config`: the effective settings without secrets. */
export function configRoute({ configuration, clock }: HttpParts): Route {
  return defineRoute({
    group: 'config',
    path: '/v1/config',
    access: 'api token',
    summary: 'Show the settings in effect',
    description: 'Shows the settings in effect, and every option with the origin of its value. Secrets are redacted.',
    query: {},
    replies: { 200: { description: 'The settings', schema: replySchema } },
    answer: () => ({ ...configurationEntry(configuration()), ...replyFields(clock.nowMs()) }),
  });
}

const replySchema = stamped({
  config: object({
    monitor_only: booleanField('Newer images are reported, and not applied'),
    cleanup: booleanField('Old images are removed after an update'),
    no_pull: booleanField('No registry is contacted'),
    no_restart: booleanField('Containers are not started again'),
    rolling_restart: booleanField('Containers are updated one at a time'),
    include_stopped: booleanField('Stopped containers are watched too'),
    include_restarting: booleanField('Restarting containers are watched too'),
    lifecycle_hooks: booleanField('Hooks of containers are run'),
    label_enable: booleanField('Only containers with the enable label are watched'),
    filter_desc: text('The filter of containers, in words'),
    scope: text('Only containers of this scope are watched; empty: containers without a scope'),
  }),
  options: array(
    object({
      name: text('Name of the option'),
      value: text('Value of the option; secrets are redacted'),
      source: text('The flag or variable it came from, or "default"'),
      given: booleanField(
        'Whether a user has set it; false for a default, and for variables of every session such as HOME',
      ),
      meaning: text('Meaning of the option'),
    }),
  ),
});
