import { endpointsFor } from './network/endpoints.ts';
import { hostConfigFor } from './host-config.ts';
import { ownConfig } from './own-config.ts';
import { type KnownRequest, type RecipeRequest, type ContainerRecipe, refusal } from './request/request.ts';
import { normalisePlatform, type Platform } from '../../image/platform.ts';

/**
 * The container's settings without the values inherited from its old image, so that it inherits the new image's:
 * https://docs.docker.com/reference/api/engine/#tag/Container/operation/ContainerCreate. Unknown fields are copied. The
 * restart policy is `no`, and the commit sets the real one if the engine can change it. Throws `invalid-input` for a
 * container that cannot be reproduced.
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

/** Without the old image's defaults every setting would count as the user's and stay fixed for ever. */
function withOldImage(request: RecipeRequest): KnownRequest {
  const { container, oldImage } = request;
  if (oldImage === undefined) {
    throw refusal(
      container,
      'the image it was created from is gone from the engine, so its own settings cannot be distinguished from the image’s',
      'pull that image again, or re-create the container from its compose file or command',
    );
  }
  if (oldImage.isConfigUnknown) {
    throw refusal(
      container,
      'the engine does not know the configuration of the image it was created from, so its own settings cannot be distinguished from the image’s',
      're-create the container from its compose file or command',
    );
  }
  return { ...request, oldImage };
}

/** If the container runs under emulation or on a related platform, the successor must keep that platform. */
function platformFor({ container, oldImage, enginePlatform }: KnownRequest): { readonly platform?: Platform } {
  const { os, architecture, variant } = container.platform ?? oldImage;
  if (os === '' || architecture === '') return {};
  const platform = { os, architecture, variant };
  const [image, engine] = [normalisePlatform(platform), normalisePlatform(enginePlatform)];
  const sameMachine = image.os === engine.os && image.architecture === engine.architecture;
  return sameMachine ? {} : { platform };
}
