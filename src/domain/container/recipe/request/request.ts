import type { Container, Image, Network } from '../../container.ts';
import type { Platform } from '../../../reference/platform.ts';

/** Input of `recipeFor()`. */
export type RecipeRequest = {
  readonly container: Container;
  /** The image that the container was created from; undefined when the engine no longer holds it. */
  readonly oldImage: Image | undefined;
  /** `Config.Image` of the successor: the old string, or the old form with a new digest. */
  readonly image: string;
  readonly newImageId: string;
  /** Labels to add; every name begins with `upkeep.tx.`. */
  readonly journal: Readonly<Record<string, string>>;
  /** The version in use for inspect and create alike, e.g. `1.41`. */
  readonly apiVersion: string;
  /** The engine's own name, which containers on its network bear as theirs. */
  readonly engineName: string;
  readonly enginePlatform: Platform;
  /** Networks that exist now. */
  readonly networks: readonly Network[];
  /**
   * From the id of each container that is replaced in the same transaction to the id of its
   * successor; from its name too, because that is how legacy links call it.
   */
  readonly replacedIds: ReadonlyMap<string, string>;
  /** Anonymous volumes are not taken over: the successor gets new ones. */
  readonly freshVolumes?: boolean;
  /** The engine cannot change a restart policy later, so the successor is created with its own. */
  readonly policyFromStart?: boolean;
  /** Fields of `HostConfig` that are not to be taken over. */
  readonly leftOut?: ReadonlySet<string>;
};

/** A request with the old image. Inherited values can be recognised only with it. */
export type KnownRequest = RecipeRequest & { readonly oldImage: Image };
