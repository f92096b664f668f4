import type { Endpoint } from './container.ts';
import { endpointsFor } from './container-recipe/endpoints.ts';
import { hostConfigFor } from './container-recipe/host-config.ts';
import { ownConfig } from './container-recipe/own-config.ts';
import { refusal } from './container-recipe/refusal.ts';
import type { KnownRequest, RecipeRequest } from './container-recipe/request.ts';
import { normalisePlatform, type Platform } from './platform.ts';

/** Arguments that create a successor. */
export type ContainerRecipe = {
  /** The body of `POST /containers/create`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Given only when the image's platform is not the engine's own. */
  readonly platform?: Platform;
  /** Networks to connect after the create, because an engine below API 1.44 takes one endpoint at create. */
  readonly laterEndpoints: readonly {
    readonly networkId: string;
    readonly networkName: string;
    readonly endpoint: Endpoint;
  }[];
};

/**
 * The container's settings without the values inherited from its old image, so that it inherits anew from
 * the new one: https://docs.docker.com/reference/api/engine/#tag/Container/operation/ContainerCreate.
 * Unknown fields are copied. The restart policy is `no`; the commit sets the real one, as far as the
 * engine can change it. Throws `invalid-input` for a container that cannot be reproduced.
 */
export function recipeFor(request: RecipeRequest): ContainerRecipe {
  const { obstacle } = request.container.settings;
  if (obstacle !== undefined) throw refusal(request.container, `it ${obstacle}`);
  const known = withOldImage(request);
  const endpoints = endpointsFor(known);
  const body = {
    ...ownConfig(known),
    HostConfig: hostConfigFor(known),
    NetworkingConfig: { EndpointsConfig: endpoints.atCreate },
  };
  return { body, laterEndpoints: endpoints.later, ...platformFor(known) };
}

/** Without the old image's defaults every setting would look like the user's and be frozen for ever. */
function withOldImage(request: RecipeRequest): KnownRequest {
  const { container, oldImage } = request;
  if (oldImage === undefined) {
    throw refusal(
      container,
      'the image it was created from is gone from the engine, so its own settings cannot be told from the image’s',
      'pull that image again, or re-create the container from its compose file or command',
    );
  }
  return { ...request, oldImage };
}

/** Where the engine emulates another machine, or runs a relative of its own, the successor must not fall back to the engine's. */
function platformFor({ oldImage, enginePlatform }: KnownRequest): { readonly platform?: Platform } {
  const { os, architecture, variant } = oldImage;
  if (os === '' || architecture === '') return {};
  const [image, engine] = [normalisePlatform(oldImage), normalisePlatform(enginePlatform)];
  const sameMachine = image.os === engine.os && image.architecture === engine.architecture;
  return sameMachine ? {} : { platform: { os, architecture, variant } };
}
