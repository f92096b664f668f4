import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { describeSelection } from './selection-words.ts';
import type { ShownOption } from '../read/shown-options.ts';

/** What `/v1/config` shows; `ownScope` is the one of our own container, which counts where no option gives one. */
export function shownConfiguration(service: ServiceSettings, options: readonly ShownOption[], ownScope: string) {
  const asked = service.scope === 'none' ? '' : service.scope;
  const inForce = { ...service, scope: asked ?? ownScope };
  return { config: { ...inForce, filterDescription: describeSelection(inForce) }, options };
}
