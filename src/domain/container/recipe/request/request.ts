import type { Container, Image, Network } from '../../container.ts';
import type { Endpoint } from '../../container-settings.ts';
import type { Platform } from '../../../image/platform.ts';
import { ServiceError } from '../../../text/errors.ts';
import { quoted } from '../../../text/printable.ts';

/** Input of `recipeFor()`. */
export type RecipeRequest = {
  readonly container: Container;
  /** The image that the container was created from. Undefined when the engine no longer has it. */
  readonly oldImage: Image | undefined;
  /** `Config.Image` of the successor: the old text, or the old form with a new digest. */
  readonly image: string;
  readonly newImageId: string;
  /** The value of compose's label for the image: the image of the reference in its file. Default: the new one. */
  readonly composeImageId?: string | undefined;
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
  /** Fields of `HostConfig` to omit. */
  readonly leftOut?: ReadonlySet<string>;
};

/** A request with the old image. Inherited values can be recognised only with it. */
export type KnownRequest = RecipeRequest & { readonly oldImage: Image };

/** A rule for one field of the recipe. Undefined omits the field. */
export type FieldRule = (request: KnownRequest) => unknown;

/** The fields by their rules. A field without a rule is copied. */
export function applyRules(
  fields: readonly (readonly [string, unknown])[],
  rules: ReadonlyMap<string, FieldRule>,
  request: KnownRequest,
): Readonly<Record<string, unknown>> {
  const made = fields.map(([field, value]) => [field, (rules.get(field) ?? (() => value))(request)] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
}

/** The request that creates a successor. */
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

/** The error for a container that cannot be reproduced. */
export function refusal({ name }: Container, why: string, remedy?: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot update ${quoted(name)}: ${why}`, { remedy });
}
