import type { Container, Image, Network } from '../../container.ts';
import type { Platform } from '../../../reference/platform.ts';

/** Input of `recipeFor()`. */
export type RecipeRequest = {
  readonly container: Container;
  /** The image that the container was created from. Undefined when the engine no longer has it. */
  readonly oldImage: Image | undefined;
  /** `Config.Image` of the successor: the old text, or the old form with a new digest. */
  readonly image: string;
  readonly newImageId: string;
  /** Labels to add; every name begins with `upkeep.tx.`. */
  readonly journal: Readonly<Record<string, string>>;
  /** The version in use for inspections and creations, such as `1.41`. */
  readonly apiVersion: string;
  /** The engine's own name, which containers on the host network have as their host name. */
  readonly engineName: string;
  readonly enginePlatform: Platform;
  /** Networks that exist now. */
  readonly networks: readonly Network[];
  /**
   * The ids of successors, by the id of each container that is replaced in the same transaction, and by its name,
   * because legacy links use names.
   */
  readonly replacedIds: ReadonlyMap<string, string>;
  /** Anonymous volumes are not kept: the successor gets new ones. */
  readonly freshVolumes?: boolean;
  /** The engine cannot change a restart policy later, so the successor is created with its final one. */
  readonly policyFromStart?: boolean;
  /** Fields of `HostConfig` that must be left out. */
  readonly leftOut?: ReadonlySet<string>;
};

/** A request with the old image. Inherited values can be recognised only with it. */
export type KnownRequest = RecipeRequest & { readonly oldImage: Image };
