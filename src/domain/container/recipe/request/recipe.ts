import type { Platform } from '../../../reference/platform.ts';
import type { Endpoint } from '../../container.ts';

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
