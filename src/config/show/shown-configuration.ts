import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { describeSelection } from './selection-words.ts';
import type { ShownOption } from '../read/shown-options.ts';

/** Content of `/v1/config`. `ownScope` is our own container's scope, which applies without an option. */
export function shownConfiguration(service: ServiceSettings, options: readonly ShownOption[], ownScope: string) {
  const asked = service.scope === 'none' ? '' : service.scope;
  const inForce = { ...service, scope: asked ?? ownScope };
  return { config: { ...inForce, filterDescription: describeSelection(inForce) }, options };
}
